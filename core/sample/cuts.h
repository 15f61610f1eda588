// Samplers that leave out candidates. `max` is the best logit of the candidates, and finite;
// weights are relative to its weight. Each keeps one candidate at least.
#pragma once

#include <vector>

#include "sample/candidates.h"

namespace sluice {

// Top-n-sigma (Tang et al.: Top-nσ, not all logits are you need, arXiv 2411.07641): the lowest
// logit that is kept is max - n * sigma, with the standard deviation of all logits (but -infinity).
double sigma_limit(LogitReader logits, float max, float n);

// Locally typical sampling (Meister et al., arXiv 2202.00666): with the entropy H of the
// probabilities p, the candidates with the least |-log(p) - H| whose probabilities add up to
// `share`.
void keep_typical(std::vector<Candidate>& candidates, float max, float share);

// Top-p (Holtzman et al., arXiv 1904.09751): the best candidates whose probabilities add up to
// top_p. Min-p (Nguyen et al., arXiv 2407.01082): those with min_p of the best one's probability.
// Both are computed on the same candidates.
void cut_tail(std::vector<Candidate>& candidates, float max, float top_p, float min_p);

// XTC, "exclude top choices" (p-e-w: oobabooga/text-generation-webui, pull request 6335): of the
// candidates with a probability of at least `threshold` only the least likely stays.
void exclude_top(std::vector<Candidate>& candidates, float max, float threshold);

}  // namespace sluice
