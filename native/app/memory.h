// How much memory the program may take.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::cli {

// Bytes of memory that are free for this process now: MemAvailable of Linux, or what the limits of
// its control groups leave, if that is less; their page cache can be reclaimed and counts as free.
// 0: unknown. `root` is the directory of proc and sys, for tests.
uint64_t available_memory(const std::string& root = "/");

// The default budget: less than that, for other programs and the page cache.
// 0: unknown.
uint64_t default_budget(uint64_t available);

}  // namespace sluice::cli
