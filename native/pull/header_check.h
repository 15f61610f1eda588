// Looks at a file's beginning while it comes: what can't be used is known before the rest has come.
#pragma once  // inside

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "gguf/gguf.h"

namespace sluice::pull {

// Looks at a file's first bytes before its first block counts: a page or an error message instead
// of a model must not be kept.
class FirstBytes {
 public:
  explicit FirstBytes(std::string url) : url_(std::move(url)) {}
  // Bytes of the file from `at` on, in the file's order. Both fail with bad_file.
  Status take(uint64_t at, std::span<const uint8_t> bytes);
  // The first block has ended.
  Status end() const;

 private:
  const std::string url_;
  std::string bytes_;
};

class HeaderCheck {
 public:
  // `accept` gets the header as soon as it is there; its error ends the download. May be empty.
  // `url`: of the file, for messages.
  HeaderCheck(std::string url, std::function<Status(const Gguf&)> accept)
      : url_(std::move(url)), accept_(std::move(accept)) {}

  bool done() const { return done_; }
  // The header can't be used; take() or end() has failed.
  bool refused() const { return refused_; }
  uint64_t position() const { return position_; }  // of the byte that is needed next
  // Bytes of the file from `at` on; those that it has had are left out. `total`: the size of the
  // server's file, 0 if unknown. Fails with bad_file, also if the file is shorter than its header
  // promises, or as accept().
  Status take(uint64_t at, std::span<const uint8_t> bytes, uint64_t total);
  // The file has ended. Fails with bad_file if that is too early.
  Status end(uint64_t total);
  // The file's blocks can't be read, so that nothing can be said now.
  void give_up() { done_ = true; }

 private:
  Status refuse(Error error);
  Status check_size(uint64_t total);

  const std::string url_;
  const std::function<Status(const Gguf&)> accept_;
  GgufParser parser_;
  uint64_t position_ = 0;
  uint64_t promised_ = 0;  // bytes of the file, by its header; 0: unknown
  bool done_ = false;
  bool refused_ = false;
};

}  // namespace sluice::pull
