// Chooses the next token from logits. The same options and seed give the same choices on every
// machine: exp and the random numbers are our own, and among equal logits the lower id wins.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

// What they do stands in options.json.
struct SamplerOptions {
  float temperature = 1;
  int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float repeat_penalty = 1;
  uint64_t seed = 0;
  uint64_t draws = 0;  // random numbers that were drawn from this seed before
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);
  // Returns the next token. `recent` are the tokens so far (prompt and generated), for the repeat
  // penalty. The order is llama.cpp's: penalty, top-k, top-p, min-p, temperature. The options must
  // be valid. Never fails: a logit of NaN counts as -infinity, one of +infinity as FLT_MAX.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> recent);
  uint64_t draws() const { return options_.draws; }  // from the seed, those before included

 private:
  void penalize(std::span<const float> logits, std::span<const int32_t> recent);

  SamplerOptions options_;
  // Kept between calls, so that a token needs no allocation.
  std::vector<std::pair<float, int32_t>> candidates_;  // logit, id
  std::vector<std::pair<int32_t, float>> penalized_;   // id, new logit; ids ascending
};

// Returns the n best logits as (id, log-probability), the best first; among equal ones the lower id
// is first. `log_sum` = max + log(sum of exp(logit - max)). n below 1 gives none.
std::vector<std::pair<int32_t, float>> best_logprobs(std::span<const float> logits, int n,
                                                     double log_sum);

}  // namespace sluice
