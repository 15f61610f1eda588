// How fast this machine's memory can be read: what decoding is measured against.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::cli {

// Gigabytes (1e9) a second that `threads` threads together read from a buffer of `bytes`, each its
// own part, over and over, with the widest loads there are: the median of several measurements of
// at least 20 ms. 0 where the buffer or the threads can't be had.
double read_bandwidth(uint64_t bytes, int threads);

// Bytes of the largest cache, as far as the system tells; 32 MiB where it doesn't.
uint64_t last_level_cache();

}  // namespace sluice::cli
