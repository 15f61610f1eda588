// Counts what a program takes from the heap, for tests of how much memory something needs. Linking
// allocation_counter.cc replaces operator new.
#pragma once

#include <cstddef>

namespace sluice {

// Bytes taken through operator new since the program began, given back or not.
size_t allocated_bytes();

}  // namespace sluice
