// The table for wasm with SIMD128 alone.
#include <string.h>
#include <wasm_simd128.h>

#include "kernels/kernels.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {
namespace {

constexpr int kVectorBytes = 16;

#include "kernels/vector.inl"
//
#include "kernels/wasm_vector.inl"

// Codes below 8 bits are multiplied and summed in 16-bit lanes. 8-bit codes need 32-bit sums.
template <int kBits>
struct WideDot : PortableDot<kBits> {};
template <>
struct WideDot<8> {
  using Codes = PortableDot<6>::Codes;
  using Acts = PortableDot<6>::Acts;
  using Sum = I;
  static constexpr bool kDigits = false;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return PortableDot<6>::codes(word); }
  static Acts acts(const int8_t* q, int column) { return PortableDot<6>::acts(q, column); }
  static Sum start(I bias_sum) { return bias_sum; }
  static void step(Sum& sum, const Codes& c, const Acts& a) {
    sum = sum + (dot_i16(c.even, a.even) + dot_i16(c.odd, a.odd));
    settle(sum);
  }
  static void flush(Sum&) {}
  static I total(Sum sum, I) { return sum; }
};

struct Dots {
  template <int kBits>
  using Dot = WideDot<kBits>;
  static constexpr int kDirectTokens = 1;
#if defined(SLUICE_WASM_RELAXED)  // only a fallback there, so small matters more than fast
  static constexpr int kTokens = 1;
  static constexpr int vectors(int) { return 1; }
#else
  static constexpr int kTokens = 2;
  static constexpr int vectors(int) { return 4; }
#endif
};

#include "kernels/body.inl"

bool supported() { return true; }

}  // namespace

extern const Kernels kWasmSimd;
constexpr Kernels kWasmSimd = make_table<Dots>("wasm-simd", supported);

}  // namespace sluice
