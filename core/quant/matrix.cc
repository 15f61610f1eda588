#include "quant/matrix.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"

namespace sluice {
namespace {

constexpr int64_t kRows = kStripRows;
constexpr size_t kMaxBlockBytes = 210;  // Q6_K

// Whether numbers are finite: the sign bit of `seen` is set by the first that isn't. Without its
// sign such a number is at least kInfinity, and kInfinity + kCarry is the sign bit.
template <typename Lane, Lane kInfinity>
class Finite {
 public:
  void see(const uint8_t* bytes) {  // 16 of them
    Lanes lanes;
    std::memcpy(&lanes, bytes, sizeof lanes);
    seen_ |= (lanes & static_cast<Lane>(~kSign)) + kCarry;
  }
  void see_one(const uint8_t* bytes) {
    Lane value;
    std::memcpy(&value, bytes, sizeof value);
    seen_[0] = static_cast<Lane>(seen_[0] | ((value & static_cast<Lane>(~kSign)) + kCarry));
  }
  bool all() const {
    Lane seen = 0;
    for (size_t i = 0; i < kLanes; ++i) seen = static_cast<Lane>(seen | seen_[i]);
    return (seen & kSign) == 0;
  }

 private:
  static constexpr size_t kLanes = 16 / sizeof(Lane);
  static constexpr Lane kSign = static_cast<Lane>(Lane{1} << (8 * sizeof(Lane) - 1));
  static constexpr Lane kCarry = static_cast<Lane>(kSign - kInfinity);
  using Lanes [[gnu::vector_size(16)]] = Lane;
  Lanes seen_ = {};
};
using FiniteF16 = Finite<uint16_t, 0x7c00>;
using FiniteBf16 = Finite<uint16_t, 0x7f80>;
using FiniteF32 = Finite<uint32_t, 0x7f800000>;

// Are all floats in `n` bytes finite?
template <typename Check>
bool all_finite(const uint8_t* bytes, size_t n, size_t size) {
  Check check;
  size_t at = 0;
  for (; at + 16 <= n; at += 16) check.see(bytes + at);
  for (; at < n; at += size) check.see_one(bytes + at);
  return check.all();
}
bool floats_finite(Type type, const uint8_t* bytes, size_t n) {
  if (type == Type::F32) return all_finite<FiniteF32>(bytes, n, 4);
  if (type == Type::F16) return all_finite<FiniteF16>(bytes, n, 2);
  return all_finite<FiniteBf16>(bytes, n, 2);
}

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

// Interleaves 16 rows of n bytes (n a multiple of 4), `stride` bytes apart, to word[n / 4][16].
// What comes `at` bytes into a row stands at place(at) there, 16 bytes together.
template <typename Place>
void interleave(const uint8_t* in, size_t stride, int64_t n, uint8_t* out, const Place& place) {
  int64_t at = 0;
  for (; at + 16 <= n; at += 16) {
    const uint8_t* from = in + place(at);
    for (size_t r = 0; r < 16; r += 4) {
      transpose_4x4(from + r * stride, stride, out + 16 * at + 4 * r);
    }
  }
  for (; at < n; at += 4) {
    for (size_t r = 0; r < 16; ++r) std::memcpy(out + 16 * at + 4 * r, in + r * stride + at, 4);
  }
}

int64_t in_order(int64_t at) { return at; }
// Q6_K is packed in the order in which products need it, so that memory is read in order
// (matrix.h): scales; then for each half of the block bit pairs and nibbles by turns, and the other
// nibbles.
int64_t place_in_q6_k(int64_t at) {
  if (at < 16) return 192 + at;
  const int64_t half = (at - 16) / 96;
  const int64_t in_half = (at - 16) % 96;
  if (in_half >= 64) return 64 * half + in_half - 32;
  const int64_t turn = in_half / 32;
  return in_half % 32 < 16 ? 128 + 32 * half + 16 * turn + in_half % 32
                           : 64 * half + 16 * turn + in_half % 32 - 16;
}

// Q5_0, Q5_1: the fifth bits of a block's 32 columns, column 4w + c at bit 4w + c in the file and
// at bit 8c + w in the pack: one shift brings those of four columns to their four bytes.
uint32_t pack_fifth_bits(uint32_t bits) {
  uint32_t packed = 0;
  for (int c = 0; c < 4; ++c) {
    uint32_t x = bits >> c & 0x11111111u;
    x = (x | x >> 3) & 0x03030303u;
    x = (x | x >> 6) & 0x000f000fu;
    packed |= ((x | x >> 12) & 0xffu) << 8 * c;
  }
  return packed;
}
uint32_t unpack_fifth_bits(uint32_t packed) {
  uint32_t bits = 0;
  for (int c = 0; c < 4; ++c) {
    uint32_t x = packed >> 8 * c & 0xffu;
    x = (x | x << 12) & 0x000f000fu;
    x = (x | x << 6) & 0x03030303u;
    bits |= ((x | x << 3) & 0x11111111u) << c;
  }
  return bits;
}
void change_word(uint8_t* at, uint32_t (*change)(uint32_t)) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  word = change(word);
  std::memcpy(at, &word, sizeof word);
}

// What a block of an integer type consists of: one or two f16, and words of four bytes.
struct BlockParts {
  int64_t halves;     // how many f16
  int64_t halves_at;  // where they stand
  int64_t words_at;
  int64_t word_bytes;
  uint8_t flip;                  // what each byte of the words is changed by
  int64_t (*place)(int64_t at);  // in the file, of what is packed `at` bytes behind the first word
  bool fifth_bits;               // its first word has them
};
BlockParts parts_of(const TypeTraits& t) {
  const int64_t halves = t.has_min ? 2 : 1;
  const int64_t word_bytes = t.block_bytes - 2 * halves;
  const bool last = t.type == Type::Q6_K;
  return {halves,
          last ? word_bytes : 0,
          last ? 0 : 2 * halves,
          word_bytes,
          static_cast<uint8_t>(t.type == Type::Q8_0 ? 0x80 : 0),
          last ? place_in_q6_k : in_order,
          t.bits == 5 && t.block == 32};
}

bool pack_blocks(const TypeTraits& t, const uint8_t* rows, int64_t n_blocks, uint8_t* packed) {
  const BlockParts parts = parts_of(t);
  const size_t stride = static_cast<size_t>(n_blocks) * t.block_bytes;
  FiniteF16 finite;
  for (int64_t b = 0; b < n_blocks; ++b, rows += t.block_bytes) {
    const uint8_t* halves = packed;
    for (int64_t h = 0; h < parts.halves; ++h) {
      const uint8_t* in = rows + parts.halves_at + 2 * h;
      for (size_t r = 0; r < kRows; ++r, packed += 2) std::memcpy(packed, in + r * stride, 2);
    }
    interleave(rows + parts.words_at, stride, parts.word_bytes, packed, parts.place);
    if (parts.flip != 0) {
      for (int64_t i = 0; i < parts.word_bytes * kRows; ++i) packed[i] ^= parts.flip;
    }
    if (parts.fifth_bits) {
      for (int64_t r = 0; r < kRows; ++r) change_word(packed + 4 * r, pack_fifth_bits);
    }
    packed += parts.word_bytes * kRows;
    // After the words: halves that were stored one by one can't be loaded together at once.
    for (; halves < packed - parts.word_bytes * kRows; halves += 16) finite.see(halves);
  }
  return finite.all();
}

// The reverse for one row of one block: `block` gets its bytes as they were in the file.
void unpack_block(const TypeTraits& t, const uint8_t* packed, int64_t r, uint8_t* block) {
  const BlockParts parts = parts_of(t);
  for (int64_t h = 0; h < parts.halves; ++h, packed += 2 * kRows) {
    std::memcpy(block + parts.halves_at + 2 * h, packed + 2 * r, 2);
  }
  for (int64_t i = 0; i < parts.word_bytes; ++i) {
    block[parts.words_at + parts.place(i)] = packed[(i / 4 * kRows + r) * 4 + i % 4] ^ parts.flip;
  }
  if (parts.fifth_bits) change_word(block + parts.words_at, unpack_fifth_bits);
}

// Eight values of 16 bits of eight rows, and their transposition.
using Halves = uint16_t __attribute__((vector_size(16)));

void transpose_8x8(const uint8_t* in, size_t stride, uint8_t* out) {
  Halves a[8], b[8];
  for (size_t r = 0; r < 8; ++r) std::memcpy(&a[r], in + r * stride, 16);
  // Three times: rows i and i + 4, by turns, become rows 2i and 2i + 1.
  const auto zip = [](const Halves(&from)[8], Halves(&to)[8]) {
    for (size_t i = 0; i < 4; ++i) {
      to[2 * i] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
  };
  zip(a, b);
  zip(b, a);
  zip(a, b);
  for (size_t k = 0; k < 8; ++k) std::memcpy(out + 2 * kRows * k, &b[k], 16);
}

void pack_halves(const uint8_t* rows, size_t stride, int64_t cols, uint8_t* packed) {
  int64_t k = 0;
  for (; k + 8 <= cols; k += 8, rows += 16, packed += 16 * kRows) {
    transpose_8x8(rows, stride, packed);
    transpose_8x8(rows + 8 * stride, stride, packed + 16);
  }
  for (; k < cols; ++k, rows += 2) {
    for (size_t r = 0; r < kRows; ++r, packed += 2) std::memcpy(packed, rows + r * stride, 2);
  }
}

// Float types: 64 columns at a time, which are still in the first cache when they are checked.
bool pack_floats(const TypeTraits& t, const uint8_t* rows, int64_t cols, uint8_t* packed) {
  const size_t stride = static_cast<size_t>(cols) * t.block_bytes;
  bool finite = true;
  for (int64_t k = 0; k < cols; k += 64) {
    const int64_t n = std::min<int64_t>(64, cols - k);
    const uint8_t* from = rows + k * t.block_bytes;
    if (t.type == Type::F32) {
      interleave(from, stride, 4 * n, packed, in_order);
    } else {
      pack_halves(from, stride, n, packed);
    }
    const size_t bytes = kRows * static_cast<size_t>(n) * t.block_bytes;
    finite = floats_finite(t.type, packed, bytes) && finite;
    packed += bytes;
  }
  return finite;
}

}  // namespace

bool pack_strip(Type type, const uint8_t* rows, int64_t cols, uint8_t* packed) {
  const TypeTraits& t = traits(type);
  if (t.group != 0) return pack_blocks(t, rows, cols / t.block, packed);
  return pack_floats(t, rows, cols, packed);
}

int64_t first_not_finite(Type type, const uint8_t* rows, int64_t n_rows, int64_t cols) {
  const TypeTraits& t = traits(type);
  const auto bytes = static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(cols)));
  for (int64_t r = 0; r < n_rows; ++r, rows += bytes) {
    if (t.group == 0) {
      if (!floats_finite(type, rows, bytes)) return r;
      continue;
    }
    const BlockParts parts = parts_of(t);
    FiniteF16 finite;
    for (size_t at = 0; at < bytes; at += t.block_bytes) {
      for (int64_t h = 0; h < parts.halves; ++h)
        finite.see_one(rows + at + parts.halves_at + 2 * h);
    }
    if (!finite.all()) return r;
  }
  return -1;
}

