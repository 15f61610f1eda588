// Whether integer products of a table give the oracle's bits on this machine: asked at start of
// tables whose instructions are not the same everywhere (relaxed SIMD).
#pragma once

#include "kernels/kernels.h"

namespace sluice {

// All integer types, and wasm's sizes of token tile; extreme codes and activations. A page waits
// for it before its first token, while the code runs for the first time: some milliseconds.
bool gemm_is_exact(const Kernels& kernels);
bool direct_is_exact(const Kernels& kernels);

}  // namespace sluice
