// Rounding to a type, to make files for tests.
#pragma once

#include "quant/types.h"

namespace sluice {

// Rounds n f32 values (a whole number of blocks) to one row of a type, as llama.cpp's reference
// does (K types: a simple search; the format is exact, the choice of scales our own).
using Quantize = void(const float* values, int64_t n, uint8_t* row);
// Null for types that nothing is rounded to here.
Quantize* quantizer(Type type);

}  // namespace sluice
