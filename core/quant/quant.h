// Tensor types, and the oracle: what a product of weights and activations is, bit by bit. All
// kernels stand on this view of a type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "quant/types.h"

namespace sluice {

// Activations are quantized to int8 in blocks of this many elements.
inline constexpr int kActBlock = 32;

// Traits of a type we compute with, or null for any other number.
const TypeTraits* find_traits(uint32_t type);
const TypeTraits& traits(Type type);
// "F32, F16, Q4_0": the types that we compute with, for messages.
std::string computed_type_names();

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
