// What a run's options are for its sampler.
#pragma once

#include <cstdint>
#include <span>

#include "options/options.h"
#include "sample/sampler.h"

namespace sluice {

// `seed`, `draws`: as in SamplerOptions.
SamplerOptions sampler_options(const GenerateOptions& options, uint64_t seed, uint64_t draws);
// `suppressed`, `prompt_tokens`: as in PenaltyOptions.
PenaltyOptions penalty_options(const GenerateOptions& options, std::span<const TokenId> suppressed,
                               size_t prompt_tokens);

}  // namespace sluice
