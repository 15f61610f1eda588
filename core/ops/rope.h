// Rotary position embedding (Su et al. 2021, arXiv 2104.09864): the angles of a model's positions,
// computed once, as far as positions are used, for every layer and pass.
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

  // Bytes of a table for `positions` positions; those held now.
  static uint64_t bytes(int64_t dims, int64_t positions);
  uint64_t held_bytes() const;

  // Makes the rows of the positions below `end`, as far as they are missing. out_of_memory;
  // bad_file where the angles are too large for a cosine. What was there stays.
  Status extend(int64_t end);

  int n_pairs() const { return static_cast<int>(theta_.size()); }
  // [n_pairs] of a position that is there.
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
  int64_t end_ = 0;                    // the rows before it are made
};

}  // namespace sluice
