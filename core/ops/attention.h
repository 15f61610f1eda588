// Attention of one token over cached chunks (kernels/kernels.h, Attend).
#pragma once

#include <cstdint>

#include "base/aligned.h"
#include "kernels/kernels.h"

namespace sluice {

// One worker's scratch for up to max_queries heads.
class AttentionScratch {
 public:
  static uint64_t bytes(int64_t max_queries, int64_t head_dim);
  static Result<AttentionScratch> allocate(int64_t max_queries, int64_t head_dim);

 private:
  template <typename ChunkOf>
  friend void attend(const Kernels&, const ChunkOf&, int64_t, const float*, int, int, float, float*,
                     const AttentionScratch&);
  AlignedBuffer max_, sum_, values_, work_;
};

// out[q][head_dim] for n_queries heads q[n_queries][head_dim] that share a KV head, over the first
// n_positions positions. chunk_of(c) gives the c-th KvChunk. Chunks are merged in order, so the
// result does not depend on who computes what.
template <typename ChunkOf>
void attend(const Kernels& kernels, const ChunkOf& chunk_of, int64_t n_positions, const float* q,
            int n_queries, int head_dim, float scale, float* out, const AttentionScratch& scratch) {
  const int padded = (head_dim + 15) / 16 * 16;
  Attend args{};
  args.head_dim = head_dim;
  args.n_queries = n_queries;
  args.q = q;
  args.scale = scale;
  args.max = scratch.max_.as<float>();
  args.sum = scratch.sum_.as<float>();
  args.values = scratch.values_.as<float>();
  args.scratch = scratch.work_.as<float>();
  for (int64_t first = 0; first < n_positions; first += kKvChunk) {
    args.chunk = chunk_of(first / kKvChunk);
    args.n_positions =
        static_cast<int>(n_positions - first < kKvChunk ? n_positions - first : kKvChunk);
    args.first = first == 0;
    kernels.attend(args);
  }
  for (int i = 0; i < n_queries; ++i) {
    for (int d = 0; d < head_dim; ++d) {
      out[i * head_dim + d] = args.values[i * padded + d] / args.sum[i];
    }
  }
}

}  // namespace sluice
