// Packing turns planes (types.h) with runs of one byte into planes with runs of four, so that one
// shift brings the numbers of four columns to the four bytes of a word. In a word, number 4w + c
// moves from bit bits * (4w + c) to bit 8c + bits * w. Word is uint32_t or a vector of them.
#pragma once

#include <cstdint>

namespace sluice {

template <typename Word>
Word pack_run(Word word, int bits) {
  Word packed{};
  for (int c = 0; c < 4; ++c) {
    Word x = word >> bits * c;
    if (bits == 1) x = (x & 0x11111111u) | (x & 0x11111111u) >> 3;
    if (bits <= 2) x = (x & 0x03030303u) | (x & 0x03030303u) >> 6;
    x = (x & 0x000f000fu) | (x & 0x000f000fu) >> 12;
    packed |= (x & 0xffu) << 8 * c;
  }
  return packed;
}

template <typename Word>
Word unpack_run(Word packed, int bits) {
  Word word{};
  for (int c = 0; c < 4; ++c) {
    Word x = packed >> 8 * c & 0xffu;
    x = (x | x << 12) & 0x000f000fu;
    if (bits <= 2) x = (x | x << 6) & 0x03030303u;
    if (bits == 1) x = (x | x << 3) & 0x11111111u;
    word |= x << bits * c;
  }
  return word;
}

}  // namespace sluice
