// The table for x86-64 with AVX-512 VNNI: a vector holds the 16 rows of a strip.
#if !defined(__clang__)  // g++ 12 warns about its own _mm512_undefined_ps and others
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>
#include <string.h>

#include "kernels/kernels.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {
namespace {

constexpr int kVectorBytes = 64;

#include "kernels/vector.inl"

inline F load_f16(const uint8_t* p) { return as<F>(_mm512_cvtph_ps(load<__m256i>(p))); }
inline void store_f16(uint8_t* p, F x) {
  store(p, _mm512_cvtps_ph(as<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
}

inline I load_i16(const uint8_t* p) { return as<I>(_mm512_cvtepi16_epi32(load<__m256i>(p))); }
inline I load_i8(const uint8_t* p) { return as<I>(_mm512_cvtepi8_epi32(load<__m128i>(p))); }
inline void store_i8(int8_t* p, const I (&x)[kVectors]) {
  store(p, _mm512_cvtepi32_epi8(as<__m512i>(x[0])));
}

inline U look_up(const uint8_t* table, U bytes) {
  const __m512i four = _mm512_broadcast_i32x4(load<__m128i>(table));
  return as<U>(_mm512_shuffle_epi8(four, as<__m512i>(bytes)));
}

// The activations are vpdpbusd's memory operand, which it broadcasts.
inline I dot_i8(I acts, I codes, I sum) {
  return as<I>(_mm512_dpbusd_epi32(as<__m512i>(sum), as<__m512i>(codes), as<__m512i>(acts)));
}

#include "kernels/full_dot.inl"

struct Dots {
  template <int kBits>
  using Dot = FullDot<kBits>;
  static constexpr int kTokens = 8;
  static constexpr int kDirectTokens = 4;
  static constexpr int vectors(int) { return 1; }
};

// The cache's halves.
constexpr int kHalfVectors = 1;
constexpr float kHalfScale = 1.0f;
inline void load_halves(const uint8_t* p, F* out) { *out = load_f16(p); }
inline void store_halves(uint8_t* p, const F* x) { store_f16(p, *x); }

constexpr int kAttendQueries = 4;
constexpr int attend_vectors(int) { return 4; }

#include "kernels/body.inl"

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("f16c");
}

}  // namespace

extern const Kernels kAvx512;
constexpr Kernels kAvx512 = make_table<Dots>("avx512", supported);

}  // namespace sluice
