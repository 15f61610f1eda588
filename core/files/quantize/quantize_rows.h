// Rounds rows of f32 values to a tensor type, bit for bit as llama-quantize b11669 does. Sources of
// the methods: ggml-org/ggml, src/ggml-quants.c; the searches are described in scale_search.inl.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "quant/types.h"

namespace sluice {

// Whether rows can be rounded to this type: F32, F16, BF16, and the quantized types that need no
// codebook search.
bool can_quantize_to(Type type);

// Writes n_rows rows of n values (n a multiple of the type's block) to `out`, row_bytes() each.
// `importance`: a weight >= 0 for each column, the same for all rows; null: none. F32, F16, BF16,
// Q8_0, MXFP4, TQ1_0, TQ2_0, Q1_0 and Q2_0 ignore it. Each row's bytes depend on that row alone, so
// any division of a tensor among threads gives the same file; several rows in a call are faster
// than short rows one by one. Fails with bad_file if a value is no finite number, or if the format
// can't hold it, with unsupported_type if rows can't be rounded to this type. `out` then holds
// anything.
Status quantize_rows(Type type, const float* values, int64_t n_rows, int64_t n,
                     const float* importance, uint8_t* out);

}  // namespace sluice
