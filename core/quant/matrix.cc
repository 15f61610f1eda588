#include "quant/matrix.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "quant/runs.h"

namespace sluice {
namespace {

constexpr int64_t kRows = kStripRows;

consteval size_t largest_block() {
  size_t bytes = 0;
  for (const TypeTraits& t : kTypes) {
    if (t.computed) bytes = std::max<size_t>(bytes, t.block_bytes);
  }
  return bytes;
}

// Checks that numbers are finite. The bits of an infinity or NaN, without the sign, are at least
// kInfinity, so adding kCarry to them sets the sign bit, and seen_ keeps it.
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

// Whether all floats in n bytes are finite. One float has `size` bytes.
template <typename Check>
bool all_finite(const uint8_t* bytes, size_t n, size_t size) {
  Check check;
  size_t at = 0;
  for (; at + 16 <= n; at += 16) check.see(bytes + at);
  for (; at < n; at += size) check.see_one(bytes + at);
  return check.all();
}
bool floats_finite(FloatKind floats, const uint8_t* bytes, size_t n) {
  if (floats == FloatKind::f32) return all_finite<FiniteF32>(bytes, n, 4);
  if (floats == FloatKind::f16) return all_finite<FiniteF16>(bytes, n, 2);
  return all_finite<FiniteBf16>(bytes, n, 2);
}

// Four 32-bit words.
using Words = uint32_t __attribute__((vector_size(16)));

Words load_words(const uint8_t* p) {
  Words words;
  std::memcpy(&words, p, sizeof words);
  return words;
}

// Transposes four words of each of four rows, which are `stride` bytes apart: word w of row r goes
// to out[w][r], where out is [4 words][16 rows]. Every word is xor'ed with kFlip.
template <uint32_t kFlip>
void transpose_4x4(const uint8_t* in, size_t stride, uint8_t* out) {
  const Words a = load_words(in) ^ kFlip;
  const Words b = load_words(in + stride) ^ kFlip;
  const Words c = load_words(in + 2 * stride) ^ kFlip;
  const Words d = load_words(in + 3 * stride) ^ kFlip;
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
template <uint32_t kFlip>
void interleave(const uint8_t* in, size_t stride, int64_t n, uint8_t* out,
                const PieceOrder& order = {}) {
  const bool reordered = order.pieces[0] != order.pieces[1];
  int64_t at = 0;
  for (; at + 16 <= n; at += 16) {
    const uint8_t* from = in + (reordered ? 16 * order.pieces[at / 16] : at);
    for (size_t r = 0; r < 16; r += 4) {
      transpose_4x4<kFlip>(from + r * stride, stride, out + 16 * at + 4 * r);
    }
  }
  for (; at < n; at += 4) {
    for (size_t r = 0; r < 16; ++r) {
      uint32_t word;
      std::memcpy(&word, in + r * stride + at, 4);
      word ^= kFlip;
      std::memcpy(out + 16 * at + 4 * r, &word, 4);
    }
  }
}

// Applies change(word, bits) to the planes of codes with runs of one byte, one Word at a time.
// `words` are the words of a block as it is in the file (`lanes` = 1) or packed (`lanes` = kRows).
template <typename Word, typename Change>
void change_runs(const TypeTraits& t, uint8_t* words, int64_t lanes, const Change& change) {
  for (const Plane& plane : {t.low, t.high}) {
    if (plane.run != 1) continue;
    uint8_t* at = words + (plane.at - t.words_at) * lanes;
    const uint8_t* const end = at + t.block / 8 * plane.bits * lanes;
    for (; at < end; at += sizeof(Word)) {
      Word word;
      std::memcpy(&word, at, sizeof word);
      word = change(word, plane.bits);
      std::memcpy(at, &word, sizeof word);
    }
  }
}

constexpr uint32_t kSignBits = 0x80808080u;

// Every word is xor'ed with kFlip.
template <uint32_t kFlip>
bool pack_blocks(const TypeTraits& t, const uint8_t* rows, int64_t n_blocks, uint8_t* packed) {
  const size_t stride = static_cast<size_t>(n_blocks) * t.block_bytes;
  const int64_t word_bytes = t.block_bytes - 2 * t.halves;
  FiniteF16 finite;
  for (int64_t b = 0; b < n_blocks; ++b, rows += t.block_bytes) {
    const uint8_t* halves = packed;
    for (int64_t h = 0; h < t.halves; ++h) {
      const uint8_t* in = rows + t.halves_at + 2 * h;
      for (size_t r = 0; r < kRows; ++r, packed += 2) std::memcpy(packed, in + r * stride, 2);
    }
    interleave<kFlip>(rows + t.words_at, stride, word_bytes, packed, t.order);
    change_runs<Words>(t, packed, kRows, pack_run<Words>);
    packed += word_bytes * kRows;
    // Only now: a load of 16 bytes would have to wait for the stores of 2 bytes above.
    for (const int at : {t.d, t.min}) {
      if (at < 0) continue;
      const uint8_t* number = halves + (at - t.halves_at) * kRows;
      finite.see(number);
      finite.see(number + 16);
    }
  }
  return finite.all();
}

// The reverse of pack_blocks for row r of one block: `block` gets the bytes of the file.
void unpack_block(const TypeTraits& t, const uint8_t* packed, int64_t r, uint8_t* block) {
  for (int64_t h = 0; h < t.halves; ++h, packed += 2 * kRows) {
    std::memcpy(block + t.halves_at + 2 * h, packed + 2 * r, 2);
  }
  uint8_t* words = block + t.words_at;
  const bool reordered = t.order.pieces[0] != t.order.pieces[1];
  for (int64_t i = 0; i < t.block_bytes - 2 * t.halves; i += 4) {
    uint32_t word;
    std::memcpy(&word, packed + (i / 4 * kRows + r) * 4, 4);
    if (t.is_signed) word ^= kSignBits;
    std::memcpy(words + (reordered ? 16 * t.order.pieces[i / 16] + i % 16 : i), &word, 4);
  }
  change_runs<uint32_t>(t, words, 1, unpack_run<uint32_t>);
}

// Eight 16-bit values.
using Halves = uint16_t __attribute__((vector_size(16)));

// Transposes eight values of each of eight rows. Rows of `out` are 16 values apart.
void transpose_8x8(const uint8_t* in, size_t stride, uint8_t* out) {
  Halves a[8], b[8];
  for (size_t r = 0; r < 8; ++r) std::memcpy(&a[r], in + r * stride, 16);
  // Zips rows i and i + 4 to rows 2i and 2i + 1. Doing that three times is a transposition.
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

// Takes 64 columns at a time, so that they are still in the L1 cache when they are checked.
bool pack_floats(const TypeTraits& t, const uint8_t* rows, int64_t cols, uint8_t* packed) {
  const size_t stride = static_cast<size_t>(cols) * t.block_bytes;
  bool finite = true;
  for (int64_t k = 0; k < cols; k += 64) {
    const int64_t n = std::min<int64_t>(64, cols - k);
    const uint8_t* from = rows + k * t.block_bytes;
    if (t.floats == FloatKind::f32) {
      interleave<0>(from, stride, 4 * n, packed);
    } else {
      pack_halves(from, stride, n, packed);
    }
    const size_t bytes = kRows * static_cast<size_t>(n) * t.block_bytes;
    finite = floats_finite(t.floats, packed, bytes) && finite;
    packed += bytes;
  }
  return finite;
}

}  // namespace

bool pack_strip(Type type, const uint8_t* rows, int64_t cols, uint8_t* packed) {
  const TypeTraits& t = traits(type);
  if (t.is_signed) return pack_blocks<kSignBits>(t, rows, cols / t.block, packed);
  if (t.group != 0) return pack_blocks<0>(t, rows, cols / t.block, packed);
  return pack_floats(t, rows, cols, packed);
}

int64_t first_not_finite(Type type, const uint8_t* rows, int64_t n_rows, int64_t cols) {
  const TypeTraits& t = traits(type);
  const auto bytes = static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(cols)));
  for (int64_t r = 0; r < n_rows; ++r, rows += bytes) {
    if (t.group == 0) {
      if (!floats_finite(t.floats, rows, bytes)) return r;
      continue;
    }
    FiniteF16 finite;
    for (const uint8_t* block = rows; block < rows + bytes; block += t.block_bytes) {
      finite.see_one(block + t.d);
      if (t.has_min) finite.see_one(block + t.min);
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
  uint8_t block[largest_block()];
  for (int64_t b = 0; b < matrix.cols / t.block; ++b) {
    unpack_block(t, strip + b * t.block_bytes * kRows, r, block);
    t.dequantize(block, t.block, out + b * t.block);
  }
}

void read_file_row(const Matrix& matrix, int64_t row, uint8_t* out) {
  const TypeTraits& t = traits(matrix.type);
  const int64_t s = row / kRows;
  const int64_t r = row % kRows;
  const uint8_t* strip = matrix.strip(s);
  if (!matrix.strip_packed(s)) {
    const size_t bytes = matrix.bytes_per_row();
    std::memcpy(out, strip + static_cast<size_t>(r) * bytes, bytes);
    return;
  }
  // A float is a block of one column.
  for (int64_t b = 0; b < matrix.cols / t.block; ++b, out += t.block_bytes) {
    if (t.group == 0) {
      std::memcpy(out, strip + (b * kRows + r) * t.block_bytes, t.block_bytes);
    } else {
      unpack_block(t, strip + b * t.block_bytes * kRows, r, out);
    }
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
  // Takes 256 columns at a time, so that codes are still in the L1 cache when they are interleaved.
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
    interleave<0>(codes[0], sizeof codes[0], count, panel.codes + begin * kRows);
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
