// The table for x86-64 with AVX-VNNI but without AVX-512: 8 rows a vector. The tests compile it a
// second time with SLUICE_EVEX, which takes AVX-512's encoding of the same instruction. So machines
// without AVX-VNNI can test it.
#include <immintrin.h>
#include <string.h>

#include "kernels/kernels.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

#if defined(SLUICE_EVEX)
#define SLUICE_TABLE kAvxVnniEvex
#define SLUICE_NAME "avxvnni_evex"
#define SLUICE_FEATURE "avx512vnni"
#define SLUICE_DPBUSD _mm256_dpbusd_epi32
#else
#define SLUICE_TABLE kAvxVnni
#define SLUICE_NAME "avxvnni"
#define SLUICE_FEATURE "avxvnni"
#define SLUICE_DPBUSD _mm256_dpbusd_avx_epi32
#endif

namespace sluice {
namespace {

constexpr int kVectorBytes = 32;

#include "kernels/vector.inl"
//
#include "kernels/avx2_vector.inl"

inline I dot_i8(I acts, I codes, I sum) {
  return as<I>(SLUICE_DPBUSD(as<__m256i>(sum), as<__m256i>(codes), as<__m256i>(acts)));
}

#include "kernels/full_dot.inl"

struct Dots {
  template <int kBits>
  using Dot = FullDot<kBits>;
  static constexpr int kTokens = 4;
  static constexpr int kDirectTokens = 4;
  static constexpr int vectors(int) { return 2; }
};

#include "kernels/body.inl"

bool supported() {
  return __builtin_cpu_supports(SLUICE_FEATURE) && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("f16c");
}

}  // namespace

extern const Kernels SLUICE_TABLE;
constexpr Kernels SLUICE_TABLE = make_table<Dots>(SLUICE_NAME, supported);

}  // namespace sluice
