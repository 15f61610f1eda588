#include "base/math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace sluice {

// e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln(2)/2. Adding 1.5 * 2^23 rounds to an integer
// in the low bits. n * ln 2 is subtracted in two parts; the first is exact for every n. The
// polynomial interpolates (e^r - 1 - r) / r^2 at Chebyshev nodes (error 1e-8 of e^r).
float exp_f32(float x) {
  if (x < -87.3f) return 0.0f;
  if (x > 88.37f) return std::numeric_limits<float>::infinity();
  const float magic = 0x1.8p23f;
  const float t = x * 0x1.715476p+0f + magic;
  const float n = t - magic;
  float r = x - n * 0x1.62ep-1f;
  r = r - n * 0x1.0bfbe8p-15f;
  float p = 0x1.6d117cp-10f;
  p = p * r + 0x1.120be2p-7f;
  p = p * r + 0x1.555518p-5f;
  p = p * r + 0x1.5554dcp-3f;
  p = p * r + 0.5f;
  const float e = (p * (r * r) + r) + 1.0f;
  const uint32_t exponent = std::bit_cast<uint32_t>(t) - std::bit_cast<uint32_t>(magic);
  return e * std::bit_cast<float>((exponent + 127u) << 23);
}

// tanh a = (1 - e) / (1 + e), e = e^(-2a), in double: what 1 - e loses is beyond f32 where the
// first terms of the series don't suffice.
float tanh_f32(float x) {
  const double a = x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
  if (a > 9.1) return x < 0 ? -1.0f : 1.0f;
  if (a < 0x1p-12) return static_cast<float>(x * (1.0 - a * a / 3.0));
  const double magic = 0x1.8p52;
  const double t = -2.0 * a * 0x1.71547652b82fep+0 + magic;
  const double n = t - magic;
  const double r = -2.0 * a - n * 0x1.62e42fefa39efp-1;
  // Taylor's series: the next term is below 1e-12.
  double p = 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const uint64_t exponent = std::bit_cast<uint64_t>(t) - std::bit_cast<uint64_t>(magic);
  const double e = p * std::bit_cast<double>((exponent + 1023u) << 52);
  const double tanh = (1.0 - e) / (1.0 + e);
  return static_cast<float>(x < 0 ? -tanh : tanh);
}

float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

float softplus_f32(float x) {
  return x > 20.0f ? x : static_cast<float>(log_f64(1.0 + static_cast<double>(exp_f32(x))));
}

double exp_f64(double x) {
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  const double magic = 0x1.8p52;
  const double t = x * 0x1.71547652b82fep+0 + magic;
  const double n = t - magic;
  double r = x - n * 0x1.62e42fefp-1;
  r = r - n * 0x1.473de6af278edp-34;
  // Taylor's series, 14 terms: the next is below 1e-17.
  double p = 1.0;
  for (int k = 13; k >= 1; --k) p = p * r / k + 1.0;
  const uint64_t exponent = std::bit_cast<uint64_t>(t) - std::bit_cast<uint64_t>(magic);
  return p * std::bit_cast<double>((exponent + 1023u) << 52);
}

double log_f64(double x) {
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  if (!(x > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == std::numeric_limits<double>::infinity()) return x;
  int exponent = 0;
  if (x < 0x1p-1022) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 0x1.6a09e667f3bcdp+0) {  // keeps m between sqrt(1/2) and sqrt(2)
    m *= 0.5;
    ++exponent;
  }
  // log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172.
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double p = 0.0;
  for (int k = 23; k >= 1; k -= 2) p = p * square + 1.0 / k;
  return exponent * 0x1.62e42fefa39efp-1 + 2.0 * s * p;
}

double pow_f64(double base, double exponent) { return exp_f64(exponent * log_f64(base)); }

namespace {

// sin(x) for offset 0, cos(x) for offset 1. r = x - n * pi/2 is computed with pi/2 in three parts.
double sine(double x, int offset) {
  const double magic = 0x1.8p52;
  const double t = x * 0x1.45f306dc9c883p-1 + magic;  // 2 / pi
  const double n = t - magic;
  double r = x - n * 0x1.921fb544p+0;
  r = r - n * 0x1.0b4611a6p-34;
  r = r - n * 0x1.3198a2e037073p-69;
  const uint64_t quadrant = (std::bit_cast<uint64_t>(t) + static_cast<uint64_t>(offset)) & 3u;
  // Taylor's series on |r| <= pi/4.
  const double square = r * r;
  double p = 1.0;
  if (quadrant & 1u) {
    for (int k = 18; k >= 2; k -= 2) p = 1.0 - p * square / (k * (k - 1));
  } else {
    for (int k = 19; k >= 3; k -= 2) p = 1.0 - p * square / (k * (k - 1));
    p = p * r;
  }
  return quadrant & 2u ? -p : p;
}

}  // namespace

double sin_f64(double x) { return sine(x, 0); }
double cos_f64(double x) { return sine(x, 1); }

}  // namespace sluice
