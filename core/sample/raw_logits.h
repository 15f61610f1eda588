// What a token was chosen from, as little as a view of the choice needs (choice_view.h).
#pragma once  // face

#include <cstdint>
#include <utility>
#include <vector>

#include "base/token.h"

namespace sluice {

inline constexpr int kMostRawLogits = 256;

// Of the logits as the model computes them, before anything changes them.
struct RawLogits {
  double log_sum = 0;  // log of the sum of exp of all; a logit minus this is its log-probability
  double entropy = 0;  // in nats, of the probabilities of all
  // Random numbers that were drawn from the run's seed before this token; 0 where nobody drew.
  uint64_t draws = 0;
  // The best, best first (among equal ones the lower id); all, if the vocabulary is no larger.
  std::vector<std::pair<TokenId, float>> best;
};

}  // namespace sluice
