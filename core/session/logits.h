// Figures of logits.
#pragma once  // face

#include <span>

#include "kernels/kernels.h"
#include "sample/raw_logits.h"

namespace sluice {

// log(sum(exp(logits))). A logit minus this is its log-probability.
double log_sum_exp(const Kernels& kernels, std::span<const float> logits);
// What a token is chosen from: the n best, of all where there are fewer. `draws` stays 0.
RawLogits raw_logits(const Kernels& kernels, std::span<const float> logits, int n);

}  // namespace sluice
