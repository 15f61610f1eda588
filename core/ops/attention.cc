#include "ops/attention.h"

#include "base/math.h"

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

// The scores are those of attend(): of a single position, which it sees alone, the score is the
// maximum.
void attention_weights(const Kernels& kernels, KvChunk (*chunk_of)(const void*, int64_t),
                       const void* of, const Heads& heads, float* weights,
                       const AttentionScratch& scratch) {
  Attend args = scratch.begin(heads);
  args.first = true;
  const auto end = static_cast<int>(heads.position) + 1;
  const int begin =
      heads.window == 0 ? 0 : static_cast<int>(std::max<int64_t>(end - heads.window, 0));
  for (int p = begin; p < end; ++p) {
    args.chunk = chunk_of(of, p / kKvChunk);
    args.n_before = p % kKvChunk;
    args.n_visible = args.n_filled = args.n_before + 1;
    kernels.attend(args);
    for (int h = 0; h < heads.n_heads; ++h) weights[int64_t{h} * end + p] = args.max[h];
  }
  for (int h = 0; h < heads.n_heads; ++h, weights += end) {
    const float max = kernels.max(weights + begin, end - begin);
    const float sum = kernels.sum_exp(weights + begin, end - begin, max);
    for (int p = 0; p < end; ++p) weights[p] = p < begin ? 0 : exp_f32(weights[p] - max) / sum;
  }
}

}  // namespace sluice
