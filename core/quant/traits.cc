#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "quant/quant.h"
#include "quant/quantize.h"

namespace sluice {
namespace {

// Unpacking is exact: a product of an f16 scale and an integer of at most 8 bits fits into f32.

uint16_t load_u16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

float load_half(const uint8_t* p) { return f16_to_f32(load_u16(p)); }

// Eight bytes, each 16 where the bit of its number is set in `bits`: the fifth bit of Q5 codes.
uint64_t fifth_bits(uint8_t bits) {
  const uint64_t own = bits * 0x0101010101010101u & 0x8040201008040201u;
  return (own + 0x7f7f7f7f7f7f7f7fu) >> 3 & 0x1010101010101010u;
}

void add_fifth_bits(const uint8_t* bits, uint8_t* codes) {
  for (int i = 0; i < 4; ++i) {
    uint64_t eight;
    std::memcpy(&eight, codes + 8 * i, 8);
    eight |= fifth_bits(bits[i]);
    std::memcpy(codes + 8 * i, &eight, 8);
  }
}

// 16 codes at a time; written out because the loops over bytes that compilers make of this are
// several times slower.
using Codes [[gnu::vector_size(16)]] = uint8_t;
using Pairs [[gnu::vector_size(16)]] = uint16_t;

Codes load_codes(const uint8_t* p) {
  Codes codes;
  std::memcpy(&codes, p, sizeof codes);
  return codes;
}
void store_codes(uint8_t* p, Codes codes) { std::memcpy(p, &codes, sizeof codes); }

// (byte >> shift) & mask; mask < 2^(8 - shift), so what crosses over from the next byte is cut off.
Codes bits(Codes codes, int shift, uint8_t mask) { return (Codes)((Pairs)codes >> shift) & mask; }

// As bits, then << 4: where the bits of a code past the fourth go.
Codes high_bits(Codes codes, int shift, uint8_t mask) {
  return (Codes)((Pairs)bits(codes, shift, mask) << 4);
}

// 16 bytes -> 32 codes: the low nibbles, then the high ones.
void split_nibbles(const uint8_t* packed, uint8_t* codes) {
  const Codes both = load_codes(packed);
  store_codes(codes, bits(both, 0, 15));
  store_codes(codes + 16, bits(both, 4, 15));
}

// Blocks of 32: [f16 d] [f16 m]? [32 fifth bits]? [16 bytes of nibbles].
template <bool kMin, bool kFive>
void unpack_legacy(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* mins) {
  for (int64_t b = 0; b < n / 32; ++b) {
    scales[b] = load_half(row);
    row += 2;
    if constexpr (kMin) {
      mins[b] = load_half(row);
      row += 2;
    }
    const uint8_t* fifth = row;
    if constexpr (kFive) row += 4;
    split_nibbles(row, codes + 32 * b);
    row += 16;
    if constexpr (kFive) add_fifth_bits(fifth, codes + 32 * b);
  }
}

void unpack_q8_0(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* /*mins*/) {
  for (int64_t b = 0; b < n / 32; ++b, row += 34, codes += 32) {
    scales[b] = load_half(row);
    for (int i = 0; i < 32; i += 16) store_codes(codes + i, load_codes(row + 2 + i) ^ 0x80);
  }
}

// Q4_K and Q5_K: blocks of 256 = 8 groups of 32, each with a scale and a min of 6 bits:
// [f16 d][f16 dmin][12 bytes of scales and mins][32 bytes of fifth bits]?[128 bytes of nibbles].
template <bool kFive>
void unpack_q45_k(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* mins) {
  for (int64_t b = 0; b < n / 256; ++b, codes += 256, scales += 8, mins += 8) {
    const float d = load_half(row);
    const float dmin = load_half(row + 2);
    const uint8_t* six = row + 4;
    for (int j = 0; j < 8; ++j) {
      // The first four groups' six bits lie together; the others' low four and high two apart.
      const int scale = j < 4 ? six[j] & 63 : (six[j + 4] & 15) | six[j - 4] >> 6 << 4;
      const int min = j < 4 ? six[j + 4] & 63 : six[j + 4] >> 4 | six[j] >> 6 << 4;
      scales[j] = d * static_cast<float>(scale);
      mins[j] = -(dmin * static_cast<float>(min));
    }
    row += 16;
    const uint8_t* fifth = row;
    if constexpr (kFive) row += 32;
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 32; i += 16) {
        const Codes both = load_codes(row + 32 * j + i);
        Codes low = bits(both, 0, 15);
        Codes high = bits(both, 4, 15);
        if constexpr (kFive) {
          const Codes fifths = load_codes(fifth + i);
          low |= high_bits(fifths, 2 * j, 1);
          high |= high_bits(fifths, 2 * j + 1, 1);
        }
        store_codes(codes + 64 * j + i, low);
        store_codes(codes + 64 * j + 32 + i, high);
      }
    }
    row += 128;
  }
}