void read_row(const Matrix& matrix, int64_t row, float* out) {
  const TypeTraits& t = traits(matrix.type);
  const int64_t s = row / kRows;
  const int64_t r = row % kRows;
  const uint8_t* strip = matrix.strip(s);
  if (!matrix.strip_packed(s)) {
    t.dequantize(strip + static_cast<size_t>(r) * matrix.bytes_per_row(), matrix.cols, out);
    return;
  }
  if (t.group == 0) {
    for (int64_t k = 0; k < matrix.cols; ++k) {
      t.dequantize(strip + (k * kRows + r) * t.block_bytes, 1, out + k);
    }
    return;
  }
  uint8_t block[kMaxBlockBytes];
  for (int64_t b = 0; b < matrix.cols / t.block; ++b) {
    unpack_block(t, strip + b * t.block_bytes * kRows, r, block);
    t.dequantize(block, t.block, out + b * t.block);
  }
}

void describe_panel(Type type, Panel& panel) {
  const TypeTraits& t = traits(type);
  panel.group = t.group;
  panel.bits = t.bits;
  panel.has_min = t.has_min;
}

void unpack_rows(Type type, const uint8_t* rows, int n_rows, int64_t cols, Panel& panel) {
  const TypeTraits& t = traits(type);
  describe_panel(type, panel);
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
    interleave(codes[0], sizeof codes[0], count, panel.codes + begin * kRows, in_order);
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

}  // namespace sluice
