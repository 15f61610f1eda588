// Measures how fast this machine reads memory. Decode rates are compared with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::cli {

// Gigabytes (1e9) per second that `threads` threads together read from a buffer of `bytes` bytes.
// Each reads its own part again and again, with the widest loads. The median of several
// measurements of at least 20 ms. 0 if the buffer can't be allocated or the threads can't be
// started.
double read_bandwidth(uint64_t bytes, int threads);

// Bytes of the largest cache; 32 MiB if the system doesn't tell.
uint64_t last_level_cache();

}  // namespace sluice::cli
