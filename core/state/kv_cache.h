// The keys and values of one timeline, in chunks of kKvChunk positions that are added as the cache
// fills. A chunk is one piece of memory for all layers, so that it is large enough for large pages.
// The kernels define the layout of one head in a chunk (KvChunk in kernels/kernels.h).
//
// Clones share chunks, copy on write: append() copies a shared chunk before it is written to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "state/layer_shape.h"

namespace sluice {

class KvCache {
 public:
  KvCache() = default;
  // An empty cache. Layers that read an earlier layer's keys and values take no memory.
  KvCache(std::span<const LayerShape> layers, KvType type);
  // Bytes that so many positions take in all layers together.
  uint64_t bytes_for(int64_t positions) const;

  int64_t positions() const { return positions_; }
  // Adds n positions, which a pass is about to write. Fails with out_of_memory; the cache is then
  // as before.
  Status append(int64_t n);
  // Keeps the first n positions, or all if there are fewer. The memory stays.
  void truncate(int64_t n);
  // A second cache with the same past. A change of one doesn't change the other.
  KvCache clone() const;
  // Bytes that truncate(keep) and then append() up to `end` positions would allocate.
  uint64_t growth(int64_t keep, int64_t end) const;
  uint64_t bytes() const;      // a chunk that n caches share counts 1 / n in each
  uint64_t own_bytes() const;  // only chunks that no other cache shares

  // One head's part of chunk c, which has the positions from c * kKvChunk on.
  KvChunk chunk(int64_t layer, int64_t head, int64_t c) const;
  // Stores k and v [head_dim] of one position, rounded to the cache's type. Threads may store
  // different heads or positions at the same time.
  void store(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, const float* k,
             const float* v);

  int64_t n_layers() const { return static_cast<int64_t>(layouts_.size()); }
  // KV heads of a layer; 0 if it reads another layer's.
  int64_t own_heads(int64_t layer) const { return layout(layer).own_heads; }

  // Its rows, as a file has them: one position's keys or values of a head, first the elements in
  // their order, then their scales.
  enum class Half : uint8_t { keys, values };
  size_t row_bytes(int64_t layer) const;
  void read_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, Half half,
                uint8_t* row) const;
  // Returns false if a number isn't finite, or a scale is below 0.
  bool write_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, Half half,
                 const uint8_t* row);

 private:
  // Byte offsets of a head's part in a chunk: k | k_scales | v | v_scales.
  struct Layout {
    int64_t head_dim = 0;
    int64_t own_heads = 0;
    int64_t begin = 0;  // the layer's first head; the other offsets count from a head's begin
    int64_t k_scales = 0, v = 0, v_scales = 0, bytes = 0;
  };
  uint8_t* head_at(int64_t layer, int64_t head, int64_t c) const;
  int64_t element_bytes() const { return type_ == KvType::f32 ? 4 : type_ == KvType::f16 ? 2 : 1; }
  int64_t scales_of(int64_t head_dim) const {
    return type_ == KvType::q8_0 ? (head_dim + kKvScaleBlock - 1) / kKvScaleBlock : 0;
  }
  template <typename Visit>
  void visit_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, Half half,
                 const Visit& visit) const;
  const Layout& layout(int64_t layer) const { return layouts_[static_cast<size_t>(layer)]; }
  using Chunk = std::shared_ptr<AlignedBuffer>;
  Result<Chunk> make_chunk() const;
  Status make_writable(int64_t begin, int64_t end);

  KvType type_ = KvType::f16;
  std::vector<Layout> layouts_;
  int64_t chunk_bytes_ = 0;
  std::vector<Chunk> chunks_;
  int64_t positions_ = 0;
};

}  // namespace sluice
