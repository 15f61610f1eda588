// Keys and values of one timeline: chunks of kKvChunk positions that are added as the cache fills,
// each one piece of memory for all layers, so that it is large enough for large pages. The layout
// of a head's part is the kernels' (kernels/kernels.h, KvChunk).
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "kernels/kernels.h"

namespace sluice {

class KvCache {
 public:
  // n_kv_heads[layer] heads of head_dim.
  void configure(KvType type, std::vector<int64_t> n_kv_heads, int64_t head_dim);
  // Bytes that `positions` positions take, over all layers.
  uint64_t bytes_for(int64_t positions) const;
  uint64_t bytes() const;  // held now

  // Makes room for positions 0 .. positions-1. On out_of_memory what was there stays.
  Status reserve(int64_t positions);

  // The chunk holding positions c * kKvChunk ... of one head.
  KvChunk chunk(int64_t layer, int64_t head, int64_t c) const;
  // Rounds k and v [head_dim] into their place. Different heads and positions may be stored by
  // different threads at once.
  void store(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, const float* k,
             const float* v);

 private:
  uint8_t* head_at(int64_t layer, int64_t head, int64_t c) const;

  KvType type_ = KvType::f16;
  int64_t head_dim_ = 0;
  int64_t element_ = 2;   // bytes
  int64_t n_scales_ = 0;  // a head's scale blocks (q8_0)
  // A head's part of a chunk: k | k_scales | v | v_scales, in bytes.
  int64_t k_bytes_ = 0, k_scale_bytes_ = 0, v_bytes_ = 0, head_bytes_ = 0;
  std::vector<int64_t> layer_at_;  // where a layer's heads begin in a chunk
  int64_t chunk_bytes_ = 0;
  std::vector<AlignedBuffer> chunks_;
};

}  // namespace sluice
