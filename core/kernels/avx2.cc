// The table for x86-64 with AVX2 and F16C: 8 rows a vector. It doesn't use FMA, so that its sums
// round as those of every other table.
#include <immintrin.h>
#include <string.h>

#include "kernels/kernels.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {
namespace {

constexpr int kVectorBytes = 32;

#include "kernels/vector.inl"
//
#include "kernels/avx2_vector.inl"

inline H multiply_pairs(I codes, I acts) {
  return as<H>(_mm256_maddubs_epi16(as<__m256i>(codes), as<__m256i>(acts)));
}
template <int16_t kFactor>
inline I add_pairs(H sums) {
  return as<I>(_mm256_madd_epi16(as<__m256i>(sums), _mm256_set1_epi16(kFactor)));
}

#include "kernels/pair_dot.inl"

struct Dots {
  template <int kBits>
  using Dot = PairDot<kBits>;
  static constexpr int kTokens = 4;
  static constexpr int kDirectTokens = 4;
  static constexpr int vectors(int) { return 2; }
};

#include "kernels/body.inl"

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

}  // namespace

extern const Kernels kAvx2;
constexpr Kernels kAvx2 = make_table<Dots>("avx2", supported);

}  // namespace sluice
