#include "ops/rope.h"

#include <cmath>

#include "base/math.h"

namespace sluice {

void RopeTable::configure(int64_t dims, double base, double scale, const float* factors) {
  theta_.resize(static_cast<size_t>(dims / 2));
  for (size_t i = 0; i < theta_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dims);
    theta_[i] = pow_f64(base, exponent) / scale;
    if (factors != nullptr) theta_[i] /= static_cast<double>(factors[i]);
  }
}

Status RopeTable::fill(int64_t first, int64_t n_tokens) {
  const uint64_t bytes = 4 * static_cast<uint64_t>(n_tokens) * theta_.size();
  if (cos_.size() < bytes) {
    SLUICE_ASSIGN(cos_, AlignedBuffer::allocate_uninitialized(bytes, "the position table"));
    SLUICE_ASSIGN(sin_, AlignedBuffer::allocate_uninitialized(bytes, "the position table"));
  }
  float* cos_out = cos_.as<float>();
  float* sin_out = sin_.as<float>();
  bool small = true;
  for (int64_t t = 0; t < n_tokens; ++t) {
    const auto position = static_cast<double>(first + t);
    for (const double theta : theta_) {
      const double cos = cos_f64(position * theta);
      const double sin = sin_f64(position * theta);
      small = small && std::abs(cos) < 2 && std::abs(sin) < 2;
      *cos_out++ = static_cast<float>(cos);
      *sin_out++ = static_cast<float>(sin);
    }
  }
  if (!small) {
    return fail(Code::bad_file,
                "the file's numbers for RoPE (rope.freq_base, rope.scaling.factor, "
                "rope_freqs.weight) give angles that are too large at position ",
                first + n_tokens - 1, "; the file is damaged: download or convert it again");
  }
  return {};
}

}  // namespace sluice
