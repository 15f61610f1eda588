// Figures of logits.
#pragma once  // inside

#include <span>

#include "kernels/kernels.h"

namespace sluice {

// log(sum(exp(logits))). A logit minus this is its log-probability.
double log_sum_exp(const Kernels& kernels, std::span<const float> logits);

}  // namespace sluice
