// Looks at a choice of the sampler: it chooses, and says how.
#pragma once

#include <cstdint>
#include <span>

#include "sample/choice_view.h"
#include "sample/penalties.h"
#include "sample/raw_logits.h"
#include "sample/sampler.h"

namespace sluice {

// How a token was chosen, but for the logits.
struct ChoiceSetting {
  SamplerOptions sampler;
  PenaltyOptions penalties;
  PieceOf piece;                    // only needed for DRY
  std::span<const TokenId> before;  // the tokens so far, prompt and answer
  int32_t most = 0;                 // candidates to tell of at most; at least 1
};

// From all logits. `log_sum`: see RawLogits.
ChoiceView view_choice(std::span<const float> logits, double log_sum, ChoiceSetting setting);

// From those that were kept of `n_vocab`. The sampler sees them alone. That gives what it does on
// all if none of the others can be among the top_k best (of temperature 0: the best), whatever
// penalties do, and no step looks at others; or if all were kept. Else `enough` is false. The ids
// must be in 0..n_vocab-1 and different from each other.
ChoiceView view_choice(const RawLogits& raw, int64_t n_vocab, ChoiceSetting setting);

}  // namespace sluice
