// Chooses the next token from logits. The same options and seed give the same choices on every
// machine: exp and the random numbers are our own, and among equal logits the lower id wins.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sample/candidates.h"
#include "sample/choice_view.h"
#include "sample/penalties.h"

namespace sluice {

// What they do stands in options.json. By default each is off.
struct SamplerOptions {
  float temperature = 1;
  int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float top_n_sigma = 0;
  float typical_p = 1;
  float xtc_probability = 0;
  float xtc_threshold = 0.1f;
  uint64_t seed = 0;
  uint64_t draws = 0;  // random numbers that were drawn from this seed before
};

// What the sampler did with the logits of a token (view_choice.h makes a view of it).
struct ChoiceRecord {
  struct Step {
    ChoiceStep step;
    std::vector<Candidate> left;  // with their logits after penalties
  };
  std::vector<LogitOf> changed;  // by penalties, ids ascending
  std::vector<Step> steps;       // those behind penalties that are on
  // What a random number drew among, with weights in place of logits, and that number; none where
  // the likeliest was taken.
  std::vector<Candidate> weighed;
  double place = 0;

  void note(ChoiceStep step, const std::vector<Candidate>& left);
};

class Sampler {
 public:
  // The options must be valid. `piece` is only needed for DRY.
  explicit Sampler(const SamplerOptions& options, PenaltyOptions penalties = {},
                   PieceOf piece = {});
  // Returns the next token. `tokens` are those so far, prompt and answer; since the last call they
  // may only have grown. The order is llama.cpp's: suppressed tokens and logit bias, penalties
  // (repeat, then presence and frequency), DRY, top-n-sigma, top-k, typical-p, top-p, min-p, XTC,
  // temperature. With the temperature 0 the likeliest token after DRY is taken. Never fails: a
  // logit of NaN counts as -infinity, one of +infinity as FLT_MAX. With an
  // empty `record` it notes there what it does.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> tokens,
                 ChoiceRecord* record = nullptr);
  uint64_t draws() const { return options_.draws; }  // from the seed, those before included

 private:
  double draw();  // in [0, 1)

  SamplerOptions options_;
  Penalties penalties_;
  std::vector<Candidate> candidates_;  // kept between calls, so that a token needs no allocation
};

// Returns the n best logits as (id, log-probability), the best first; among equal ones the lower id
// is first. `log_sum` = max + log(sum of exp(logit - max)). n below 1 gives none.
std::vector<std::pair<int32_t, float>> best_logprobs(std::span<const float> logits, int n,
                                                     double log_sum);

}  // namespace sluice
