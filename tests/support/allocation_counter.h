// Counts the bytes that a program allocates, for tests of memory use. Linking allocation_counter.cc
// replaces operator new.
#pragma once

#include <cstddef>

namespace sluice {

// Bytes allocated by operator new since the program began, including those freed again.
size_t allocated_bytes();
// The most bytes that were allocated at one time since the last reset, beyond those at the reset.
void reset_peak_bytes();
size_t peak_bytes();

}  // namespace sluice
