#include "session/sampler_options.h"

namespace sluice {

SamplerOptions sampler_options(const GenerateOptions& options, uint64_t seed, uint64_t draws) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .top_n_sigma = options.top_n_sigma,
          .typical_p = options.typical_p,
          .xtc_probability = options.xtc_probability,
          .xtc_threshold = options.xtc_threshold,
          .seed = seed,
          .draws = draws};
}

PenaltyOptions penalty_options(const GenerateOptions& options, std::span<const TokenId> suppressed,
                               size_t prompt_tokens) {
  return {.suppressed = suppressed,
          .logit_bias = options.logit_bias,
          .repeat_penalty = options.repeat_penalty,
          .repeat_last_n = options.repeat_last_n,
          .presence_penalty = options.presence_penalty,
          .frequency_penalty = options.frequency_penalty,
          .prompt_tokens = prompt_tokens,
          .dry = {.multiplier = options.dry_multiplier,
                  .base = options.dry_base,
                  .allowed_length = options.dry_allowed_length,
                  .last_n = options.dry_penalty_last_n,
                  .breakers = options.dry_sequence_breakers}};
}

}  // namespace sluice
