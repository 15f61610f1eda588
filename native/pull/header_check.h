// Checks a file's beginning during its download: a file that can't be used isn't downloaded whole.
#pragma once  // inside

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "gguf/gguf.h"

namespace sluice::pull {

// Checks a file's first bytes before its first block counts: a page or an error message that was
// sent in place of a model must not be kept.
class FirstBytes {
 public:
  // Of a model, or of a file that a conversion reads (repository.h).
  FirstBytes(std::string url, bool is_source) : url_(std::move(url)), is_source_(is_source) {}
  // Bytes of the file from `at` on, in the file's order. Both fail with bad_file.
  Status take(uint64_t at, std::span<const uint8_t> bytes);
  // The first block has ended.
  Status end() const;

 private:
  const std::string url_;
  const bool is_source_;
  std::string bytes_;
};

class HeaderCheck {
 public:
  // `accept` gets the header as soon as it is complete; its error ends the download. May be empty.
  // `url`: of the file, for messages.
  HeaderCheck(std::string url, std::function<Status(const Gguf&)> accept)
      : url_(std::move(url)), accept_(std::move(accept)) {}

  bool done() const { return done_; }
  // The header can't be used; take() or end() has failed.
  bool refused() const { return refused_; }
  uint64_t position() const { return position_; }  // offset of the next byte that is needed
  // Takes bytes of the file from offset `at` on, and skips those that it had before. `total`: the
  // size of the server's file, 0 if unknown. Fails with bad_file, also if the file is shorter than
  // its header promises, or as accept().
  Status take(uint64_t at, std::span<const uint8_t> bytes, uint64_t total);
  // The file has ended. Fails with bad_file if that is too early.
  Status end(uint64_t total);
  // The file's blocks can't be read, so the header isn't checked.
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
