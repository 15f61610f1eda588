#include "session/logits.h"

#include <bit>

#include "base/format.h"
#include "base/math.h"
#include "engine.h"
#include "sample/sampler.h"

namespace sluice {

double log_sum_exp(const Kernels& kernels, std::span<const float> logits) {
  const auto n = static_cast<int64_t>(logits.size());
  const float max = kernels.max(logits.data(), n);
  return static_cast<double>(max) +
         log_f64(static_cast<double>(kernels.sum_exp(logits.data(), n, max)));
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

std::vector<std::pair<TokenId, float>> top_logprobs(std::span<const float> logits, int n) {
  const Kernels& kernels = **(all_kernels().end() - 1);  // all give the same bits
  return best_logprobs(logits, n, log_sum_exp(kernels, logits));
}

}  // namespace sluice
