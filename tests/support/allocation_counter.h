// Counts the bytes that a program allocates, for tests of memory use. Linking allocation_counter.cc
// replaces operator new.
#pragma once

#include <cstddef>

namespace sluice {

// Bytes allocated by operator new since the program began, including those freed again.
size_t allocated_bytes();

}  // namespace sluice
