#include "quant/matrix.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"

namespace sluice {
namespace {

constexpr int64_t kRows = kStripRows;

// Four 32-bit words of four rows, and their transposition: how 16 rows become words of 16 lanes.
using Words = uint32_t __attribute__((vector_size(16)));

Words load_words(const uint8_t* p) {
  Words words;
  std::memcpy(&words, p, sizeof words);
  return words;
}

// out[4 words][16 rows], columns `row` .. row + 3: from rows at `in`, `stride` bytes apart.
void transpose_4x4(const uint8_t* in, size_t stride, uint8_t* out) {
  const Words a = load_words(in);
  const Words b = load_words(in + stride);
  const Words c = load_words(in + 2 * stride);
  const Words d = load_words(in + 3 * stride);
  const Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Words ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Words cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Words cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Words words[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                          __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                          __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int w = 0; w < 4; ++w) std::memcpy(out + 64 * w, &words[w], 16);
}

// Interleaves 16 rows of n bytes (n a multiple of 16), `stride` bytes apart, to word[n / 4][16].
void interleave(const uint8_t* in, size_t stride, int64_t n, uint8_t* out) {
  for (int64_t at = 0; at < n; at += 16) {
    for (size_t r = 0; r < 16; r += 4) {
      transpose_4x4(in + r * stride + at, stride, out + 16 * at + 4 * r);
    }
  }
}

// Blocks of an f16 scale and `bytes` bytes, each of which is changed by `flip`.
void pack_blocks(const uint8_t* rows, int64_t n_blocks, int64_t bytes, uint8_t flip,
                 uint8_t* packed) {
  const int64_t block = 2 + bytes;
  const size_t stride = static_cast<size_t>(n_blocks * block);
  for (int64_t b = 0; b < n_blocks; ++b) {
    const uint8_t* in = rows + b * block;
    uint8_t* out = packed + b * block * kRows;
    for (size_t r = 0; r < kRows; ++r) std::memcpy(out + 2 * r, in + r * stride, 2);
    interleave(in + 2, stride, bytes, out + 2 * kRows);
    if (flip != 0) {
      for (int64_t i = 2 * kRows; i < block * kRows; ++i) out[i] ^= flip;
    }
  }
}

template <size_t kBytes>
void pack_values(const uint8_t* rows, int64_t cols, uint8_t* packed) {
  const size_t stride = static_cast<size_t>(cols) * kBytes;
  for (int64_t k = 0; k < cols; ++k) {
    for (size_t r = 0; r < kRows; ++r, packed += kBytes) {
      std::memcpy(packed, rows + r * stride + static_cast<size_t>(k) * kBytes, kBytes);
    }
  }
}

// The reverse for one row: `row` gets its bytes as they were in the file.
void unpack_row(Type type, const uint8_t* strip, int64_t r, int64_t b, uint8_t* block) {
  const TypeTraits& t = traits(type);
  const uint8_t flip = type == Type::Q8_0 ? 0x80 : 0;
  const uint8_t* in = strip + b * t.block_bytes * kRows;
  std::memcpy(block, in + 2 * r, 2);
  for (int64_t i = 0; i < t.block_bytes - 2; ++i) {
    block[2 + i] = in[2 * kRows + (i / 4 * kRows + r) * 4 + i % 4] ^ flip;
  }
}

void describe(const TypeTraits& t, Panel& panel) {
  panel.group = t.group;
  panel.bits = t.bits;
  panel.bias = t.bias;
  panel.has_min = t.has_min;
}

void load_halves(const uint8_t* in, float* out) {
  for (int64_t r = 0; r < kRows; ++r) {
    uint16_t half;
    std::memcpy(&half, in + 2 * r, 2);
    out[r] = f16_to_f32(half);
  }
}

}  // namespace

bool packs(Type type) {
  return type == Type::Q4_0 || type == Type::Q8_0 || traits(type).group == 0;
}

void pack_strip(Type type, const uint8_t* rows, int64_t cols, uint8_t* packed) {
  switch (type) {
    case Type::Q4_0:
      return pack_blocks(rows, cols / 32, 16, 0, packed);
    case Type::Q8_0:
      return pack_blocks(rows, cols / 32, 32, 0x80, packed);
    case Type::F32:
      return pack_values<4>(rows, cols, packed);
    case Type::F16:
    case Type::BF16:
      return pack_values<2>(rows, cols, packed);
    default:  // not packed: the same bytes
      std::memcpy(
          packed, rows,
          kStripRows * static_cast<size_t>(row_bytes(traits(type), static_cast<uint64_t>(cols))));
  }
}

void read_row(const Matrix& matrix, int64_t row, float* out) {
  const TypeTraits& t = traits(matrix.type);
  const int64_t s = row / kRows;
  const int64_t r = row % kRows;
  const uint8_t* strip = matrix.strip(s);
  if (!matrix.strip_packed(s) || !packs(matrix.type)) {
    t.dequantize(strip + static_cast<size_t>(r) * matrix.bytes_per_row(), matrix.cols, out);
    return;
  }
  if (t.group == 0) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      t.dequantize(strip + (k * kRows + r) * t.block_bytes, 1, out + k);
    }
    return;
  }
  uint8_t block[34];
  for (int64_t b = 0; b < matrix.cols / 32; ++b) {
    unpack_row(matrix.type, strip, r, b, block);
    t.dequantize(block, 32, out + 32 * b);
  }
}

