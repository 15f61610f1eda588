// Attention of a few tokens over cached chunks (kernels/kernels.h, Attend).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/aligned.h"
#include "kernels/kernels.h"

namespace sluice {

// The query heads of consecutive tokens that share one KV head.
struct Heads {
  const float* q;  // [n_tokens][q_stride], of which [n_heads][head_dim] count
  int64_t q_stride;
  int64_t position;  // the first token's
  int64_t end;       // positions that the cache holds, those of these tokens included
  int64_t window;    // window and both_ways: see LayerShape (state/layer_shape.h)
  bool both_ways;
  int n_tokens;
  int n_heads;  // n_tokens * n_heads <= kMaxQueries
  int head_dim;
  float scale;
};

// One worker's scratch for up to max_queries queries (n_tokens * n_heads).
class AttentionScratch {
 public:
  static uint64_t bytes(int64_t max_queries, int64_t head_dim);
  static Result<AttentionScratch> allocate(int64_t max_queries, int64_t head_dim);

 private:
  template <typename ChunkOf>
  friend void attend(const Kernels&, const ChunkOf&, const Heads&, float*, int64_t,
                     const AttentionScratch&);
  friend void attention_weights(const Kernels&, KvChunk (*)(const void*, int64_t), const void*,
                                const Heads&, float*, const AttentionScratch&);
  Attend begin(const Heads& heads) const {
    Attend args{};
    args.n_tokens = heads.n_tokens;
    args.n_heads = heads.n_heads;
    args.head_dim = heads.head_dim;
    args.q = heads.q;
    args.q_stride = heads.q_stride;
    args.scale = heads.scale;
    args.max = max_.as<float>();
    args.sum = sum_.as<float>();
    args.values = values_.as<float>();
    args.scratch = work_.as<float>();
    return args;
  }
  AlignedBuffer max_, sum_, values_, work_;
};

// Writes weights[h * (position + 1) + p] for every head h of one token that sees nothing behind
// itself: how much of position p's value is in what attend() gives, after the softmax; 0 where the
// token doesn't see. chunk_of(of, c) returns the c-th KvChunk.
void attention_weights(const Kernels& kernels, KvChunk (*chunk_of)(const void* of, int64_t c),
                       const void* of, const Heads& heads, float* weights,
                       const AttentionScratch& scratch);

// Writes out[t * out_stride + h * head_dim ..] for every token t and head h. chunk_of(c) returns
// the c-th KvChunk; it is not called for chunks that no token sees. Chunks are merged in ascending
// order, and positions that a token doesn't see are left out of its sums. So the result does not
// depend on how tokens and heads are grouped.
template <typename ChunkOf>
void attend(const Kernels& kernels, const ChunkOf& chunk_of, const Heads& heads, float* out,
            int64_t out_stride, const AttentionScratch& scratch) {
  const int head_dim = heads.head_dim;
  const int padded = padded_head_dim(head_dim);
  Attend args = scratch.begin(heads);
  // The first token sees the positions [first_seen, end_seen). For each later token both are one
  // more.
  const bool all = heads.window == 0;
  const int64_t ahead = !heads.both_ways ? 0 : all ? heads.end : heads.window / 2;
  const int64_t end_seen = heads.position + 1 + ahead;
  const int64_t first_seen =
      heads.position - (heads.both_ways ? heads.window / 2 : heads.window - 1);
  const int64_t begin = all ? 0 : std::max<int64_t>(first_seen, 0);
  const int64_t end = std::min(end_seen + heads.n_tokens - 1, heads.end);
  for (int64_t chunk = begin / kKvChunk; chunk * kKvChunk < end; ++chunk) {
    const int64_t first = chunk * kKvChunk;
    args.chunk = chunk_of(chunk);
    args.n_visible = static_cast<int>(std::min<int64_t>(end_seen - first, kKvChunk));
    args.n_before = all ? kNoWindow : static_cast<int>(first_seen - first);
    args.n_filled = static_cast<int>(std::min<int64_t>(heads.end - first, kKvChunk));
    args.first = first <= begin;
    kernels.attend(args);
  }
  for (int i = 0; i < heads.n_tokens * heads.n_heads; ++i) {
    float* row = out + i / heads.n_heads * out_stride + i % heads.n_heads * head_dim;
    for (int d = 0; d < head_dim; ++d) row[d] = args.values[i * padded + d] / args.sum[i];
  }
}

}  // namespace sluice
