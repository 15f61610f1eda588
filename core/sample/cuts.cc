#include "sample/cuts.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

double total_weight(const std::vector<Candidate>& candidates, float max) {
  double total = 0;
  for (const Candidate& c : candidates) total += static_cast<double>(weight(c, max));
  return total;
}

// Keeps the candidates that are first in an order, until their weights add up to `enough`. They are
// in that order afterwards.
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

}  // namespace

double sigma_limit(LogitReader logits, float max, float n) {
  double count = 0;
  double sum = 0;
  const auto each = [&](LogitReader reader, auto use) {
    for (size_t id = 0; id < reader.size(); ++id) {
      const float logit = reader.read(id).first;
      if (!std::isinf(logit)) use(static_cast<double>(logit));
    }
  };
  each(logits, [&](double logit) {
    ++count;
    sum += logit;
  });
  const double mean = sum / count;
  double squares = 0;
  each(logits, [&](double logit) { squares += (logit - mean) * (logit - mean); });
  return static_cast<double>(max) - static_cast<double>(n) * std::sqrt(squares / count);
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

void cut_tail(std::vector<Candidate>& candidates, float max, float top_p, float min_p) {
  const double total = top_p < 1 ? total_weight(candidates, max) : 0;
  if (min_p > 0) {
    std::erase_if(candidates, [&](const Candidate& c) { return weight(c, max) < min_p; });
  }
  if (top_p < 1) keep_first(candidates, max, static_cast<double>(top_p) * total, better);
}

void exclude_top(std::vector<Candidate>& candidates, float max, float threshold) {
  const double least = static_cast<double>(threshold) * total_weight(candidates, max);
  const auto is_top = [&](const Candidate& c) {
    return static_cast<double>(weight(c, max)) >= least;
  };
  const Candidate* last = nullptr;
  for (const Candidate& c : candidates)
    if (is_top(c) && (last == nullptr || better(*last, c))) last = &c;
  if (last == nullptr) return;
  const int32_t kept = last->second;
  std::erase_if(candidates, [&](const Candidate& c) { return is_top(c) && c.second != kept; });
}

}  // namespace sluice
