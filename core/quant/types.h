// The tensor types of GGUF files, which are ggml's block formats. Each has one row in types.inc.
// All code that depends on a type reads its row: unpacking (unpack.cc), packing (matrix.cc), the
// kernels (kernels/formats.inl), the self-test, the tests and the messages.
//
// Every integer type has unsigned codes in groups of 16 or 32 consecutive elements: value = scale *
// (code - bias) + min. A group has one scale and, in some types, one min.
//
// Kernels include this header and are compiled for newer machines than the rest (see
// kernels/README.md), so all functions here are consteval or defined in unpack.cc.
#pragma once  // face

#include <cstddef>
#include <cstdint>

namespace sluice {

// The values are ggml's numbers, as files have them.
enum class Type : uint32_t {
#define TYPE(name, number, ...) name = number,
#include "quant/types.inc"
};

enum class FloatKind : uint8_t { none, f32, f16, bf16 };

// How a block holds numbers of few bits. A run of bytes has one number in the lowest bits of each
// byte, then the next numbers in the bits above, and so on: n = 8 / bits * run numbers in all.
// Number i takes `bits` bits of byte at + i / n * run + i % run, from bit i % n / run * bits on.
struct Plane {
  uint8_t at = 0;    // the first byte
  uint8_t bits = 0;  // 1, 2, 4 or 8; 0: no such plane
  uint8_t run = 0;   // bytes: 1, or whole words of 4
};

// Where a block has the scales and mins of its groups.
struct Scales {
  enum Kind : uint8_t {
    one,     // d and min are those of every group
    fields,  // a group's scale is d * number, its min -(min * number). The planes below hold the
             // numbers, first those for scales, then those for mins
    sixes,   // the same with numbers of 6 bits, in the 12 bytes at low.at as Q4_K has them
  };
  Kind kind = one;
  Plane low = {}, high = {};  // the low and the high bits of numbers
  int8_t bias = 0;            // number = bits - bias
  bool is_signed = false;     // the numbers are int8
};

// In a type with a codebook, code i of a file stands for values[i].
struct Codebook {
  int8_t values[16];
};
inline constexpr Codebook kUneven16 = {
    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}};

// The order in which a block's words are packed (matrix.h), in pieces of 16 bytes. All 0: the
// file's order.
struct PieceOrder {
  uint8_t pieces[13];
};

// A type. Its row in types.inc sets the fields from `floats` to `order`, unless their defaults are
// right.
struct TypeTraits {
  Type type;
  const char* name;      // "Q4_K"
  uint32_t block;        // elements in a block; a row is a whole number of blocks
  uint32_t block_bytes;  // bytes of a block

  FloatKind floats = FloatKind::none;
  int16_t group = 32;      // elements that share a scale: 16 or 32; 0 in types without codes
  int16_t d = -1;          // byte offset of the block's scale, an f16
  int16_t min = -1;        // byte offset of its min, an f16; -1: no mins
  Plane low = {};          // the codes' low bits
  Plane high = {};         // the codes' high bits
  bool is_signed = false;  // the file has int8; the code is the byte xor 0x80
  const Codebook* codebook = nullptr;
  Scales scales = {};
  PieceOrder order = {};

  // complete_row sets these.
  bool computed = false;  // Sluice computes with it
  bool has_min = false;
  int16_t bits = 0;       // codes are below 2^bits; 0 for float types
  int16_t bias = 0;       // 2^(bits - 1), or 0 with mins
  int16_t halves = 0;     // 16-bit numbers side by side: d, min, and what words of 4 leave over
  int16_t halves_at = 0;  // byte offset of these
  int16_t words_at = 0;   // byte offset of the rest, which is words of 4 bytes

  // Unpacks n elements of a row of an integer type to codes[n], scales[n / group] and, if has_min,
  // mins[n / group]. Exact.
  void unpack(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* mins) const;
  // Writes n elements of a row as f32. For integer types: scale * float(code - bias) (+ min).
  void dequantize(const uint8_t* row, int64_t n, float* out) const;
};

consteval TypeTraits complete_row(TypeTraits t) {
  t.computed = t.floats != FloatKind::none || t.d >= 0;
  if (t.d < 0) {
    t.group = 0;
    return t;
  }
  t.has_min = t.min >= 0;
  int bits = t.low.bits + t.high.bits;
  if (t.codebook != nullptr) {
    bits = 4;
    for (const int value : t.codebook->values) {
      while (value < -(1 << (bits - 1)) || value >= 1 << (bits - 1)) bits += bits < 6 ? 1 : 2;
    }
  }
  t.bits = static_cast<int16_t>(bits);
  t.bias = static_cast<int16_t>(t.has_min ? 0 : 1 << (bits - 1));
  int halves = t.has_min ? 2 : 1;
  if ((t.block_bytes - 2u * halves) % 4 != 0) ++halves;
  t.halves = static_cast<int16_t>(halves);
  const bool first = t.d == 0;
  t.halves_at = static_cast<int16_t>(first ? 0 : t.block_bytes - 2u * halves);
  t.words_at = static_cast<int16_t>(first ? 2 * halves : 0);
  return t;
}

// All types that ggml has or had, in the order of their numbers.
inline constexpr TypeTraits kTypes[] = {
#define TYPE(name_, number, block_, bytes, ...) \
  complete_row(                                 \
      {.type = Type::name_, .name = #name_, .block = block_, .block_bytes = bytes, __VA_ARGS__}),
#include "quant/types.inc"
};

}  // namespace sluice