void unpack_rows(Type type, const uint8_t* rows, int n_rows, int64_t cols, Panel& panel) {
  const TypeTraits& t = traits(type);
  describe(t, panel);
  const size_t stride = static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(cols)));
  // 256 columns at a time, so that the codes are still in the first cache when interleaved.
  alignas(64) uint8_t codes[kRows][256];
  float scales[kRows][16];
  float mins[kRows][16];
  if (n_rows < kRows) {
    std::memset(codes, 0, sizeof codes);
    std::memset(scales, 0, sizeof scales);
    std::memset(mins, 0, sizeof mins);
  }
  for (int64_t begin = 0; begin < cols; begin += 256) {
    const int64_t count = std::min<int64_t>(256, cols - begin);
    const size_t offset = static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(begin)));
    for (size_t r = 0; r < static_cast<size_t>(n_rows); ++r) {
      t.unpack(rows + r * stride + offset, count, codes[r], scales[r], mins[r]);
    }
    interleave(codes[0], sizeof codes[0], count, panel.codes + begin * kRows);
    const int64_t first_group = begin / t.group;
    for (int64_t g = 0; g < count / t.group; ++g) {
      float* out = panel.scales + (first_group + g) * kRows;
      for (int64_t r = 0; r < kRows; ++r) out[r] = scales[r][g];
    }
    if (!t.has_min) continue;
    for (int64_t g = 0; g < count / t.group; ++g) {
      float* out = panel.mins + (first_group + g) * kRows;
      for (int64_t r = 0; r < kRows; ++r) out[r] = mins[r][g];
    }
  }
}

void unpack_packed(Type type, const uint8_t* strip, int64_t cols, Panel& panel) {
  const TypeTraits& t = traits(type);
  describe(t, panel);
  for (int64_t b = 0; b < cols / 32; ++b, strip += t.block_bytes * kRows) {
    load_halves(strip, panel.scales + b * kRows);
    const uint8_t* in = strip + 2 * kRows;
    uint8_t* out = panel.codes + b * 32 * kRows;
    if (type == Type::Q8_0) {
      std::memcpy(out, in, 32 * kRows);
      continue;
    }
    for (int64_t i = 0; i < 16 * kRows; ++i) {
      out[i] = in[i] & 15;
      out[16 * kRows + i] = in[i] >> 4;
    }
  }
}

}  // namespace sluice
