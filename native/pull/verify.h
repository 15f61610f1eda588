// Checks what the cache has of a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pull/cache.h"
#include "pull/packed_copy.h"

namespace sluice::pull {

// Of all files of a model.
struct Verified {
  uint64_t bytes = 0;
  bool whole = true;              // all blocks were there
  std::vector<uint64_t> damaged;  // blocks
  bool sum_fits = true;
  std::string sha256;
  CopyCheck copy;
};

// Checks one file and its packed copy, and adds it to `verified`. A file that isn't complete is
// checked as far as it is there, and gets its last name if it turns out to be whole; damaged blocks
// are removed. Calls `shown` with the bytes that were
// read. Fails with busy if another process uses the file, or not_found if one has removed it.
Status verify_entry(const std::string& directory, const Cached& entry, Verified& verified,
                    const std::function<void(uint64_t)>& shown);

}  // namespace sluice::pull
