#include "sample/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "sample/cuts.h"

namespace sluice {
namespace {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Returns
// the n-th number of a seed, from 1 on, in [0, 1).
double random_unit(uint64_t seed, uint64_t n) {
  uint64_t z = seed + n * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

// Ids ascending, each once.
void put_in_order(std::vector<std::pair<int32_t, float>>& biases) {
  std::reverse(biases.begin(), biases.end());  // so that the last one of an id stays
  const auto id_of = [](const auto& bias) { return bias.first; };
  std::ranges::stable_sort(biases, {}, id_of);
  const auto rest = std::ranges::unique(biases, {}, id_of);
  biases.erase(rest.begin(), rest.end());
}

Candidate best_of(const std::vector<Candidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(), better);
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, PieceOf piece)
    : options_(options), dry_(options.dry, std::move(piece)) {
  put_in_order(options_.logit_bias);
}

double Sampler::draw() { return random_unit(options_.seed, ++options_.draws); }

void Sampler::change_logits(std::span<const float> logits, std::span<const int32_t> tokens) {
  const SamplerOptions& o = options_;
  changed_.start(logits);
  changed_.change(o.logit_bias, [](float logit, float bias) { return logit + bias; });
  if (o.repeat_penalty != 1 && o.repeat_last_n != 0) {
    const size_t last_n = o.repeat_last_n < 0
                              ? tokens.size()
                              : std::min(tokens.size(), static_cast<size_t>(o.repeat_last_n));
    repeated_.move_to(tokens, tokens.size() - last_n, tokens.size());
    changed_.change(repeated_.all(), [&](float logit, uint32_t) {
      return repeat_penalized(logit, o.repeat_penalty);
    });
  }
  if (o.presence_penalty != 0 || o.frequency_penalty != 0) {
    answered_.move_to(tokens, std::min(o.prompt_tokens, tokens.size()), tokens.size());
    changed_.change(answered_.all(), [&](float logit, uint32_t count) {
      return count_penalized(logit, count, o.frequency_penalty, o.presence_penalty);
    });
  }
  if (dry_.on()) {
    changed_.change(dry_.penalties(tokens),
                    [](float logit, float penalty) { return logit - penalty; });
  }
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> tokens) {
  if (logits.empty()) return 0;
  change_logits(logits, tokens);
  const LogitReader reader(logits, changed_.all());
  const bool greedy = options_.temperature == 0.f;
  const size_t n = logits.size();
  const size_t k = greedy                ? 1
                   : options_.top_k == 0 ? n
                                         : std::min(n, static_cast<size_t>(options_.top_k));
  if (k < n) {
    select_best(reader, k, candidates_);
  } else {
    LogitReader each = reader;
    candidates_.resize(n);
    for (size_t i = 0; i < n; ++i) candidates_[i] = each.read(i);
  }
  Candidate best = best_of(candidates_);
  if (greedy || std::isinf(best.first)) return best.second;

  // Top-n-sigma comes before top-k. Both keep a number of the best, so their order makes no
  // difference.
  if (options_.top_n_sigma > 0) {
    const double limit = sigma_limit(reader, best.first, options_.top_n_sigma);
    std::erase_if(candidates_,
                  [limit](const Candidate& c) { return static_cast<double>(c.first) < limit; });
  }
  if (options_.typical_p < 1) {
    keep_typical(candidates_, best.first, options_.typical_p);
    best = best_of(candidates_);
  }
  cut_tail(candidates_, best.first, options_.top_p, options_.min_p);
  if (options_.xtc_probability > 0 && draw() < static_cast<double>(options_.xtc_probability)) {
    exclude_top(candidates_, best.first, options_.xtc_threshold);
    best = best_of(candidates_);
  }

  double total = 0;
  for (Candidate& c : candidates_) {
    c.first = exp_f32((c.first - best.first) / options_.temperature);
    total += static_cast<double>(c.first);
  }
  double left = draw() * total;
  for (const Candidate& c : candidates_) {
    left -= static_cast<double>(c.first);
    if (left < 0) return c.second;
  }
  return best.second;  // rounding left `left` at 0 or a little above
}

std::vector<std::pair<int32_t, float>> best_logprobs(std::span<const float> logits, int n,
                                                     double log_sum) {
  const size_t k = std::min(logits.size(), static_cast<size_t>(std::max(n, 0)));
  std::vector<Candidate> best;
  if (k > 0) select_best({logits, {}}, k, best);
  std::vector<std::pair<int32_t, float>> out;
  out.reserve(best.size());
  for (const auto& [logit, id] : best) {
    out.emplace_back(id, static_cast<float>(static_cast<double>(logit) - log_sum));
  }
  return out;
}

}  // namespace sluice
