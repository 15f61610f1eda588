// Checks a file of the cache.
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

// Checks one file and its packed copy, and adds it to `verified`. Of a file that isn't complete it
// checks the stored blocks, and gives it its final name if all are there; damaged blocks are
// removed. Calls `shown` with the number of bytes read. Fails with busy if another process uses the
// file, or not_found if one has removed it.
Status verify_entry(const std::string& directory, const Cached& entry, Verified& verified,
                    const std::function<void(uint64_t)>& shown);

}  // namespace sluice::pull
