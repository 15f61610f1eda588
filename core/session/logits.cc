#include "session/logits.h"

#include <algorithm>
#include <bit>

#include "base/format.h"
#include "base/math.h"
#include "engine.h"
#include "sample/candidates.h"
#include "sample/sampler.h"

namespace sluice {

double log_sum_exp(const Kernels& kernels, std::span<const float> logits) {
  const auto n = static_cast<int64_t>(logits.size());
  const float max = kernels.max(logits.data(), n);
  return static_cast<double>(max) +
         log_f64(static_cast<double>(kernels.sum_exp(logits.data(), n, max)));
}

RawLogits raw_logits(const Kernels& kernels, std::span<const float> logits, int n) {
  RawLogits raw;
  raw.log_sum = log_sum_exp(kernels, logits);
  // With p = e^(x - max) / s, the entropy is log(s) minus the sum of p * (x - max).
  const float max = kernels.max(logits.data(), static_cast<int64_t>(logits.size()));
  double sum = 0, weighted = 0;
  for (const float logit : logits) {
    const float below = logit - max;
    const auto e = static_cast<double>(exp_f32(below));
    if (e == 0) continue;  // -infinity, too
    sum += e;
    weighted += e * static_cast<double>(below);
  }
  raw.entropy = std::max(0.0, log_f64(sum) - weighted / sum);
  std::vector<Candidate> best;
  const size_t k = std::min(logits.size(), static_cast<size_t>(std::max(n, 0)));
  if (k > 0) select_best({logits, {}}, k, best);
  raw.best.reserve(best.size());
  for (const auto& [logit, id] : best) raw.best.emplace_back(id, logit);
  return raw;
}

std::string logits_hash(std::span<const float> logits) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : logits) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash ^= bits >> shift & 0xffu;
      hash *= 0x100000001b3u;
    }
  }
  return hexadecimal(hash);
}

namespace {

// All give the same bits.
const Kernels& best_kernels() { return **(all_kernels().end() - 1); }

}  // namespace

std::vector<std::pair<TokenId, float>> top_logprobs(std::span<const float> logits, int n) {
  return best_logprobs(logits, n, log_sum_exp(best_kernels(), logits));
}

RawLogits raw_logits(std::span<const float> logits, int n) {
  return raw_logits(best_kernels(), logits, n);
}

}  // namespace sluice
