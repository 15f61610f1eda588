// Rotary position embedding (Su et al. 2021, arXiv 2104.09864). A RopeTable has the cosines and
// sines of all positions that were used so far; layers and passes share it.
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
  RopeTable(int64_t dims, double base, double scale, const float* factors);

  static uint64_t bytes(int64_t dims, int64_t positions);  // of a table for so many positions
  uint64_t held_bytes() const;                             // of this table now

  // Adds the rows that are missing for the positions below `end`. Fails with out_of_memory, or with
  // bad_file if an angle is too large for a cosine; the rows made before that stay.
  Status extend(int64_t end);

  int n_pairs() const { return static_cast<int>(theta_.size()); }
  // [n_pairs] each. The position must be below an `end` that was given to extend().
  const float* cos(int64_t position) const { return row(position); }
  const float* sin(int64_t position) const { return row(position) + n_pairs(); }

 private:
  static constexpr int64_t kPieceRows = 256;
  float* row(int64_t position) const {
    return pieces_[static_cast<size_t>(position / kPieceRows)].as<float>() +
           position % kPieceRows * 2 * n_pairs();
  }

  std::vector<double> theta_;          // radians a position
  std::vector<AlignedBuffer> pieces_;  // [kPieceRows][cosines, then sines][n_pairs]
  int64_t end_ = 0;                    // rows made so far
};

}  // namespace sluice
