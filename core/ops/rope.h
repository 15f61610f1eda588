// Rotary position embedding (Su et al. 2021, arXiv 2104.09864). A RopeTable has the cosines and
// sines of all positions that were used so far; layers and passes share it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"

namespace sluice {

// YaRN (Peng et al. 2023, arXiv 2309.00071) scales by frequency. Pairs that turn beta_fast times or
// more within the original context keep their frequency. Those that turn beta_slow times or less
// get the scaled one. Between these, a ramp over the pairs mixes both.
struct Yarn {
  double original_context = 0;  // tokens, above 0: the context before scaling
  double beta_fast = 32;
  double beta_slow = 1;
  double magnitude = 1;  // factor of cosines and sines
};

// The numbers that a RoPE table is made from. Pair i turns by theta(i) * position radians.
struct RopeNumbers {
  int64_t dims = 0;  // a head's first `dims` elements are rotated; even
  double freq_base = 10000;
  // Divides the frequencies (linear scaling; 1 = none). With yarn it is the factor of the slow
  // ones.
  double scale = 1;
  double magnitude = 1;           // factor of cosines and sines
  std::optional<Yarn> yarn = {};  // with it freq_base is above 1
};

class RopeTable {
 public:
  // theta(i) = freq_base^(-2i / dims), scaled, / factor(i). `factors` ([dims / 2]) may be null: 1.
  RopeTable(const RopeNumbers& numbers, const float* factors);

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
  double magnitude_;                   // of cosines and sines
  std::vector<AlignedBuffer> pieces_;  // [kPieceRows][cosines, then sines][n_pairs]
  int64_t end_ = 0;                    // rows made so far
};

}  // namespace sluice
