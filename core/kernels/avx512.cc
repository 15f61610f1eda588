// The table for x86-64 with AVX-512 VNNI: a vector holds the 16 rows of a strip.
#if !defined(__clang__)  // g++ 12 warns of its own _mm512_undefined_ps and its like
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
inline void store_i8(int8_t* p, I x) { store(p, _mm512_cvtepi32_epi8(as<__m512i>(x))); }

// vpdpbusd adds four products of unsigned codes and signed activations exactly; the activations are
// its operand in memory, broadcast on the way.
template <int kBits>
struct ByteDot {
  using Codes = I;
  using Acts = I;
  using Sum = I;
  static constexpr bool kDigits = false;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* q) { return splat_word(q); }
  static Sum start(int32_t bias_sum) { return splat(bias_sum); }
  static void step(Sum& sum, Codes c, Acts a) {
    sum = as<I>(_mm512_dpbusd_epi32(as<__m512i>(sum), as<__m512i>(c), as<__m512i>(a)));
  }
  static void flush(Sum&) {}
  static I total(Sum sum, int32_t) { return sum; }
};

struct Dots {
  template <int kBits>
  using Dot = ByteDot<kBits>;
  static constexpr int kTokens = 8;
  static constexpr int kDirectTokens = 4;
  static constexpr int vectors(int) { return 1; }
};

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
