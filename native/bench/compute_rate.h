// Measures how fast this machine's cores multiply with our kernels. Prompt rates are compared with
// it.
#pragma once

#include "gguf/gguf.h"
#include "kernels/kernels.h"
#include "quant/types.h"

namespace sluice::cli {

// Multiply-adds (1e9) per second of the kernels' matrix product on `threads` threads together. Each
// multiplies a strip of 16 unpacked rows of `type` by the activations of 64 tokens, which stay in
// its caches. The median of several measurements of at least 20 ms. 0 if the threads can't be
// started.
double multiply_rate(const Kernels& kernels, Type type, int threads);

// The type that most bytes of a model's weights have. The model must have weights.
Type main_type(const Gguf& header);

}  // namespace sluice::cli
