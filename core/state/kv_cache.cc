#include "state/kv_cache.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

int64_t chunks_of(int64_t positions) { return (positions + kKvChunk - 1) / kKvChunk; }

Result<AlignedBuffer> allocate(int64_t bytes) {
  return AlignedBuffer::allocate(static_cast<uint64_t>(bytes), "the KV cache");
}

}  // namespace

std::vector<int64_t> windows_of(std::span<const LayerShape> layers) {
  std::vector<int64_t> windows(layers.size());
  for (size_t l = 0; l < layers.size(); ++l) windows[l] = layers[l].window;
  for (const LayerShape& reader : layers) {
    int64_t& window = windows[static_cast<size_t>(reader.cache)];
    const bool all = window == 0 || reader.window == 0 || reader.both_ways;
    window = all ? 0 : std::max(window, reader.window);
  }
  for (size_t l = 0; l < layers.size(); ++l)
    windows[l] = windows[static_cast<size_t>(layers[l].cache)];
  return windows;
}

// Of a head, in a chunk; the layer's begin isn't known.
KvCache::Layout KvCache::layout_of(const LayerShape& layer) const {
  const int64_t element = element_bytes(), n_scales = scales_of(layer.head_dim);
  Layout at;
  at.head_dim = layer.head_dim;
  at.k_scales = kKvChunk * at.head_dim * element;
  at.v = at.k_scales + kKvChunk * n_scales * 4;
  at.v_scales = at.v + kKvChunk * padded_head_dim(at.head_dim) * element;
  at.bytes = at.v_scales + kKvChunk * n_scales * 4;
  return at;
}

KvCache::KvCache(std::span<const LayerShape> layers, KvType type, int64_t window)
    : type_(type), window_(window) {
  const std::vector<int64_t> windows = windows_of(layers);
  for (size_t l = 0; l < layers.size(); ++l) {
    Layout at = layout_of(layers[l]);
    at.begin = chunk_bytes_;
    const bool own = layers[l].cache == static_cast<int64_t>(l);
    if (windows[l] == window) {
      if (own) at.own_heads = layers[l].n_kv_heads;
      // The reader needs all of the pass's positions again.
      else
        whole_pass_ = true;
    }
    chunk_bytes_ += at.own_heads * at.bytes;
    layer_bytes_ = std::max(layer_bytes_, at.own_heads * at.bytes);
    layouts_.push_back(at);
  }
  whole_pass_ = whole_pass_ || window == 0;
}

KvCache::KvCache(std::span<const LayerShape> layers) : type_(KvType::f32), whole_pass_(true) {
  std::vector<bool> is_read(layers.size());
  for (size_t l = 0; l < layers.size(); ++l) {
    const auto of = static_cast<size_t>(layers[l].cache);
    if (of != l) is_read[of] = true;
    Layout at = layout_of(layers[l]);
    if (of == l) at.own_heads = layers[l].n_kv_heads;
    layouts_.push_back(at);
    if (!is_read[l]) layer_bytes_ = std::max(layer_bytes_, at.own_heads * at.bytes);
  }
  chunk_bytes_ = layer_bytes_;
  for (size_t l = 0; l < layers.size(); ++l) {
    if (!is_read[l]) continue;
    layouts_[l].begin = chunk_bytes_;
    chunk_bytes_ += layouts_[l].own_heads * layouts_[l].bytes;
  }
}

// --- what is kept --------------------------------------------------------------------------------

// Whether a pass that begins at the position `end` needs chunk c, or one that begins just before
// (so that the last token of a prompt can be computed again).
bool KvCache::needed_at(int64_t c, int64_t end) const {
  const int64_t begin = window_ == 0 ? 0 : std::max<int64_t>(end - window_, 0);
  return c * kKvChunk < end && (c + 1) * kKvChunk > begin;
}

bool KvCache::stays(int64_t c, int64_t end, std::span<const int64_t> marks) const {
  return needed_at(c, end) || std::ranges::any_of(marks, [&](int64_t mark) {
           return mark <= end && needed_at(c, mark);
         });
}

// The chunks that a pass from `begin` to `end` writes without keeping them lie in this range.
KvCache::Passing KvCache::passing_of(int64_t begin, int64_t end,
                                     std::span<const int64_t> marks) const {
  Passing passing;
  for (int64_t c = chunks_of(begin); !whole_pass_ && c * kKvChunk < end; ++c) {
    if (stays(c, end, marks)) continue;
    if (passing.first == passing.end) passing.first = c;
    passing.end = c + 1;
  }
  return passing;
}

bool KvCache::keeps(int64_t c) const {
  const auto index = static_cast<size_t>(c);
  return index < chunks_.size() && chunks_[index] != nullptr;
}

int64_t KvCache::window_chunks(int64_t positions) const {
  const int64_t all = chunks_of(positions);
  return window_ == 0 ? all : std::min(all, (window_ + kKvChunk - 1) / kKvChunk + 1);
}

int64_t KvCache::chunks_for(std::span<const int64_t> more, int64_t end,
                            std::span<const int64_t> ends) const {
  int64_t n = 0;
  for (int64_t c = 0; window_ > 0 && c * kKvChunk < end; ++c)
    n += stays(c, end, more) && !stays(c, end, ends);
  return n;
}

// Chunks of the ring for those within `span` consecutive ones: as many as the tokens of a block see
// between them.
int64_t KvCache::ring_chunks(int64_t span) const {
  return std::min(span, (window_ + kMostBlockTokens - 2) / kKvChunk + 2);
}

