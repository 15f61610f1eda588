// The transform of a product's input rows whose matrix was multiplied by the same transform before
// it was quantized (Ashkboos et al. 2024, QuaRot, arXiv 2404.00456): signs, and then the normalized
// Walsh-Hadamard matrix H on each block of n numbers, H[r][c] = (-1)^popcount(r & c) / sqrt(n). It
// is its own inverse.
#pragma once

#include <cstdint>

namespace sluice {

// x = H (signs * x) for a row of `width` numbers. `signs` [width] are 1 and -1; null: all are 1.
// The block is a power of two from 4 on that divides the width. The sums are taken in pairs of
// growing distance, 1, 2, 4 .. block / 2; the factor 1 / sqrt(block) comes last. So the bits are
// the same everywhere.
void apply_hadamard(const float* signs, int64_t width, int64_t block, float* x);
// x = signs * (H x), which undoes it.
void undo_hadamard(const float* signs, int64_t width, int64_t block, float* x);

// Puts the groups * repeats heads of a row in another order: place k * repeats + r of `to` gets
// head k + groups * r of `from`, another row.
void group_heads(const float* from, int64_t width, int64_t groups, int64_t repeats, float* to);

}  // namespace sluice
