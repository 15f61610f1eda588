#include "sample/sampler.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "base/math.h"

namespace sluice {
namespace {

constexpr size_t kPenaltyWindow = 64;  // tokens, llama.cpp's default

using Candidate = std::pair<float, int32_t>;  // logit, id

// No two candidates are equal in this order, so the standard algorithms give the same results in
// every standard library.
bool better(const Candidate& a, const Candidate& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}
bool worse(const Candidate& a, const Candidate& b) { return better(b, a); }

// NaN counts as -infinity, +infinity as the largest number: the difference to a finite best logit
// is then never NaN.
float tame(float logit) {
  if (std::isnan(logit)) return -std::numeric_limits<float>::infinity();
  return std::min(logit, FLT_MAX);
}

// Reads logits in the order of their ids, with other values in place of some.
class Reader {
 public:
  // `replaced`: (id, logit), ids ascending
  Reader(std::span<const float> logits, std::span<const std::pair<int32_t, float>> replaced)
      : logits_(logits), replaced_(replaced) {}

  size_t size() const { return logits_.size(); }
  Candidate read(size_t id) {
    if (replaced_before(id + 1)) {
      const float logit = replaced_.front().second;
      replaced_ = replaced_.subspan(1);
      return {logit, static_cast<int32_t>(id)};
    }
    return {tame(logits_[id]), static_cast<int32_t>(id)};
  }
  // Whether one of [begin, end) may be above `limit`. Compilers vectorize this loop.
  bool may_exceed(size_t begin, size_t end, float limit) const {
    if (replaced_before(end)) return true;
    int above = 0;
    for (size_t i = begin; i < end; ++i) above |= logits_[i] > limit;
    return above != 0;
  }

 private:
  bool replaced_before(size_t end) const {
    return !replaced_.empty() && static_cast<size_t>(replaced_.front().first) < end;
  }
  std::span<const float> logits_;
  std::span<const std::pair<int32_t, float>> replaced_;  // not yet read
};

// Writes the best k candidates to `out`, the best first.
void select_best(Reader logits, size_t k, std::vector<Candidate>& out) {
  constexpr size_t kBlock = 64;
  out.clear();
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size());
    // The worst of the best so far is in front. Nearly all blocks have nothing better.
    if (out.size() == k && !logits.may_exceed(begin, end, out.front().first)) continue;
    for (size_t id = begin; id < end; ++id) {
      const Candidate candidate = logits.read(id);
      if (out.size() < k) {
        out.push_back(candidate);
        std::push_heap(out.begin(), out.end(), better);
      } else if (better(candidate, out.front())) {
        std::pop_heap(out.begin(), out.end(), better);
        out.back() = candidate;
        std::push_heap(out.begin(), out.end(), better);
      }
    }
  }
  std::sort_heap(out.begin(), out.end(), better);
}

float weight(const Candidate& candidate, float max) { return exp_f32(candidate.first - max); }

// Applies top-p and min-p; both keep a number of the best candidates. `max` is the best logit;
// weights are relative to its weight.
void cut_tail(std::vector<Candidate>& candidates, float max, float top_p, float min_p) {
  double total = 0;
  for (const Candidate& c : candidates) total += static_cast<double>(weight(c, max));
  if (min_p > 0) {
    std::erase_if(candidates, [&](const Candidate& c) { return weight(c, max) < min_p; });
  }
  if (top_p >= 1) return;
  // A heap with the best in front sorts only the candidates that are kept.
  std::make_heap(candidates.begin(), candidates.end(), worse);
  auto end = candidates.end();
  double sum = 0;
  do {
    std::pop_heap(candidates.begin(), end, worse);
    --end;
    sum += static_cast<double>(weight(*end, max));
  } while (end != candidates.begin() && sum < static_cast<double>(top_p) * total);
  candidates.erase(candidates.begin(), end);
  std::reverse(candidates.begin(), candidates.end());
}

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

Sampler::Sampler(const SamplerOptions& options) : options_(options) {}

void Sampler::penalize(std::span<const float> logits, std::span<const int32_t> recent) {
  penalized_.clear();
  if (options_.repeat_penalty == 1.f) return;
  const auto window = recent.last(std::min(recent.size(), kPenaltyWindow));
  for (const int32_t id : window) {
    if (id < 0 || static_cast<size_t>(id) >= logits.size()) continue;
    const float logit = tame(logits[static_cast<size_t>(id)]);
    // Both make the token less likely.
    penalized_.emplace_back(
        id, tame(logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty));
  }
  std::sort(penalized_.begin(), penalized_.end());
  penalized_.erase(std::unique(penalized_.begin(), penalized_.end()), penalized_.end());
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> recent) {
  if (logits.empty()) return 0;
  penalize(logits, recent);
  const bool greedy = options_.temperature == 0.f;
  const size_t n = logits.size();
  const size_t k = greedy                ? 1
                   : options_.top_k == 0 ? n
                                         : std::min(n, static_cast<size_t>(options_.top_k));
  Reader reader(logits, penalized_);
  if (k < n) {
    select_best(reader, k, candidates_);
  } else {
    candidates_.resize(n);
    for (size_t i = 0; i < n; ++i) candidates_[i] = reader.read(i);
  }
  const Candidate best = *std::min_element(candidates_.begin(), candidates_.end(), better);
  if (greedy || std::isinf(best.first)) return best.second;

  cut_tail(candidates_, best.first, options_.top_p, options_.min_p);
  double total = 0;
  for (Candidate& c : candidates_) {
    c.first = exp_f32((c.first - best.first) / options_.temperature);
    total += static_cast<double>(c.first);
  }
  double left = random_unit(options_.seed, ++options_.draws) * total;
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
