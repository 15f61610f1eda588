// Rounding to each type, for quant/traits.cc's table; callers go through TypeTraits::quantize.
#pragma once

#include <cstdint>

namespace sluice {

using Quantize = void(const float* values, int64_t n, uint8_t* row);
Quantize quantize_f32, quantize_f16, quantize_bf16;
Quantize quantize_q4_0, quantize_q4_1, quantize_q5_0, quantize_q5_1, quantize_q8_0;
Quantize quantize_q4_k, quantize_q5_k, quantize_q6_k;

}  // namespace sluice
