// Quantizes rows of values, to make files for tests.
#pragma once

#include "quant/types.h"

namespace sluice {

// Rounds n f32 values (a whole number of blocks) to one row of a type, as llama.cpp's reference
// does. For K types only the format is the same: our search for scales is simpler.
using Quantize = void(const float* values, int64_t n, uint8_t* row);
// The function for a type; null if there is none.
Quantize* quantizer(Type type);

}  // namespace sluice
