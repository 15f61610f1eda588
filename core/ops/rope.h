// Rotary position embedding (Su et al. 2021, arXiv 2104.09864): the angles of a pass, computed once
// and used by every layer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"

namespace sluice {

class RopeTable {
 public:
  // theta(i) = base^(-2i / dims) / factor(i); `factors` (rope_freqs.weight, [dims / 2]) may be
  // null. Positions are divided by `scale` (linear scaling; 1 = none).
  void configure(int64_t dims, double base, double scale, const float* factors);
  // cos and sin for n_tokens positions from `first` on. bad_file where the angles are too large for
  // them.
  Status fill(int64_t first, int64_t n_tokens);

  int n_pairs() const { return static_cast<int>(theta_.size()); }
  const float* cos(int64_t token) const { return cos_.as<float>() + token * n_pairs(); }
  const float* sin(int64_t token) const { return sin_.as<float>() + token * n_pairs(); }

 private:
  std::vector<double> theta_;  // radians a position
  AlignedBuffer cos_, sin_;    // [n_tokens][n_pairs]
};

}  // namespace sluice
