// Numbers in the tables of characters, which scripts/make_unicode.mjs writes.
#pragma once

#include <cstdint>

namespace sluice {

// Reads a LEB128, seven bits a byte, the lowest first, and moves `at` behind it.
constexpr uint32_t read_leb128(const uint8_t*& at) {
  uint32_t number = 0;
  for (int shift = 0;; shift += 7) {
    number |= (*at & 127u) << shift;
    if (*at++ < 128) return number;
  }
}

}  // namespace sluice
