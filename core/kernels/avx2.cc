// The table for x86-64 with AVX2 and F16C: 8 rows a vector. No FMA: the sums of every table round
// the same.
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
// sum + products, now: g++ would gather the additions of a block at its end, and spill.
inline void add_now(H& sum, H products) {
  sum = sum + products;
  asm("" : "+x"(sum));
}
inline I add_pairs(H sums, int16_t factor) {
  return as<I>(_mm256_madd_epi16(as<__m256i>(sums), _mm256_set1_epi16(factor)));
}

// Codes below 2^kBits: pairs of products in 16-bit lanes, as many as stay below 2^15.
template <int kBits>
struct BytePairs {
  using Codes = I;
  using Acts = I;
  struct Sum {
    H part;
    I total;
  };
  static constexpr bool kDigits = false;
  static constexpr int kFlush = kBits == 4 ? 8 : kBits == 5 ? 4 : 2;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* q, int column) { return splat_word(q + column); }
  static Sum start(I) { return {H{}, I{}}; }
  static void step(Sum& sum, Codes c, Acts a) { add_now(sum.part, multiply_pairs(c, a)); }
  static void flush(Sum& sum) {
    sum.total = sum.total + add_pairs(sum.part, 1);
    sum.part = H{};
  }
  static I total(Sum sum, I bias_sum) {
    flush(sum);
    return sum.total + bias_sum;
  }
};

// 8-bit codes: the activations' digits of -8..8 keep eight sums of pairs, 2 * 255 * 8 each, in 16
// bits.
template <>
struct BytePairs<8> {
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
    add_now(sum.high, multiply_pairs(c, a.high));
    add_now(sum.low, multiply_pairs(c, a.low));
  }
  static void flush(Sum&) {}
  static I total(const Sum& sum, I bias_sum) {
    return add_pairs(sum.high, 16) + add_pairs(sum.low, 1) + bias_sum;
  }
};

struct Dots {
  template <int kBits>
  using Dot = BytePairs<kBits>;
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
