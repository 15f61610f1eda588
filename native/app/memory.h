// How much memory the program may take.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::cli {

// Bytes of memory that are free for this process now: what Linux says is available (MemAvailable),
// or what the limits of its control groups leave, if that is less; without their page cache, which
// gives way. 0: unknown. `root` is the directory of proc and sys, for tests.
uint64_t available_memory(const std::string& root = "/");

// What a model may take of that by default: a part is left for others and for the page cache.
// 0: unknown.
uint64_t default_budget(uint64_t available);

}  // namespace sluice::cli
