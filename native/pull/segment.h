// A segment of a file, downloaded by one connection.
#pragma once  // inside

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/xxh64.h"
#include "pull/http.h"
#include "pull/retry.h"

namespace sluice::pull {

// It begins at the start of a block.
struct Segment {
  uint64_t begin = 0;
  uint64_t end = 0;  // exclusive; UINT64_MAX: to the file's end, which is unknown
  uint64_t at = 0;   // bytes before it are on the disk
  bool used = false;
  bool ranged = true;  // by a range request; else the whole file in its order
  bool head_is_checked = false;
  double not_before = 0;
  Xxh64 hash;  // of the block that `at` is in
  Pauses pauses;
  std::string trouble;    // why take() ended the request
  bool hopeless = false;  // trying again is of no use
  std::string url;        // of the request
  std::unique_ptr<Transfer> transfer;
};

}  // namespace sluice::pull
