// Rows of a tensor, made of safetensors files as its recipe says.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "files/convert/hf_weights.h"
#include "files/convert/recipe.h"

namespace sluice {

// n numbers of a floating-point type as f32, from bytes at any address. F64 is rounded.
void to_f32(SafeType type, const uint8_t* bytes, uint64_t n, float* out);

// What making rows takes. One for each thread; it keeps its memory.
struct RowScratch {
  std::vector<uint8_t> bytes;
  std::vector<float> row;
};

// Writes rows [begin, begin + n) of the tensor to out[n * columns]. Fails as reading does.
Status make_rows(const Recipe& recipe, const HfWeights& weights, uint64_t begin, uint64_t n,
                 float* out, RowScratch& scratch);

}  // namespace sluice
