// Tests whether a table's integer products give the oracle's bits on this machine. Tables whose
// instructions differ by machine (relaxed SIMD) are tested at start.
#pragma once

#include "kernels/kernels.h"

namespace sluice {

// Each tries all integer types, wasm's two sizes of tiles, and extreme codes and activations. A
// page waits for both before its first token. They take some milliseconds, since the code runs for
// the first time.
bool gemm_is_exact(const Kernels& kernels);
bool direct_is_exact(const Kernels& kernels);

}  // namespace sluice
