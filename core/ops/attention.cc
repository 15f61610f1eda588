#include "ops/attention.h"

namespace sluice {
namespace {

// How many floats of scratch max_queries queries need, whatever number of tokens they belong to.
uint64_t work_floats(int64_t max_queries, int64_t head_dim) {
  constexpr KvType kWidest = KvType::f16;  // any type that is widened
  const auto queries = static_cast<int>(std::max<int64_t>(max_queries, kWideTokens));
  return static_cast<uint64_t>(attend_scratch(kWidest, queries, 1, static_cast<int>(head_dim)));
}

}  // namespace

uint64_t AttentionScratch::bytes(int64_t max_queries, int64_t head_dim) {
  const int64_t padded = padded_head_dim(head_dim);
  return static_cast<uint64_t>(4 * max_queries * (2 + padded)) +
         4 * work_floats(max_queries, head_dim) + 4 * kAlignment;
}

Result<AttentionScratch> AttentionScratch::allocate(int64_t max_queries, int64_t head_dim) {
  const int64_t padded = padded_head_dim(head_dim);
  const auto n = static_cast<uint64_t>(max_queries);
  AttentionScratch s;
  SLUICE_TRY(allocate_each({{s.max_, 4 * n},
                            {s.sum_, 4 * n},
                            {s.values_, 4 * n * static_cast<uint64_t>(padded)},
                            {s.work_, 4 * work_floats(max_queries, head_dim)}},
                           "attention"));
  return s;
}

}  // namespace sluice
