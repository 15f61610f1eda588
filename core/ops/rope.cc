#include "ops/rope.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/math.h"

namespace sluice {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

// The part of each pair's own frequency that YaRN keeps, from 0 to 1.
class YarnRamp {
 public:
  YarnRamp(const RopeNumbers& numbers, const Yarn& yarn) {
    const auto dims = static_cast<double>(numbers.dims);
    // The pair that turns so many times within the original context; a fraction.
    const auto pair_of = [&](double turns) {
      return dims * log_f64(yarn.original_context / (2 * kPi * turns)) /
             (2 * log_f64(numbers.freq_base));
    };
    low_ = std::max(0.0, std::floor(pair_of(yarn.beta_fast)));
    const double high = std::min(dims - 1, std::ceil(pair_of(yarn.beta_slow)));
    width_ = std::max(0.001, high - low_);
  }
  double kept(size_t pair) const {
    return 1 - std::clamp((static_cast<double>(pair) - low_) / width_, 0.0, 1.0);
  }

 private:
  double low_, width_;
};

}  // namespace

RopeTable::RopeTable(const RopeNumbers& numbers, const float* factors)
    : theta_(static_cast<size_t>(numbers.dims / 2)), magnitude_(numbers.magnitude) {
  std::optional<YarnRamp> ramp;
  if (numbers.yarn) {
    ramp.emplace(numbers, *numbers.yarn);
    magnitude_ *= numbers.yarn->magnitude;
  }
  for (size_t i = 0; i < theta_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(numbers.dims);
    const double own = pow_f64(numbers.freq_base, exponent);
    theta_[i] = own / numbers.scale;
    if (ramp) {
      const double kept = ramp->kept(i);
      theta_[i] = theta_[i] * (1 - kept) + own * kept;
    }
    if (factors != nullptr) theta_[i] /= static_cast<double>(factors[i]);
  }
}

uint64_t RopeTable::bytes(int64_t dims, int64_t positions) {
  return static_cast<uint64_t>((positions + kPieceRows - 1) / kPieceRows * kPieceRows * 4 * dims);
}

uint64_t RopeTable::held_bytes() const {
  return bytes(2 * n_pairs(), static_cast<int64_t>(pieces_.size()) * kPieceRows);
}

Status RopeTable::extend(int64_t end) {
  for (; end_ < end; ++end_) {
    if (end_ / kPieceRows == static_cast<int64_t>(pieces_.size())) {
      SLUICE_ASSIGN(AlignedBuffer piece,
                    AlignedBuffer::allocate_uninitialized(bytes(2 * n_pairs(), kPieceRows),
                                                          "the position table"));
      pieces_.push_back(std::move(piece));
    }
    const auto position = static_cast<double>(end_);
    float* out = row(end_);
    bool small = true;
    for (const double theta : theta_) {
      const double cos = cos_f64(position * theta);
      const double sin = sin_f64(position * theta);
      small = small && std::abs(cos) < 2 && std::abs(sin) < 2;
      out[0] = static_cast<float>(cos * magnitude_);
      out[n_pairs()] = static_cast<float>(sin * magnitude_);
      ++out;
    }
    if (!small) {
      return fail(
          Code::bad_file,
          "the file's numbers for RoPE (rope.freq_base, rope.scaling.factor, "
          "rope_freqs.weight, rope_factors_*.weight) give angles that are too large at position ",
          end_, "; the file is damaged: download or convert it again");
    }
  }
  return {};
}

}  // namespace sluice
