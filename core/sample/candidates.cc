#include "sample/candidates.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace sluice {

float tame(float logit) {
  if (std::isnan(logit)) return -std::numeric_limits<float>::infinity();
  return std::min(logit, FLT_MAX);
}

void select_best(LogitReader logits, size_t k, std::vector<Candidate>& out) {
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

void take_all(LogitReader logits, std::vector<Candidate>& out) {
  out.resize(logits.size());
  for (size_t id = 0; id < out.size(); ++id) out[id] = logits.read(id);
}

Candidate best_of(const std::vector<Candidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(), better);
}

double total_weight(const std::vector<Candidate>& candidates, float max) {
  double total = 0;
  for (const Candidate& c : candidates) total += static_cast<double>(weight(c, max));
  return total;
}

void cut_tail(std::vector<Candidate>& candidates, float max, float top_p, float min_p) {
  const double total = top_p < 1 ? total_weight(candidates, max) : 0;
  if (min_p > 0) {
    std::erase_if(candidates, [&](const Candidate& c) { return weight(c, max) < min_p; });
  }
  if (top_p < 1) keep_first(candidates, max, static_cast<double>(top_p) * total, better);
}

int32_t choose(std::vector<Candidate>& candidates, const Candidate& best, float temperature,
               double place) {
  double total = 0;
  for (Candidate& c : candidates) {
    c.first = exp_f32((c.first - best.first) / temperature);
    total += static_cast<double>(c.first);
  }
  double left = place * total;
  for (const Candidate& c : candidates) {
    left -= static_cast<double>(c.first);
    if (left < 0) return c.second;
  }
  return best.second;  // rounding left `left` at 0 or a little above
}

}  // namespace sluice
