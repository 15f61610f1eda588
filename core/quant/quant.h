// Finds tensor types by number, and defines products of weights and activations bit by bit (the
// oracle).
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <string>

#include "quant/types.h"

namespace sluice {

// Activations are quantized to int8 in blocks of this many elements.
inline constexpr int kActBlock = 32;

// The type with this number if Sluice computes with it, else null.
const TypeTraits* find_traits(uint32_t type);
const TypeTraits& traits(Type type);
// The names of the types that Sluice computes with, for messages: "F32, F16, Q4_0".
std::string computed_type_names();

// Name and block of a type, computed or not. `name` is null if the number is unknown, `block` is 0
// if ggml has removed the type.
struct FileType {
  const char* name;
  uint32_t block;
  uint32_t block_bytes;
};
FileType file_type(uint32_t type);

// Bytes of a row of n elements (n a multiple of the block).
inline uint64_t row_bytes(const TypeTraits& t, uint64_t n) { return n / t.block * t.block_bytes; }

// The oracle: every kernel gives the bits of these functions.
//
// Activations x[n] are quantized in blocks of 32: d = max|x| / 127, inverse = d > 0 ? 1 / d : 0,
// q = round-to-nearest-even(x * inverse). So q is within -127..127. A block with a NaN or an
// infinity has d = infinity and q = 0; its products are NaN.
// An output of a matrix product is one f32 accumulator. Groups are added in ascending order:
//   acc = acc + float(isum) * (scale * d)   isum = sum over the group of (code - bias) * q, exact
//   acc = acc + min * (d * float(sum of q over the group))            only if has_min
// Each operation rounds by itself; there is no fused multiply-add.
struct ReferenceActs {
  const int8_t* q;  // [n]
  const float* d;   // [n / 32]
};
void reference_quantize(const float* x, int64_t n, int8_t* q, float* d);
float reference_dot(Type type, const uint8_t* row, int64_t n, const ReferenceActs& acts);
// Float types: acc = acc + weight[k] * x[k], k ascending.
float reference_dot_float(Type type, const uint8_t* row, int64_t n, const float* x);

}  // namespace sluice
