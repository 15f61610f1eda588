// Choosing the next token from logits. The same options and seed give the same choices on every
// machine: our own exp, log and random numbers, ties broken by the lower id.
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
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);
  // logits[n_vocab], not changed. `recent`: the tokens so far (prompt and generated), for the
  // repeat penalty. Order: penalty, top-k, top-p, min-p, temperature (llama.cpp's). The options
  // are valid ones. Never fails: logits of NaN count as -infinity, those of +infinity as FLT_MAX.
  int32_t sample(std::span<const float> logits, std::span<const int32_t> recent);

 private:
  void penalize(std::span<const float> logits, std::span<const int32_t> recent);

  SamplerOptions options_;
  uint64_t state_;  // of the random numbers
  // Kept between calls: no allocation a token.
  std::vector<std::pair<float, int32_t>> candidates_;  // logit, id
  std::vector<std::pair<int32_t, float>> penalized_;   // id, new logit; ids ascending
};

// The n best of the raw logits as (id, log-probability), best first, ties by the lower id.
// `log_sum` = max + log(sum of exp(logit - max)). n below 1 gives none.
std::vector<std::pair<int32_t, float>> best_logprobs(std::span<const float> logits, int n,
                                                     double log_sum);

}  // namespace sluice
