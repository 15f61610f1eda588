#include "quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace sluice {
namespace {

// The integer in low..high that is nearest to v; low for NaN.
int nearest(float v, int low, int high) {
  if (!(v > static_cast<float>(low))) return low;
  if (v >= static_cast<float>(high)) return high;
  return static_cast<int>(std::floor(v + 0.5f));
}

float inverse(float d) { return d != 0.0f ? 1.0f / d : 0.0f; }

void store_u16(uint8_t* p, uint16_t value) { std::memcpy(p, &value, sizeof value); }

// Writes d as f16 and returns the value that a reader gets.
float store_half(uint8_t* p, float d) {
  const uint16_t half = f32_to_f16(d);
  store_u16(p, half);
  return f16_to_f32(half);
}

// The value of the largest magnitude, with its sign.
float signed_max(const float* x, int n) {
  float max = 0.0f;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(max)) max = x[i];
  }
  return max;
}

// Stores 32 codes as the types before the K types do: if kFive the fifth bits, then the nibbles.
template <bool kFive>
void store_codes(const int* codes, uint8_t* out) {
  if constexpr (kFive) {
    uint32_t fifth = 0;
    for (int i = 0; i < 32; ++i) fifth |= static_cast<uint32_t>(codes[i] >> 4) << i;
    std::memcpy(out, &fifth, 4);
    out += 4;
  }
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  }
}

// Q4_0 and Q5_0: the value of the largest magnitude gets the code 0.
template <bool kFive>
void quantize_symmetric(const float* x, int64_t n, uint8_t* row) {
  constexpr int kHalf = kFive ? 16 : 8;
  for (int64_t b = 0; b < n / 32; ++b, x += 32, row += kFive ? 22 : 18) {
    const float d = signed_max(x, 32) / -static_cast<float>(kHalf);
    const float id = inverse(d);
    int codes[32];
    for (int i = 0; i < 32; ++i) codes[i] = nearest(x[i] * id + kHalf, 0, 2 * kHalf - 1);
    store_half(row, d);
    store_codes<kFive>(codes, row + 2);
  }
}

// Q4_1 and Q5_1: codes from the smallest value to the largest.
template <bool kFive>
void quantize_with_min(const float* x, int64_t n, uint8_t* row) {
  constexpr int kMax = kFive ? 31 : 15;
  for (int64_t b = 0; b < n / 32; ++b, x += 32, row += kFive ? 24 : 20) {
    const auto [min, max] = std::minmax_element(x, x + 32);
    const float d = (*max - *min) / kMax;
    const float id = inverse(d);
    int codes[32];
    for (int i = 0; i < 32; ++i) codes[i] = nearest((x[i] - *min) * id, 0, kMax);
    store_half(row, d);
    store_half(row + 2, *min);
    store_codes<kFive>(codes, row + 4);
  }
}

struct ScaleMin {
  float scale;  // >= 0
  float min;    // <= 0
};

// Searches scale and min for 32 values with codes 0..n_max. It rounds the values in several ways,
// fits scale and min to each by least squares, and takes the fit with the smallest squared error,
// weighted by magnitude.
ScaleMin search_scale_min(const float* x, int n_max) {
  const auto [low, high] = std::minmax_element(x, x + 32);
  const float start_min = std::min(0.0f, *low);
  const float range = *high - start_min;
  if (!(range > 0.0f)) return {0.0f, start_min};
  ScaleMin best{range / static_cast<float>(n_max), start_min};
  float best_error = -1.0f;
  for (int step = -5; step <= 5; ++step) {
    const float id = (static_cast<float>(n_max) + 0.2f * static_cast<float>(step)) / range;
    float w_sum = 0, wx = 0, wl = 0, wll = 0, wlx = 0;
    int codes[32];
    for (int i = 0; i < 32; ++i) {
      codes[i] = nearest((x[i] - start_min) * id, 0, n_max);
      const float l = static_cast<float>(codes[i]);
      const float w = range * 0.1f + std::fabs(x[i]);
      w_sum += w, wx += w * x[i], wl += w * l, wll += w * l * l, wlx += w * l * x[i];
    }
    const float determinant = w_sum * wll - wl * wl;
    if (!(determinant > 0.0f)) continue;
    ScaleMin fit{(w_sum * wlx - wx * wl) / determinant, (wll * wx - wl * wlx) / determinant};
    if (fit.min > 0.0f) fit = {wlx / wll, 0.0f};
    if (!(fit.scale > 0.0f)) continue;
    float error = 0;
    for (int i = 0; i < 32; ++i) {
      const float off = fit.scale * static_cast<float>(codes[i]) + fit.min - x[i];
      error += (range * 0.1f + std::fabs(x[i])) * off * off;
    }
    if (best_error < 0.0f || error < best_error) {
      best = fit;
      best_error = error;
    }
  }
  return best;
}

