// Shared by the parity checks: random data that includes extremes, and scalar definitions after
// kernels.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "parity.h"

namespace sluice::parity {

using Floats = std::vector<float>;
using ByteVector = std::vector<uint8_t>;

// ---- Random data that includes extremes --------------------------------------------------------

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t bits() { return static_cast<uint32_t>(engine_()); }
  int below(int n) { return static_cast<int>(bits() % static_cast<uint32_t>(n)); }
  float uniform() { return static_cast<float>(bits() >> 8) * 0x1p-23f - 1.0f; }  // -1..1

  // A finite half: mostly of ordinary size, some subnormal, some zero.
  uint16_t half() {
    const uint32_t fraction = bits() & 0x83ffu;
    const int kind = below(8);
    if (kind == 0) return static_cast<uint16_t>(fraction);  // subnormal
    if (kind == 1) return 0;
    return static_cast<uint16_t>(fraction | static_cast<uint32_t>(4 + below(14)) << 10);
  }

  // Activations: ordinary blocks, zeros, outliers, tiny and subnormal blocks.
  Floats activations(int64_t n) {
    Floats x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) {
      static constexpr float kSizes[] = {1, 1, 1, 30, 0, 1e-3f, 1e-38f, 1e-41f};
      if (i % 32 == 0) size_ = kSizes[below(8)];
      x[i] = uniform() * size_ * (below(50) == 0 ? 20.0f : 1.0f);
    }
    return x;
  }

 private:
  std::mt19937 engine_;
  float size_ = 1;
};

inline void put_half(uint8_t* p, uint16_t half) { std::memcpy(p, &half, 2); }
// ---- Scalar definitions ------------------------------------------------------------------------

inline float fold(float lanes[16], float (*combine)(float, float)) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}
inline float plus(float a, float b) { return a + b; }
inline float larger(float a, float b) { return a < b ? b : a; }

// Reduces value(0), value(1), .. over 16 virtual lanes.
inline float reduce(int64_t n, float start, float (*combine)(float, float),
                    const std::function<float(int64_t)>& value) {
  float lanes[16];
  std::fill_n(lanes, 16, start);
  for (int64_t i = 0; i < n; ++i) lanes[i % 16] = combine(lanes[i % 16], value(i));
  return fold(lanes, combine);
}

// Quantizes a block as activations are quantized; returns the scale.
inline float round_block(const float* x, int64_t n, int8_t* q) {
  float padded[32] = {};
  std::copy_n(x, n, padded);
  int8_t rounded[32];
  float d = 0;
  reference_quantize(padded, 32, rounded, &d);
  std::copy_n(rounded, n, q);
  return d;
}
void check_store(const Kernels& kernels, Report& report);
void check_attend(const Kernels& kernels, Report& report);
void check_attend_window(const Kernels& kernels, Report& report);

}  // namespace sluice::parity
