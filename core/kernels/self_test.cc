#include "kernels/self_test.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sluice {
namespace {

constexpr int64_t kCols = 256;
constexpr int kTokens = 3;  // one tile of 2 and one of 1, which are wasm's sizes

// Sixteen rows of a type and kTokens rows of quantized activations. Their bytes are pseudo-random,
// often extreme; the f16 scales and mins are 1/16.
struct Sample {
  explicit Sample(const TypeTraits& t)
      : q(kCols * kTokens),
        digits(2 * q.size()),
        d(q.size() / 32, 0.5f),
        ds(d),
        sums(q.size() / 16) {
    uint32_t seed = 1;
    const auto byte = [&]() -> uint8_t {
      seed = seed * 1664525u + 1013904223u;
      static constexpr uint8_t kExtremes[] = {0x00, 0x80, 0xff, 0x7f};
      return (seed >> 16 & 1u) != 0 ? static_cast<uint8_t>(seed >> 24) : kExtremes[seed >> 30];
    };
    row_size = static_cast<size_t>(row_bytes(t, kCols));
    rows.resize(16 * row_size);
    for (uint8_t& b : rows) b = byte();
    const uint16_t scale = 0x2c00;
    for (size_t at = 0; at < rows.size(); at += t.block_bytes) {
      std::memcpy(&rows[at + static_cast<size_t>(t.d)], &scale, 2);
      if (t.has_min) std::memcpy(&rows[at + static_cast<size_t>(t.min)], &scale, 2);
    }
    for (size_t i = 0; i < q.size(); ++i) {
      q[i] = std::max<int8_t>(static_cast<int8_t>(byte()), -127);
      sums[i / 16] += q[i];
      int8_t* both = &digits[i / 32 * 64 + i % 32];
      both[0] = static_cast<int8_t>((q[i] + 8) >> 4);
      both[32] = static_cast<int8_t>(q[i] - 16 * both[0]);
    }
    for (size_t b = 0; b < d.size(); ++b) {
      ds[b] = d[b] * static_cast<float>(sums[2 * b] + sums[2 * b + 1]);
    }
  }

  Acts acts() const { return {q.data(), digits.data(), d.data(), ds.data(), sums.data(), kCols}; }

  bool matches(Type type, const std::vector<float>& out) const {
    for (size_t t = 0; t < kTokens; ++t) {
      for (size_t r = 0; r < 16; ++r) {
        const float want =
            reference_dot(type, &rows[r * row_size], kCols, {&q[t * kCols], &d[t * kCols / 32]});
        if (std::memcmp(&want, &out[t * 16 + r], sizeof want) != 0) return false;
      }
    }
    return true;
  }

  size_t row_size = 0;
  std::vector<uint8_t> rows;
  std::vector<int8_t> q, digits;
  std::vector<float> d, ds;
  std::vector<int32_t> sums;
};

}  // namespace

bool gemm_is_exact(const Kernels& kernels) {
  for (const TypeTraits& t : kTypes) {
    if (t.group == 0) continue;
    const Sample sample(t);
    alignas(64) static uint8_t codes[kCols * 16];
    alignas(64) static float scales[kCols];
    alignas(64) static float mins[kCols];
    Panel panel{};
    panel.codes = codes;
    panel.scales = scales;
    panel.mins = mins;
    unpack_rows(t.type, sample.rows.data(), 16, kCols, panel);
    std::vector<float> out(16 * kTokens);
    kernels.gemm(panel, sample.acts(), kTokens, out.data(), 16);
    if (!sample.matches(t.type, out)) return false;
  }
  return true;
}

bool direct_is_exact(const Kernels& kernels) {
  for (const TypeTraits& t : kTypes) {
    if (t.group == 0) continue;
    const Sample sample(t);
    std::vector<uint8_t> strip(sample.rows.size());
    pack_strip(t.type, sample.rows.data(), kCols, strip.data());
    std::vector<float> out(16 * kTokens);
    kernels.direct(t.type, strip.data(), sample.acts(), kTokens, out.data(), 16);
    if (!sample.matches(t.type, out)) return false;
  }
  return true;
}

}  // namespace sluice
