// Unpacks blocks of every type to codes, scales and values, as types.inc's rows say: for the
// oracle, rows outside of whole strips, and read_row().
#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "quant/quant.h"
#include "quant/runs.h"

namespace sluice {
namespace {

constexpr int kMaxNumbers = 32;  // a block's scales and mins, rounded up to whole words

// Unpacking is exact: a product of an f16 scale and an integer of at most 8 bits fits into f32.

uint16_t load_u16(const uint8_t* p) {
  uint16_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

float load_half(const uint8_t* p) { return f16_to_f32(load_u16(p)); }

// Bytes are handled 16 at a time here: what compilers make of loops over single bytes is several
// times slower.
using Bytes [[gnu::vector_size(16)]] = uint8_t;
using Pairs [[gnu::vector_size(16)]] = uint16_t;

// Writes V's bytes to `out`; unless kFirst, ors them with the bytes there.
template <bool kFirst, typename V>
void put(uint8_t* out, V bytes) {
  V there{};
  if constexpr (!kFirst) std::memcpy(&there, out, sizeof there);
  bytes = bytes | there;
  std::memcpy(out, &bytes, sizeof bytes);
}
template <typename V>
V load(const uint8_t* p) {
  V bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

// Writes n numbers of a plane, each shifted left by `up`, to out[n], or a few more: the numbers of
// whole words. Unless kFirst, ors them with what is there.
template <bool kFirst>
[[gnu::always_inline]] inline void put_numbers(const Plane& plane, const uint8_t* block, int n,
                                               int up, uint8_t* out) {
  const auto mask = static_cast<uint8_t>((1 << plane.bits) - 1);
  const uint32_t mask4 = mask * 0x01010101u;
  const uint8_t* run = block + plane.at;
  const uint8_t* const end = out + n;
  if (plane.run == 1) {
    for (; out < end; run += 4) {
      const uint32_t word = pack_run(load<uint32_t>(run), plane.bits);
      for (int down = 0; down < 8; down += plane.bits, out += 4) {
        put<kFirst>(out, (word >> down & mask4) << up);
      }
    }
    return;
  }
  for (; out < end; run += plane.run) {
    for (int down = 0; down < 8 && out < end; down += plane.bits, out += plane.run) {
      int i = 0;
      for (; i + 16 <= plane.run; i += 16) {
        // There are no shifts of single bytes. The mask removes bits of a pair's other byte.
        const Bytes numbers = (Bytes)(load<Pairs>(run + i) >> down) & mask;
        put<kFirst>(out + i, (Bytes)((Pairs)numbers << up));
      }
      for (; i < plane.run; i += 4) {
        put<kFirst>(out + i, (load<uint32_t>(run + i) >> down & mask4) << up);
      }
    }
  }
}

[[gnu::always_inline]] inline void unpack_codes(const TypeTraits& t, const uint8_t* block,
                                                uint8_t* codes) {
  const int n = static_cast<int>(t.block);
  put_numbers<true>(t.low, block, n, 0, codes);
  if (t.high.bits != 0) put_numbers<false>(t.high, block, n, t.low.bits, codes);
  if (t.is_signed) {
    for (int i = 0; i < n; i += 16) put<true>(codes + i, load<Bytes>(codes + i) ^ 0x80);
  }
  if (t.codebook != nullptr) {
    for (int i = 0; i < n; ++i) {
      codes[i] = static_cast<uint8_t>(t.codebook->values[codes[i]] + t.bias);
    }
  }
}

// Q4_K's and Q5_K's eight scales and eight mins of six bits, in 12 bytes.
void unpack_sixes(const uint8_t* six, uint8_t* numbers) {
  for (int j = 0; j < 4; ++j) {
    // The first four groups' six bits lie together. The others are split: four low bits, two high.
    numbers[j] = six[j] & 63;
    numbers[8 + j] = six[4 + j] & 63;
    numbers[4 + j] = static_cast<uint8_t>((six[8 + j] & 15) | six[j] >> 6 << 4);
    numbers[12 + j] = static_cast<uint8_t>(six[8 + j] >> 4 | six[4 + j] >> 6 << 4);
  }
}

[[gnu::always_inline]] inline void unpack_scales(const TypeTraits& t, const uint8_t* block,
                                                 float* scales, float* mins) {
  const int groups = static_cast<int>(t.block) / t.group;
  const float d = load_half(block + t.d);
  const float min = t.has_min ? load_half(block + t.min) : 0.0f;
  if (t.scales.kind == Scales::one) {
    std::fill_n(scales, groups, d);
    if (t.has_min) std::fill_n(mins, groups, min);
    return;
  }
  uint8_t numbers[kMaxNumbers] = {};
  if (t.scales.kind == Scales::sixes) {
    unpack_sixes(block + t.scales.low.at, numbers);
  } else {
    const int n = t.has_min ? 2 * groups : groups;
    put_numbers<true>(t.scales.low, block, n, 0, numbers);
    if (t.scales.high.bits != 0) {
      put_numbers<false>(t.scales.high, block, n, t.scales.low.bits, numbers);
    }
  }
  const auto number = [&](int i) {
    const int value = t.scales.is_signed ? static_cast<int8_t>(numbers[i]) : numbers[i];
    return static_cast<float>(value - t.scales.bias);
  };
  for (int g = 0; g < groups; ++g) {
    scales[g] = d * number(g);
    if (t.has_min) mins[g] = -(min * number(groups + g));
  }
}

// Unpacks blocks of one type. Its row is a constant here and the functions above are inlined, so
// that loops have constant lengths.
template <Type kType>
void unpack_blocks(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* mins) {
  static constexpr const TypeTraits& t = kTypes[static_cast<uint32_t>(kType)];
  if constexpr (t.group != 0) {
    for (int64_t b = 0; b < n / t.block; ++b, row += t.block_bytes, codes += t.block) {
      unpack_codes(t, row, codes);
      unpack_scales(t, row, scales, mins);
      scales += t.block / t.group;
      if (t.has_min) mins += t.block / t.group;
    }
  }
}

void dequantize_floats(FloatKind floats, const uint8_t* row, int64_t n, float* out) {
  switch (floats) {
    case FloatKind::none:
      return;
    case FloatKind::f32:
      std::memcpy(out, row, static_cast<size_t>(n) * sizeof(float));
      return;
    case FloatKind::f16:
      for (int64_t i = 0; i < n; ++i) out[i] = load_half(row + 2 * i);
      return;
    case FloatKind::bf16:
      for (int64_t i = 0; i < n; ++i) out[i] = bf16_to_f32(load_u16(row + 2 * i));
      return;
  }
}

}  // namespace

void TypeTraits::unpack(const uint8_t* row, int64_t n, uint8_t* codes, float* group_scales,
                        float* group_mins) const {
  switch (type) {
#define TYPE(name, ...) \
  case Type::name:      \
    return unpack_blocks<Type::name>(row, n, codes, group_scales, group_mins);
#include "quant/types.inc"
  }
}

void TypeTraits::dequantize(const uint8_t* row, int64_t n, float* out) const {
  if (floats != FloatKind::none) return dequantize_floats(floats, row, n, out);
  uint8_t codes[256];
  float group_scales[16];
  float group_mins[16];
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t count = std::min<int64_t>(256, n - begin);
    unpack(row, count, codes, group_scales, group_mins);
    row += row_bytes(*this, static_cast<uint64_t>(count));
    const uint8_t* code = codes;
    for (int64_t g = 0; g < count / group; ++g) {
      for (int i = 0; i < group; ++i, ++code, ++out) {
        const float value = group_scales[g] * static_cast<float>(*code - bias);
        *out = has_min ? value + group_mins[g] : value;
      }
    }
  }
}

}  // namespace sluice
