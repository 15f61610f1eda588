#include "ops/rope.h"

#include <cmath>

#include "base/format.h"
#include "base/math.h"

namespace sluice {

RopeTable::RopeTable(int64_t dims, double base, double scale, const float* factors) {
  theta_.resize(static_cast<size_t>(dims / 2));
  for (size_t i = 0; i < theta_.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dims);
    theta_[i] = pow_f64(base, exponent) / scale;
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
      out[0] = static_cast<float>(cos);
      out[n_pairs()] = static_cast<float>(sin);
      ++out;
    }
    if (!small) {
      return fail(Code::bad_file,
                  "the file's numbers for RoPE (rope.freq_base, rope.scaling.factor, "
                  "rope_freqs.weight) give angles that are too large at position ",
                  end_, "; the file is damaged: download or convert it again");
    }
  }
  return {};
}

}  // namespace sluice
