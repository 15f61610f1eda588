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

}  // namespace sluice