uint64_t KvCache::ring_bytes(int64_t positions) const {
  const int64_t beyond = chunks_of(positions) - window_chunks(positions);
  return whole_pass_ ? 0 : static_cast<uint64_t>(ring_chunks(beyond) * layer_bytes_);
}

int64_t KvCache::reach(int64_t n) const {
  const int64_t most = std::min(n, positions_);
  if (window_ == 0) return most;
  // The chunks [first, last) are here, one behind the other; a pass that begins behind the last one
  // sees none before them.
  for (int64_t last = chunks_of(most); last > 0;) {
    int64_t first = last;
    while (first > 0 && keeps(first - 1)) --first;
    const int64_t end = std::min(most, last * kKvChunk);
    const int64_t seen = std::max<int64_t>(end - window_ + 1, 0);
    if (first < last && seen >= first * kKvChunk) return end;
    last = first < last ? first : last - 1;
  }
  return 0;
}

Result<KvCache::Chunk> KvCache::make_chunk() const {
  SLUICE_ASSIGN(AlignedBuffer memory, allocate(chunk_bytes_));
  return std::make_shared<AlignedBuffer>(std::move(memory));
}

// Makes chunk c this cache's own. `has_past`: it has positions that stay.
Status KvCache::make_writable(int64_t c, bool has_past) {
  const auto index = static_cast<size_t>(c);
  if (index >= chunks_.size()) chunks_.resize(index + 1);
  Chunk& chunk = chunks_[index];
  if (chunk != nullptr && chunk.use_count() == 1) return {};
  SLUICE_ASSIGN(Chunk own, make_chunk());
  if (has_past && chunk != nullptr) std::memcpy(own->data(), chunk->data(), own->size());
  chunk = std::move(own);
  return {};
}

Status KvCache::append(int64_t n, std::span<const int64_t> marks) {
  const int64_t end = positions_ + n;
  const Passing passing = passing_of(positions_, end, marks);
  for (int64_t c = positions_ / kKvChunk; c * kKvChunk < end; ++c) {
    const bool has_past = c * kKvChunk < positions_;
    if (has_past || whole_pass_ || stays(c, end, marks)) SLUICE_TRY(make_writable(c, has_past));
  }
  std::vector<AlignedBuffer> ring;
  for (int64_t i = 0; i < ring_chunks(passing.end - passing.first); ++i) {
    SLUICE_ASSIGN(AlignedBuffer memory, allocate(layer_bytes_));
    ring.push_back(std::move(memory));
  }
  ring_ = std::move(ring);
  positions_ = end;
  return {};
}

void KvCache::settle(std::span<const int64_t> marks) {
  ring_.clear();
  if (window_ == 0) return;
  for (int64_t c = 0; c < chunks_of(positions_); ++c)
    if (keeps(c) && !stays(c, positions_, marks)) chunks_[static_cast<size_t>(c)].reset();
}

void KvCache::truncate(int64_t n) {
  positions_ = std::min(n, positions_);
  ring_.clear();
  const auto used = static_cast<size_t>(chunks_of(positions_));
  if (window_ > 0 && chunks_.size() > used) chunks_.resize(used);
}

Status KvCache::restore(int64_t n, bool kept) {
  if (kept || window_ == 0) SLUICE_TRY(make_writable(positions_ / kKvChunk, true));
  positions_ += n;
  return {};
}

KvCache KvCache::clone() const {
  KvCache copy;
  copy.type_ = type_;
  copy.window_ = window_;
  copy.whole_pass_ = whole_pass_;
  copy.layouts_ = layouts_;
  copy.chunk_bytes_ = chunk_bytes_;
  copy.layer_bytes_ = layer_bytes_;
  copy.positions_ = positions_;
  const auto used = std::min(chunks_.size(), static_cast<size_t>(chunks_of(positions_)));
  copy.chunks_.assign(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(used));
  return copy;
}

// --- memory --------------------------------------------------------------------------------------

int64_t KvCache::growth(int64_t keep, int64_t end, std::span<const int64_t> marks) const {
  const int64_t begin = std::min(keep, positions_);
  const int64_t written = begin / kKvChunk;  // the first chunk to which the pass writes
  const int64_t all = std::max(chunks_of(end), static_cast<int64_t>(chunks_.size()));
  int64_t chunks = 0;
  for (int64_t c = window_ == 0 ? written : 0; c < all; ++c) {
    const bool own = keeps(c) && chunks_[static_cast<size_t>(c)].use_count() == 1;
    const bool passed = c >= written && c * kKvChunk < end;
    if (passed && (c * kKvChunk < begin || whole_pass_ || stays(c, end, marks)))
      chunks += own ? 0 : 1;
    else if (window_ > 0 && own && !stays(c, begin, marks))
      --chunks;
  }
  const Passing passing = passing_of(begin, end, marks);
  return chunks * chunk_bytes_ + ring_chunks(passing.end - passing.first) * layer_bytes_;
}

uint64_t KvCache::bytes() const {
  uint64_t total = 0;
  for (const Chunk& chunk : chunks_)
    if (chunk != nullptr) total += chunk->size() / static_cast<uint64_t>(chunk.use_count());
  for (const AlignedBuffer& chunk : ring_) total += chunk.size();
  return total;
}

uint64_t KvCache::own_bytes() const {
  uint64_t total = 0;
  for (const Chunk& chunk : chunks_)
    if (chunk != nullptr && chunk.use_count() == 1) total += chunk->size();
  for (const AlignedBuffer& chunk : ring_) total += chunk.size();
  return total;
}

}  // namespace sluice
