// Tensor types of GGUF files (ggml's block formats): one row of traits a type.
//
// Every integer type is seen as unsigned codes in groups: value = scale * (code - bias) + min, with
// one scale (and, for some types, one min) per group of 16 or 32 consecutive elements. All kernels
// stand on this view; a new type needs an enum value, a traits row and an unpack function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

// The numbers are ggml's, as they stand in files.
enum class Type : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  BF16 = 30,
};
inline constexpr int kTypeSlots = 31;  // size of a table indexed by a supported Type

// Activations are quantized to int8 in blocks of this many elements.
inline constexpr int kActBlock = 32;

struct TypeTraits {
  Type type;
  const char* name;      // "Q4_K"
  uint32_t block;        // elements in a block; a row is a whole number of blocks
  uint32_t block_bytes;  // bytes of a block
  int group;             // elements sharing a scale: 16 or 32; 0 for F32, F16, BF16
  int bits;              // codes are below 2^bits: 4, 5, 6 or 8; 0 for float types
  int bias;              // what is subtracted from a code
  bool has_min;
  // codes[n], scales[n / group], mins[n / group] (mins only written if has_min) of one row of n
  // elements. Exact. Null for float types.
  void (*unpack)(const uint8_t* row, int64_t n, uint8_t* codes, float* scales, float* mins);
  // The row's values as f32. For integer types: scale * float(code - bias) (+ min).
  void (*dequantize)(const uint8_t* row, int64_t n, float* out);
  // Rounds n f32 values (a whole number of blocks) to this type, as llama.cpp's reference does
  // (K types: a simple search; the format is exact, the choice of scales our own).
  void (*quantize)(const float* values, int64_t n, uint8_t* row);
};

// Traits of a type we compute with, or null for any other number.
const TypeTraits* find_traits(uint32_t type);
const TypeTraits& traits(Type type);

// Name and block geometry of every type ggml has had, for headers and messages. name is null where
// the number is unknown; block 0 where the type was removed.
struct FileType {
  const char* name;
  uint32_t block;
  uint32_t block_bytes;
};
FileType file_type(uint32_t type);

// Bytes of a row of n elements (n a multiple of the block).
inline uint64_t row_bytes(const TypeTraits& t, uint64_t n) { return n / t.block * t.block_bytes; }

// The oracle: how one output of a matrix product is defined, bit by bit, for every kernel.
//
// Activations x[n] are quantized in blocks of 32: d = max|x| / 127, inverse = d > 0 ? 1 / d : 0,
// q = round-to-nearest-even(x * inverse), sum[g] = integer sum of q over each 16. So q is within
// -127..127. A block with a NaN or an infinity has d = infinity and q = 0: what is multiplied with
// it becomes NaN.
// Then, groups ascending, one f32 accumulator:
//   acc = acc + float(isum) * (scale * d)   isum = sum over the group of (code - bias) * q, exact
//   acc = acc + min * (d * float(sum of q over the group))            only where has_min
// each operation rounded by itself, no fused multiply-add.
struct ReferenceActs {
  const int8_t* q;  // [n]
  const float* d;   // [n / 32]
};
void reference_quantize(const float* x, int64_t n, int8_t* q, float* d);
float reference_dot(Type type, const uint8_t* row, int64_t n, const ReferenceActs& acts);
// Float types: acc = acc + weight[k] * x[k], k ascending.
float reference_dot_float(Type type, const uint8_t* row, int64_t n, const float* x);

}  // namespace sluice
