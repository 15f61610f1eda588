// The table for wasm with relaxed SIMD: products of its own, the rest is wasm_simd.cc's. What its
// dot instructions do with operands past 7 bits is the machine's choice, so it is probed at start,
// and each kernel is tried against the oracle before use.
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

// Four products a lane: signed activations, codes of 7 bits (8 where the machine takes them so).
inline I dot_i8(I acts, I codes, I sum) {
  return as<I>(
      wasm_i32x4_relaxed_dot_i8x16_i7x16_add(as<v128_t>(acts), as<v128_t>(codes), as<v128_t>(sum)));
}

#include "kernels/full_dot.inl"

// Where the second operand is signed, too: 8-bit codes become weights, without a bias.
struct SignedDot : FullDot<8> {
  static Codes codes(I word) { return as<I>(as<U>(word) ^ kept<0x80808080u>()); }
  static Sum start(I) { return I{}; }
};

// Machines that add pairs of products with saturation (pmaddubsw): 16-bit sums, for codes of 7
// bits.
inline H dot_pairs(I acts, I codes) {
  return as<H>(wasm_i16x8_relaxed_dot_i8x16_i7x16(as<v128_t>(acts), as<v128_t>(codes)));
}

// sum + products, now: LLVM would keep a block's products and add them at its end, from the stack.
inline void add_now(H& sum, H products) {
  sum = sum + products;
  asm("" : "+r"(sum));
}

template <int kBits>
struct PairDot {
  using Codes = I;
  using Acts = I;
  struct Sum {
    H part;
    I total;
  };
  static constexpr bool kDigits = false;
  static constexpr int kFlush = PortableDot<kBits>::kFlush;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* q, int column) { return splat_word(q + column); }
  static Sum start(I) { return {H{}, I{}}; }
  static void step(Sum& sum, Codes c, Acts a) { add_now(sum.part, dot_pairs(a, c)); }
  static void flush(Sum& sum) {
    sum.total = sum.total + dot_i16(sum.part, as<H>(kept<0x00010001u>()));
    sum.part = H{};
  }
  static I total(Sum sum, I bias_sum) {
    flush(sum);
    return sum.total + bias_sum;
  }
};

// 8-bit codes: the activations' digits of -8..8 keep eight sums of pairs, 2 * 255 * 8 each, in 16
// bits. pmaddubsw takes the codes as unsigned; nothing saturates.
template <>
struct PairDot<8> {
  using Codes = I;
  struct Acts {
    I high, low;
  };
  struct Sum {
    H high, low;
  };
  static constexpr bool kDigits = true;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* digits, int column) {
    return {splat_word(digits + column), splat_word(digits + 32 + column)};
  }
  static Sum start(I) { return {H{}, H{}}; }
  static void step(Sum& sum, Codes c, const Acts& a) {
    add_now(sum.high, dot_pairs(a.high, c));
    add_now(sum.low, dot_pairs(a.low, c));
  }
  static void flush(Sum&) {}
  static I total(const Sum& sum, I bias_sum) {
    return dot_i16(sum.high, as<H>(kept<0x00100010u>())) +
           dot_i16(sum.low, as<H>(kept<0x00010001u>())) + bias_sum;
  }
};

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

#include "kernels/sources.inl"
//
#include "kernels/products.inl"

// What 4 * 127 * (the byte 0xff) comes to tells the lowerings apart: sdot (arm64, AVX-VNNI-INT8),
// vpdpbusd (AVX-VNNI), pmaddubsw (other x86).
Kernels probed() {
  const I bytes = splat(0x7f7f7f7f);
  volatile int32_t ones = -1;  // keeps the compiler from computing it its own way
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
