#include <algorithm>
#include <bit>
#include <limits>

#include "quant/quant.h"

namespace sluice {
namespace {

// Rounds to the nearest integer, ties to even, for |x| < 2^22: adding 1.5 * 2^23 leaves no fraction
// bits. Returns 0 if x isn't finite, which is so when the scale was too small to divide by.
int8_t round_to_int8(float x) {
  const float magic = 0x1.8p23f;
  return static_cast<int8_t>(std::bit_cast<int32_t>(x + magic));
}

float absolute(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu); }

}  // namespace

void reference_quantize(const float* x, int64_t n, int8_t* q, float* d) {
  for (int64_t b = 0; b < n / kActBlock; ++b, x += kActBlock, q += kActBlock) {
    float max = 0.0f;
    bool finite = true;
    for (int i = 0; i < kActBlock; ++i) {
      max = max < absolute(x[i]) ? absolute(x[i]) : max;
      finite = finite && absolute(x[i]) <= std::numeric_limits<float>::max();
    }
    d[b] = finite ? max / 127.0f : std::numeric_limits<float>::infinity();
    const float inverse = d[b] > 0.0f ? 1.0f / d[b] : 0.0f;
    for (int i = 0; i < kActBlock; ++i) q[i] = finite ? round_to_int8(x[i] * inverse) : int8_t{0};
  }
}

float reference_dot(Type type, const uint8_t* row, int64_t n, const ReferenceActs& acts) {
  const TypeTraits& t = traits(type);
  uint8_t codes[256];
  float scales[16];
  float mins[16] = {};
  float acc = 0.0f;
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t count = std::min<int64_t>(256, n - begin);
    t.unpack(row + row_bytes(t, static_cast<uint64_t>(begin)), count, codes, scales, mins);
    for (int64_t g = 0; g < count / t.group; ++g) {
      int32_t sum = 0;
      int32_t sum_q = 0;
      for (int64_t i = g * t.group; i < (g + 1) * t.group; ++i) {
        sum += (codes[i] - t.bias) * acts.q[begin + i];
        sum_q += acts.q[begin + i];
      }
      const float d = acts.d[(begin + g * t.group) / kActBlock];
      acc = acc + static_cast<float>(sum) * (scales[g] * d);
      if (t.has_min) acc = acc + mins[g] * (d * static_cast<float>(sum_q));
    }
  }
  return acc;
}

float reference_dot_float(Type type, const uint8_t* row, int64_t n, const float* x) {
  const TypeTraits& t = traits(type);
  float weights[256];
  float acc = 0.0f;
  for (int64_t begin = 0; begin < n; begin += 256) {
    const int64_t count = std::min<int64_t>(256, n - begin);
    t.dequantize(row + row_bytes(t, static_cast<uint64_t>(begin)), count, weights);
    for (int64_t i = 0; i < count; ++i) acc = acc + weights[i] * x[begin + i];
  }
  return acc;
}

}  // namespace sluice
