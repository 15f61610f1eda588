#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

}  // namespace

Sampler::Sampler(const SamplerOptions& options, PenaltyOptions penalties, PieceOf piece)
    : options_(options), penalties_(std::move(penalties), std::move(piece)) {}

void ChoiceRecord::note(ChoiceStep step, const std::vector<Candidate>& left) {
  steps.push_back({step, left});
}

double Sampler::draw() { return random_unit(options_.seed, ++options_.draws); }

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> tokens,
                        ChoiceRecord* record) {
  if (logits.empty()) return 0;
  const std::span<const LogitOf> changed = penalties_.change(logits, tokens);
  const LogitReader reader(logits, changed);
  const bool greedy = options_.temperature == 0.f;
  const auto note = [this, record](ChoiceStep step, bool on) {
    if (record != nullptr && on) record->note(step, candidates_);
  };
  if (record != nullptr) record->changed.assign(changed.begin(), changed.end());
  const size_t n = logits.size();
  const size_t k = greedy                ? 1
                   : options_.top_k == 0 ? n
                                         : std::min(n, static_cast<size_t>(options_.top_k));
  if (k < n) {
    select_best(reader, k, candidates_);
  } else {
    take_all(reader, candidates_);
  }
  Candidate best = best_of(candidates_);
  if (greedy && record != nullptr) record->note(ChoiceStep::temperature, {best});
  if (greedy || std::isinf(best.first)) return best.second;

  // Top-n-sigma comes before top-k. Both keep a number of the best, so their order makes no
  // difference.
  if (options_.top_n_sigma > 0) {
    if (record != nullptr) {
      std::vector<Candidate> all;
      take_all(reader, all);
      cut_sigma(all, reader, best.first, options_.top_n_sigma);
      record->note(ChoiceStep::top_n_sigma, all);
    }
    cut_sigma(candidates_, reader, best.first, options_.top_n_sigma);
  }
  note(ChoiceStep::top_k, options_.top_k > 0);
  if (options_.typical_p < 1) {
    keep_typical(candidates_, best.first, options_.typical_p);
    best = best_of(candidates_);
    note(ChoiceStep::typical_p, true);
  }
  // The two are computed on the same candidates, so that top-p leaves the same without min-p.
  if (record != nullptr && options_.top_p < 1) {
    std::vector<Candidate> left = candidates_;
    cut_tail(left, best.first, options_.top_p, 0);
    record->note(ChoiceStep::top_p, left);
  }
  cut_tail(candidates_, best.first, options_.top_p, options_.min_p);
  note(ChoiceStep::min_p, options_.min_p > 0);
  if (options_.xtc_probability > 0) {
    if (draw() < static_cast<double>(options_.xtc_probability)) {
      exclude_top(candidates_, best.first, options_.xtc_threshold);
      best = best_of(candidates_);
    }
    note(ChoiceStep::xtc, true);
  }
  note(ChoiceStep::temperature, options_.temperature != 1);
  const double place = draw();
  const int32_t chosen = choose(candidates_, best, options_.temperature, place);
  if (record != nullptr) {
    record->place = place;
    record->weighed = candidates_;
  }
  return chosen;
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
