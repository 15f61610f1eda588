// How fast this machine's cores multiply with our kernels: what prompts are measured against.
#pragma once

#include "engine_inside.h"

namespace sluice::cli {

// Multiply-adds a second (1e9) of the table's own matrix product, `threads` threads together, each
// with a strip of 16 unpacked rows of `type` and 64 tokens' activations that stay in its caches:
// the median of several measurements of at least 20 ms. 0 where the threads can't be had.
double multiply_rate(const Kernels& kernels, Type type, int threads);

// The type that most bytes of a model's weights have; it must have some.
Type main_type(const Gguf& header);

}  // namespace sluice::cli
