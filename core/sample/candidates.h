// The tokens to choose among, with their logits.
#pragma once

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

// Writes the best k candidates to `out`, the best first.
void select_best(LogitReader logits, size_t k, std::vector<Candidate>& out);

}  // namespace sluice
