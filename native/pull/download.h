// Downloads the missing blocks of one file, by several ranges at once where the server has them.
#pragma once  // inside

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "pull/block_file.h"
#include "pull/header_check.h"
#include "pull/http.h"

namespace sluice::pull {

struct Downloaded {
  uint64_t bytes = 0;  // of the file that are stored
  uint64_t total = 0;  // 0: unknown
  uint64_t kept = 0;   // bytes that the next download needn't fetch
};

// What a download ended with.
enum class Outcome {
  complete,
  changed,  // the server has another file now than the one that was begun
};

// Fills `file`, whose lock the caller holds, from its address. expected: the size that the hub's
// list gives, or 0. `sum` hashes the bytes that arrive in the file's order. Calls `progress` about
// ten times a second. The network waits while the disk is written. `header`, unless null, checks
// the beginning first, and its error ends the download. Fails with download_failed, offline or
// storage_full, and keeps the bytes that were received; with bad_file if it is no GGUF file, or not
// what a conversion's source must be.
Result<Outcome> download(const Client& client, BlockFile& file, uint64_t expected, PassingSum& sum,
                         HeaderCheck* header,
                         const std::function<void(const Downloaded&)>& progress);

}  // namespace sluice::pull
