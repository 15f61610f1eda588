#include "sample/cuts.h"

#include <algorithm>
#include <cmath>

namespace sluice {
void cut_sigma(std::vector<Candidate>& candidates, LogitReader logits, float max, float n) {
  double count = 0;
  double sum = 0;
  double squares = 0;
  double mean = 0;
  for (const bool first : {true, false}) {
    LogitReader each = logits;
    for (size_t id = 0; id < logits.size(); ++id) {
      const auto logit = static_cast<double>(each.read(id).first);
      if (std::isinf(logit)) continue;
      count += first ? 1 : 0;
      (first ? sum : squares) += first ? logit : (logit - mean) * (logit - mean);
    }
    mean = sum / count;
  }
  const double limit =
      static_cast<double>(max) - static_cast<double>(n) * std::sqrt(squares / count);
  std::erase_if(candidates,
                [limit](const Candidate& c) { return static_cast<double>(c.first) < limit; });
}

// Since -log(p) is a constant minus the logit, -log(p) - H is the expected logit minus the logit.
void keep_typical(std::vector<Candidate>& candidates, float max, float share) {
  const auto below_max = [max](const Candidate& c) {
    return static_cast<double>(c.first) - static_cast<double>(max);
  };
  const double total = total_weight(candidates, max);
  double expected = 0;
  for (const Candidate& c : candidates) {
    const auto w = static_cast<double>(weight(c, max));
    if (w > 0) expected += w / total * below_max(c);
  }
  const auto distance = [&](const Candidate& c) { return std::fabs(expected - below_max(c)); };
  keep_first(candidates, max, static_cast<double>(share) * total,
             [&](const Candidate& a, const Candidate& b) {
               const double from_a = distance(a);
               const double from_b = distance(b);
               return from_a != from_b ? from_a < from_b : better(a, b);
             });
}

void exclude_top(std::vector<Candidate>& candidates, float max, float threshold) {
  const double least = static_cast<double>(threshold) * total_weight(candidates, max);
  // One of no weight, which a penalty has banned, is none of them at a threshold of 0.
  const auto is_top = [&](const Candidate& c) {
    const auto w = static_cast<double>(weight(c, max));
    return w > 0 && w >= least;
  };
  const Candidate* last = nullptr;
  for (const Candidate& c : candidates)
    if (is_top(c) && (last == nullptr || better(*last, c))) last = &c;
  if (last == nullptr) return;
  const int32_t kept = last->second;
  std::erase_if(candidates, [&](const Candidate& c) { return is_top(c) && c.second != kept; });
}

}  // namespace sluice