// Q4_K and Q5_K.
template <bool kFive>
void quantize_q45_k(const float* x, int64_t n, uint8_t* row) {
  constexpr int kMax = kFive ? 31 : 15;
  for (int64_t b = 0; b < n / 256; ++b, x += 256) {
    ScaleMin groups[8];
    float max_scale = 0, max_min = 0;
    for (int j = 0; j < 8; ++j) {
      groups[j] = search_scale_min(x + 32 * j, kMax);
      max_scale = std::max(max_scale, groups[j].scale);
      max_min = std::max(max_min, -groups[j].min);
    }
    const float d = store_half(row, max_scale / 63);
    const float dmin = store_half(row + 2, max_min / 63);
    uint8_t* six = row + 4;
    uint8_t* fifth = row + 16;
    uint8_t* nibbles = fifth + (kFive ? 32 : 0);
    std::memset(six, 0, 12);
    if constexpr (kFive) std::memset(fifth, 0, 32);
    for (int j = 0; j < 8; ++j) {
      const int scale = nearest(groups[j].scale * inverse(d), 0, 63);
      const int min = nearest(-groups[j].min * inverse(dmin), 0, 63);
      if (j < 4) {
        six[j] |= static_cast<uint8_t>(scale);
        six[j + 4] |= static_cast<uint8_t>(min);
      } else {
        six[j + 4] |= static_cast<uint8_t>((scale & 15) | (min & 15) << 4);
        six[j - 4] |= static_cast<uint8_t>(scale >> 4 << 6);
        six[j] |= static_cast<uint8_t>(min >> 4 << 6);
      }
      const float id = inverse(d * static_cast<float>(scale));
      const float offset = dmin * static_cast<float>(min);
      for (int i = 0; i < 32; ++i) {
        const int code = nearest((x[32 * j + i] + offset) * id, 0, kMax);
        uint8_t& byte = nibbles[j / 2 * 32 + i];
        byte = static_cast<uint8_t>(j % 2 == 0 ? code & 15 : byte | (code & 15) << 4);
        if constexpr (kFive) fifth[i] |= static_cast<uint8_t>(code >> 4 << j);
      }
    }
    row = nibbles + 128;
  }
}

// Searches a signed scale for 16 values with codes -32..31, in the same way.
float search_scale(const float* x) {
  const float max = signed_max(x, 16);
  if (!(std::fabs(max) > 1e-30f)) return 0.0f;
  float best = max / -32.0f;
  float best_gain = 0.0f;
  for (int step = -9; step <= 9; ++step) {
    const float id = -(32.0f + 0.1f * static_cast<float>(step)) / max;
    float wlx = 0, wll = 0;
    for (int i = 0; i < 16; ++i) {
      const float l = static_cast<float>(nearest(x[i] * id, -32, 31));
      const float w = x[i] * x[i];
      wlx += w * x[i] * l, wll += w * l * l;
    }
    // With the best scale for these codes, wlx / wll, the error falls by wlx^2 / wll.
    if (wll > 0.0f && wlx * wlx > best_gain * wll) {
      best_gain = wlx * wlx / wll;
      best = wlx / wll;
    }
  }
  return best;
}

void quantize_f32(const float* values, int64_t n, uint8_t* row) {
  std::memcpy(row, values, static_cast<size_t>(n) * sizeof(float));
}

void quantize_f16(const float* values, int64_t n, uint8_t* row) {
  for (int64_t i = 0; i < n; ++i) store_u16(row + 2 * i, f32_to_f16(values[i]));
}

void quantize_bf16(const float* values, int64_t n, uint8_t* row) {
  for (int64_t i = 0; i < n; ++i) store_u16(row + 2 * i, f32_to_bf16(values[i]));
}

void quantize_q8_0(const float* values, int64_t n, uint8_t* row) {
  for (int64_t b = 0; b < n / 32; ++b, values += 32, row += 34) {
    const float d = std::fabs(signed_max(values, 32)) / 127.0f;
    const float id = inverse(d);
    store_half(row, d);
    for (int i = 0; i < 32; ++i) {
      // Rounds halves away from zero, as llama.cpp does.
      const float scaled = values[i] * id;
      const int magnitude = nearest(std::fabs(scaled), 0, 127);
      row[2 + i] = static_cast<uint8_t>(scaled < 0.0f ? -magnitude : magnitude);
    }
  }
}

void quantize_q6_k(const float* values, int64_t n, uint8_t* row) {
  for (int64_t b = 0; b < n / 256; ++b, values += 256, row += 210) {
    float scales[16];
    for (int j = 0; j < 16; ++j) scales[j] = search_scale(values + 16 * j);
    const float d = store_half(row + 208, signed_max(scales, 16) / -128.0f);
    int codes[256];
    for (int j = 0; j < 16; ++j) {
      const int scale = nearest(scales[j] * inverse(d), -128, 127);
      row[192 + j] = static_cast<uint8_t>(scale);
      const float id = inverse(d * static_cast<float>(scale));
      for (int i = 16 * j; i < 16 * j + 16; ++i) codes[i] = nearest(values[i] * id, -32, 31) + 32;
    }
    for (int half = 0; half < 2; ++half) {
      const int* c = codes + 128 * half;
      for (int i = 0; i < 64; ++i) {
        row[64 * half + i] = static_cast<uint8_t>((c[i] & 15) | (c[i + 64] & 15) << 4);
      }
      for (int i = 0; i < 32; ++i) {
        row[128 + 32 * half + i] = static_cast<uint8_t>(c[i] >> 4 | c[i + 32] >> 4 << 2 |
                                                        c[i + 64] >> 4 << 4 | c[i + 96] >> 4 << 6);
      }
    }
  }
}

}  // namespace

Quantize* quantizer(Type type) {
  switch (type) {
    case Type::F32:
      return quantize_f32;
    case Type::F16:
      return quantize_f16;
    case Type::BF16:
      return quantize_bf16;
    case Type::Q4_0:
      return quantize_symmetric<false>;
    case Type::Q4_1:
      return quantize_with_min<false>;
    case Type::Q5_0:
      return quantize_symmetric<true>;
    case Type::Q5_1:
      return quantize_with_min<true>;
    case Type::Q8_0:
      return quantize_q8_0;
    case Type::Q4_K:
      return quantize_q45_k<false>;
    case Type::Q5_K:
      return quantize_q45_k<true>;
    case Type::Q6_K:
      return quantize_q6_k;
    default:
      return nullptr;
  }
}

}  // namespace sluice