// Blocks of 256 = 16 groups of 16: [128 bytes of nibbles][64 bytes of high bit pairs][16 i8][f16
// d].
void unpack_q6_k(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* /*mins*/) {
  for (int64_t b = 0; b < n / 256; ++b, row += 210, scales += 16) {
    const float d = load_half(row + 208);
    for (int j = 0; j < 16; ++j) {
      scales[j] = d * static_cast<float>(static_cast<int8_t>(row[192 + j]));
    }
    for (int half = 0; half < 2; ++half, codes += 128) {
      for (int i = 0; i < 32; i += 16) {
        const Codes low0 = load_codes(row + 64 * half + i);
        const Codes low1 = load_codes(row + 64 * half + 32 + i);
        const Codes pairs = load_codes(row + 128 + 32 * half + i);
        store_codes(codes + i, bits(low0, 0, 15) | high_bits(pairs, 0, 3));
        store_codes(codes + 32 + i, bits(low1, 0, 15) | high_bits(pairs, 2, 3));
        store_codes(codes + 64 + i, bits(low0, 4, 15) | high_bits(pairs, 4, 3));
        store_codes(codes + 96 + i, bits(low1, 4, 15) | high_bits(pairs, 6, 3));
      }
    }
  }
}

// Values of an integer type, 256 at a time through its unpack function.
template <Type kType>
void dequantize(const uint8_t* row, int64_t n, float* out) {
  const TypeTraits& t = traits(kType);
  uint8_t codes[256];
  float scales[16];
  float mins[16] = {};
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t count = std::min<int64_t>(256, n - begin);
    t.unpack(row + row_bytes(t, static_cast<uint64_t>(begin)), count, codes, scales, mins);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t g = i / t.group;
      const float value = scales[g] * static_cast<float>(codes[i] - t.bias);
      out[begin + i] = t.has_min ? value + mins[g] : value;
    }
  }
}

void dequantize_f32(const uint8_t* row, int64_t n, float* out) {
  std::memcpy(out, row, static_cast<size_t>(n) * sizeof(float));
}
void dequantize_f16(const uint8_t* row, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = load_half(row + 2 * i);
}
void dequantize_bf16(const uint8_t* row, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = bf16_to_f32(load_u16(row + 2 * i));
}

// One row a type: the place to add a new one (with an enum value and an unpack function).
constexpr TypeTraits kTraits[] = {
    // type, name, block, bytes, group, bits, bias, has_min, unpack, dequantize, quantize
    {Type::F32, "F32", 1, 4, 0, 0, 0, false, nullptr, dequantize_f32, quantize_f32},
    {Type::F16, "F16", 1, 2, 0, 0, 0, false, nullptr, dequantize_f16, quantize_f16},
    {Type::BF16, "BF16", 1, 2, 0, 0, 0, false, nullptr, dequantize_bf16, quantize_bf16},
    {Type::Q4_0, "Q4_0", 32, 18, 32, 4, 8, false, unpack_legacy<false, false>,
     dequantize<Type::Q4_0>, quantize_q4_0},
    {Type::Q4_1, "Q4_1", 32, 20, 32, 4, 0, true, unpack_legacy<true, false>, dequantize<Type::Q4_1>,
     quantize_q4_1},
    {Type::Q5_0, "Q5_0", 32, 22, 32, 5, 16, false, unpack_legacy<false, true>,
     dequantize<Type::Q5_0>, quantize_q5_0},
    {Type::Q5_1, "Q5_1", 32, 24, 32, 5, 0, true, unpack_legacy<true, true>, dequantize<Type::Q5_1>,
     quantize_q5_1},
    {Type::Q8_0, "Q8_0", 32, 34, 32, 8, 128, false, unpack_q8_0, dequantize<Type::Q8_0>,
     quantize_q8_0},
    {Type::Q4_K, "Q4_K", 256, 144, 32, 4, 0, true, unpack_q45_k<false>, dequantize<Type::Q4_K>,
     quantize_q4_k},
    {Type::Q5_K, "Q5_K", 256, 176, 32, 5, 0, true, unpack_q45_k<true>, dequantize<Type::Q5_K>,
     quantize_q5_k},
    {Type::Q6_K, "Q6_K", 256, 210, 16, 6, 32, false, unpack_q6_k, dequantize<Type::Q6_K>,
     quantize_q6_k},
};

// Index of a type's row in kTraits by the type's number, -1 for none.
struct TraitsIndex {
  int8_t row[kTypeSlots];
  constexpr TraitsIndex() : row() {
    for (int8_t& r : row) r = -1;
    int8_t i = 0;
    for (const TypeTraits& t : kTraits) row[static_cast<uint32_t>(t.type)] = i++;
  }
};
constexpr TraitsIndex kIndex;

}  // namespace

const TypeTraits* find_traits(uint32_t type) {
  if (type >= static_cast<uint32_t>(kTypeSlots) || kIndex.row[type] < 0) return nullptr;
  return &kTraits[kIndex.row[type]];
}

const TypeTraits& traits(Type type) { return kTraits[kIndex.row[static_cast<uint32_t>(type)]]; }

}  // namespace sluice
