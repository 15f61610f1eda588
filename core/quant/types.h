// The tensor types of GGUF files (ggml's block formats): one row a type, in types.inc. All that
// depends on a type reads its row: unpacking (unpack.cc), packing (matrix.cc), the kernels
// (kernels/sources.inl), the self-test, the tests and the messages.
//
// Every integer type is seen as unsigned codes in groups: value = scale * (code - bias) + min, with
// one scale (and, for some types, one min) per group of 16 or 32 consecutive elements.
//
// Kernels are compiled for machines that others may not be, and share this header: what it has
// besides data runs at compile time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// The numbers are ggml's, as they stand in files.
enum class Type : uint32_t {
#define TYPE(name, number, ...) name = number,
#include "quant/types.inc"
};

enum class FloatKind : uint8_t { none, f32, f16, bf16 };

// Numbers of few bits, as a block holds them: a run of bytes has the first numbers in its lowest
// bits, the next ones in the bits above those, and so on. So number i has `bits` bits of the byte
// at + i / n * run + i % run, from bit i % n / run * bits on, where n = 8 / bits * run.
struct Plane {
  uint8_t at = 0;    // the first byte
  uint8_t bits = 0;  // 1, 2, 4 or 8; 0: no such plane
  uint8_t run = 0;   // bytes: 1, or whole words of 4
};

// Where a block's groups have their scales and mins.
struct Scales {
  enum Kind : uint8_t {
    one,     // d and min are those of all groups
    fields,  // d * number and -(min * number): the numbers of these planes, less the bias; first
             // those of the groups' scales, then, where there are mins, of the mins
    sixes,   // the same by numbers of 6 bits in the 12 bytes at low.at, as Q4_K has them
  };
  Kind kind = one;
  Plane low = {}, high = {};  // the numbers' low bits, and those above them
  int8_t bias = 0;            // what is subtracted from them
  bool is_signed = false;     // they are int8
};

// What codes stand for, where that isn't their own number: code i for values[i].
struct Codebook {
  int8_t values[16];
};
inline constexpr Codebook kUneven16 = {
    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}};

// The pieces of 16 bytes that a block's words consist of, in the order in which they are packed
// (matrix.h); all 0: as in the file.
struct PieceOrder {
  uint8_t pieces[13];
};

// A type. Rows of types.inc give the fields from `floats` to `order` that aren't what they are
// here.
struct TypeTraits {
  Type type;
  const char* name;      // "Q4_K"
  uint32_t block;        // elements in a block; a row is a whole number of blocks
  uint32_t block_bytes;  // bytes of a block

  FloatKind floats = FloatKind::none;
  int16_t group = 32;      // elements sharing a scale: 16 or 32; 0 unless there are codes
  int16_t d = -1;          // the byte where the block has its scale, an f16
  int16_t min = -1;        // the byte where it has its min, an f16; -1: no mins
  Plane low = {};          // the codes' low bits
  Plane high = {};         // and those above them
  bool is_signed = false;  // they are int8; the code is the byte xor 0x80
  const Codebook* codebook = nullptr;
  Scales scales = {};
  PieceOrder order = {};

  // What follows from that.
  bool computed = false;  // do we compute with it?
  bool has_min = false;
  int16_t bits = 0;       // codes are below 2^bits; 0 for float types
  int16_t bias = 0;       // what is subtracted from a code: half of that, or 0 where there are mins
  int16_t halves = 0;     // numbers of 16 bits, side by side: d, min, and what words leave over
  int16_t halves_at = 0;  // the byte where they stand
  int16_t words_at = 0;   // the byte where the rest begins, words of 4 bytes

  // codes[n], scales[n / group], mins[n / group] (mins only written if has_min) of one row of n
  // elements, of an integer type. Exact.
  void unpack(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* mins) const;
  // The row's values as f32. For integer types: scale * float(code - bias) (+ min).
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

// All types that ggml has had, by their numbers.
inline constexpr TypeTraits kTypes[] = {
#define TYPE(name_, number, block_, bytes, ...) \
  complete_row(                                 \
      {.type = Type::name_, .name = #name_, .block = block_, .block_bytes = bytes, __VA_ARGS__}),
#include "quant/types.inc"
};

}  // namespace sluice
