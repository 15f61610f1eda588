// The table for wasm with relaxed SIMD: integer products of its own, the rest is wasm_simd.cc's.
// What the dot instructions do with operands of more than 7 bits depends on the machine. So they
// are probed at start, and the products are compared with the oracle before they are used.
#include <string.h>
#include <wasm_simd128.h>

#include "kernels/kernels.h"
#include "kernels/self_test.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {

extern const Kernels kWasmSimd;

namespace {

constexpr int kVectorBytes = 16;

#include "kernels/vector.inl"
//
#include "kernels/wasm_vector.inl"

// Adds four products to each lane. Activations are signed. Codes have 7 bits; the machine decides
// what 8 bits mean.
inline I dot_i8(I acts, I codes, I sum) {
  return as<I>(
      wasm_i32x4_relaxed_dot_i8x16_i7x16_add(as<v128_t>(acts), as<v128_t>(codes), as<v128_t>(sum)));
}

#include "kernels/full_dot.inl"

// For machines that take the second operand as signed: 8-bit codes are made signed weights, which
// have no bias.
struct SignedDot : FullDot<8> {
  static Codes codes(I word) { return as<I>(as<U>(word) ^ kept<0x80808080u>()); }
  static Sum start(I) { return I{}; }
};

// For machines that add pairs of products with saturation (pmaddubsw). They take 8-bit codes as
// unsigned; the sums of PairDot don't saturate.
inline H multiply_pairs(I codes, I acts) {
  return as<H>(wasm_i16x8_relaxed_dot_i8x16_i7x16(as<v128_t>(acts), as<v128_t>(codes)));
}
template <int16_t kFactor>
inline I add_pairs(H sums) {
  return dot_i16(sums, as<H>(kept<kFactor * 0x00010001u>()));
}

#include "kernels/pair_dot.inl"

struct Tiles {
  static constexpr int kTokens = 2;
  static constexpr int kDirectTokens = 1;
  static constexpr int vectors(int) { return 4; }
};
struct UnsignedDots : Tiles {
  template <int kBits>
  using Dot = FullDot<kBits>;
};
template <int kBits>
struct SignedOr {
  using Dot = FullDot<kBits>;
};
template <>
struct SignedOr<8> {
  using Dot = SignedDot;
};
struct SignedDots : Tiles {
  template <int kBits>
  using Dot = typename SignedOr<kBits>::Dot;
};
struct PairDots : Tiles {
  template <int kBits>
  using Dot = PairDot<kBits>;
};

#include "kernels/formats.inl"
//
#include "kernels/products.inl"

// The value of 4 * 127 * (the byte 0xff) shows which instruction the browser uses: sdot (arm64,
// AVX-VNNI-INT8), vpdpbusd (AVX-VNNI) or pmaddubsw (other x86).
Kernels probed() {
  const I bytes = splat(0x7f7f7f7f);
  volatile int32_t ones = -1;  // keeps the compiler from computing the sum itself
  const int32_t sum = dot_i8(bytes, splat(ones), I{})[0];
  if (sum == 4 * 127 * -1) return with_dots<SignedDots>(kWasmSimd);
  if (sum == 4 * 127 * 255) return with_dots<UnsignedDots>(kWasmSimd);
  return with_dots<PairDots>(kWasmSimd);
}

}  // namespace

const Kernels& wasm_relaxed_kernels() {
  static const Kernels kKernels = [] {
    Kernels kernels = probed();
    kernels.name = "wasm-relaxed";
    if (!gemm_is_exact(kernels)) kernels.gemm = kWasmSimd.gemm;
    if (!direct_is_exact(kernels)) kernels.direct = kWasmSimd.direct;
    return kernels;
  }();
  return kKernels;
}

}  // namespace sluice
