// The keys and values of the layers that see as far back as each other, in chunks of kKvChunk
// positions at absolute multiples of it. A chunk is one piece of memory for all these layers, so
// that it is large enough for large pages. The kernels define the layout of one head in a chunk
// (KvChunk in kernels/kernels.h).
//
// A cache without a window keeps all positions. One with a window keeps what tokens behind its end
// can see, and the same before each mark: a position to which it may be cut. While a pass goes
// through a layer, positions that won't be kept are in a ring, which has the memory of one layer.
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

// The tokens of one pass that store their keys and values in a layer before any of them attends, at
// most: a pass's block may have fewer (pass/pass.h).
inline constexpr int64_t kMostBlockTokens = 256;

// How far back the keys and values of each layer are seen: by all layers that read them, in
// positions, a token's own included; 0: all. A layer that reads another's has the same as that.
std::vector<int64_t> windows_of(std::span<const LayerShape> layers);

class KvCache {
 public:
  // An empty cache, which takes no memory yet. It has those of the layers whose window (windows_of)
  // is `window`; layers that read another's keys and values take no memory.
  KvCache(std::span<const LayerShape> layers, KvType type, int64_t window);
  // One for a single pass, f32, of all layers: they take turns in the same memory, because nothing
  // is kept once a layer is computed. But layers that others read have memory of their own.
  explicit KvCache(std::span<const LayerShape> layers);

  int64_t window() const { return window_; }
  int64_t positions() const { return positions_; }
  // The bytes of a chunk of all its layers.
  uint64_t chunk_bytes() const { return static_cast<uint64_t>(chunk_bytes_); }
  // The chunks that stay for one position from which a pass may begin, at most; and all that so
  // many positions have. Without a window they are the same.
  int64_t window_chunks(int64_t positions) const;
  // Of the chunks that the marks `more` need, those that neither the end nor the marks `ends` need.
  int64_t chunks_for(std::span<const int64_t> more, int64_t end,
                     std::span<const int64_t> ends) const;
  // Whether a pass keeps all that it writes until it ends: there is no window, or a layer reads
  // another's keys and values, all of them again.
  bool whole_pass() const { return whole_pass_; }
  // Bytes of the ring, in a pass that ends at so many positions.
  uint64_t ring_bytes(int64_t positions) const;

  // Adds n positions, which a pass is about to write. Fails with out_of_memory; the
  // cache is then as before.
  Status append(int64_t n, std::span<const int64_t> marks);
  // The pass has ended: lets go of the ring, and of the chunks that neither the end nor a mark
  // needs.
  void settle(std::span<const int64_t> marks);
  // Keeps the first n positions, or all if there are fewer; of these what it has. The memory of a
  // cache without a window stays.
  void truncate(int64_t n);
  // How many of the first n positions can stay if a pass is to go on behind them: the most that
  // has all that its first token sees.
  int64_t reach(int64_t n) const;
  // Adds the positions of a file up to the next chunk's begin, at most, as if a pass had written
  // them. `kept`: their rows will be written; else the cache has no chunk for them. Fails with
  // out_of_memory.
  Status restore(int64_t n, bool kept);
  // Whether it has the chunk c: the positions from c * kKvChunk on.
  bool keeps(int64_t c) const;

  // A second cache with the same past. A change of one doesn't change the other.
  KvCache clone() const;
  // Bytes that truncate(keep), settle(marks) and append() up to `end` positions would add to what
  // all caches have; below 0 if they free more. Chunks that other caches share aren't freed.
  int64_t growth(int64_t keep, int64_t end, std::span<const int64_t> marks) const;
  uint64_t bytes() const;      // a chunk that n caches share counts 1 / n in each
  uint64_t own_bytes() const;  // only chunks that no other cache shares

  // One head's part of chunk c; from its position `first` on, a multiple of 16, of f32.
  KvChunk chunk(int64_t layer, int64_t head, int64_t c, int64_t first = 0) const;
  // Stores k and v [head_dim] of one position, rounded to the cache's type. Threads may store
  // different heads or positions at the same time.
  void store(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, const float* k,
             const float* v);

  int64_t n_layers() const { return static_cast<int64_t>(layouts_.size()); }
  // KV heads of a layer; 0 if it has no keys and values here.
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
  using Chunk = std::shared_ptr<AlignedBuffer>;

  KvCache() = default;
  uint8_t* head_at(int64_t layer, int64_t head, int64_t c) const;
  int64_t element_bytes() const { return type_ == KvType::f32 ? 4 : type_ == KvType::f16 ? 2 : 1; }
  int64_t scales_of(int64_t head_dim) const {
    return type_ == KvType::q8_0 ? (head_dim + kKvScaleBlock - 1) / kKvScaleBlock : 0;
  }
  template <typename Visit>
  void visit_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position, Half half,
                 const Visit& visit) const;
  Layout layout_of(const LayerShape& layer) const;
  const Layout& layout(int64_t layer) const { return layouts_[static_cast<size_t>(layer)]; }
  bool needed_at(int64_t c, int64_t end) const;
  bool stays(int64_t c, int64_t end, std::span<const int64_t> marks) const;
  struct Passing {
    int64_t first = 0, end = 0;
  };
  Passing passing_of(int64_t begin, int64_t end, std::span<const int64_t> marks) const;
  int64_t ring_chunks(int64_t span) const;
  Result<Chunk> make_chunk() const;
  Status make_writable(int64_t c, bool has_past);

  KvType type_ = KvType::f16;
  int64_t window_ = 0;
  bool whole_pass_ = false;
  std::vector<Layout> layouts_;
  int64_t chunk_bytes_ = 0;
  int64_t layer_bytes_ = 0;    // of the largest layer's part of a chunk
  std::vector<Chunk> chunks_;  // by their number; null: not kept
  // One layer's chunks of positions that are not kept: chunk c is at c % its size.
  std::vector<AlignedBuffer> ring_;
  int64_t positions_ = 0;
};

}  // namespace sluice
