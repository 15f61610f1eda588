// Samplers that leave out candidates, besides top-k, top-p and min-p. `max` is the best logit, and
// finite. Each keeps one candidate at least.
#pragma once

#include <vector>

#include "sample/candidates.h"

namespace sluice {

// Top-n-sigma (Tang et al.: Top-nσ, not all logits are you need, arXiv 2411.07641): those from max
// - n * sigma on stay, with the standard deviation of all `logits` (but -infinity).
void cut_sigma(std::vector<Candidate>& candidates, LogitReader logits, float max, float n);

// Locally typical sampling (Meister et al., arXiv 2202.00666): with the entropy H of the
// probabilities p, the candidates with the least |-log(p) - H| whose probabilities add up to
// `share`.
void keep_typical(std::vector<Candidate>& candidates, float max, float share);

// XTC, "exclude top choices" (p-e-w: oobabooga/text-generation-webui, pull request 6335): of the
// candidates with a probability of at least `threshold` only the least likely stays.
void exclude_top(std::vector<Candidate>& candidates, float max, float threshold);

}  // namespace sluice
