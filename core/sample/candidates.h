// The tokens to choose among, with their logits: the best of them, and the choice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/math.h"

namespace sluice {

using Candidate = std::pair<float, int32_t>;  // logit, id
using LogitOf = std::pair<int32_t, float>;    // id, logit

// No two candidates are equal in this order, so the standard algorithms give the same results in
// every standard library.
inline bool better(const Candidate& a, const Candidate& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}

// NaN becomes -infinity, +infinity the largest number: the difference to a finite best logit is
// then never NaN.
float tame(float logit);

// The weight of a candidate relative to that of the logit `max`.
inline float weight(const Candidate& candidate, float max) {
  return exp_f32(candidate.first - max);
}

// Reads logits in the order of their ids, with other values in place of some.
class LogitReader {
 public:
  // `replaced`: ids ascending
  LogitReader(std::span<const float> logits, std::span<const LogitOf> replaced)
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
  std::span<const LogitOf> replaced_;  // not yet read
};

// Top-k: writes the best k candidates to `out`, the best first.
void select_best(LogitReader logits, size_t k, std::vector<Candidate>& out);
// Writes all to `out`, in the order of their ids.
void take_all(LogitReader logits, std::vector<Candidate>& out);
Candidate best_of(const std::vector<Candidate>& candidates);

// Below, `max` is the best logit of the candidates, and finite; weights are relative to its weight.
double total_weight(const std::vector<Candidate>& candidates, float max);

// Keeps the candidates that are first in an order, one at least, until their weights add up to
// `enough`. They are in that order afterwards.
void keep_first(std::vector<Candidate>& candidates, float max, double enough, auto is_before) {
  // A heap with the first one in front sorts only the candidates that are kept.
  const auto is_behind = [&](const Candidate& a, const Candidate& b) { return is_before(b, a); };
  std::make_heap(candidates.begin(), candidates.end(), is_behind);
  auto end = candidates.end();
  double sum = 0;
  do {
    std::pop_heap(candidates.begin(), end, is_behind);
    --end;
    sum += static_cast<double>(weight(*end, max));
  } while (end != candidates.begin() && sum < enough);
  candidates.erase(candidates.begin(), end);
  std::reverse(candidates.begin(), candidates.end());
}

// Top-p (Holtzman et al., arXiv 1904.09751): the best candidates whose probabilities add up to
// top_p. Min-p (Nguyen et al., arXiv 2407.01082): those with min_p of the best one's probability.
// Both are computed on the same candidates, and keep one at least.
void cut_tail(std::vector<Candidate>& candidates, float max, float top_p, float min_p);

// The candidate at `place`, in [0, 1), of their probabilities at a temperature. (Their logits are
// lost.)
int32_t choose(std::vector<Candidate>& candidates, const Candidate& best, float temperature,
               double place);

}  // namespace sluice
