// A segment of a file, downloaded by one connection.
#pragma once  // inside

#include <xxhash.h>

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "pull/http.h"
#include "pull/retry.h"

namespace sluice::pull {

// Hashes one block of a connection at a time.
class BlockHash {
 public:
  BlockHash() : state_(XXH64_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    begin();
  }
  BlockHash(const BlockHash&) = delete;
  BlockHash& operator=(const BlockHash&) = delete;
  ~BlockHash() { XXH64_freeState(state_); }
  void begin() { XXH64_reset(state_, 0); }
  void add(std::span<const uint8_t> bytes) { XXH64_update(state_, bytes.data(), bytes.size()); }
  uint64_t value() const { return XXH64_digest(state_); }

 private:
  XXH64_state_t* state_;
};

// It begins at the start of a block.
struct Segment {
  uint64_t begin = 0;
  uint64_t end = 0;  // exclusive; UINT64_MAX: to the file's end, which is unknown
  uint64_t at = 0;   // bytes before it are on the disk
  bool used = false;
  bool ranged = true;  // by a range request; else the whole file in its order
  bool head_is_checked = false;
  double not_before = 0;
  BlockHash hash;  // of the block that `at` is in
  Pauses pauses;
  std::string trouble;    // why take() ended the request
  bool hopeless = false;  // trying again is of no use
  std::string url;        // of the request
  std::unique_ptr<Transfer> transfer;
};

}  // namespace sluice::pull
