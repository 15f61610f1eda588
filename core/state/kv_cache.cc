#include "state/kv_cache.h"

#include <algorithm>
#include <cstring>

namespace sluice {

KvCache::KvCache(std::span<const LayerShape> layers, KvType type) : type_(type) {
  const int64_t element = element_bytes();
  for (size_t l = 0; l < layers.size(); ++l) {
    const int64_t head_dim = layers[l].head_dim;
    const int64_t n_scales = scales_of(head_dim);
    Layout at;
    at.head_dim = head_dim;
    at.begin = chunk_bytes_;
    at.k_scales = kKvChunk * head_dim * element;
    at.v = at.k_scales + kKvChunk * n_scales * 4;
    at.v_scales = at.v + kKvChunk * padded_head_dim(head_dim) * element;
    at.bytes = at.v_scales + kKvChunk * n_scales * 4;
    if (layers[l].cache == static_cast<int64_t>(l)) at.own_heads = layers[l].n_kv_heads;
    chunk_bytes_ += at.own_heads * at.bytes;
    layouts_.push_back(at);
  }
}

uint64_t KvCache::bytes_for(int64_t positions) const {
  return static_cast<uint64_t>((positions + kKvChunk - 1) / kKvChunk * chunk_bytes_);
}

uint64_t KvCache::bytes() const {
  uint64_t total = 0;
  for (const Chunk& chunk : chunks_)
    total += chunk->size() / static_cast<uint64_t>(chunk.use_count());
  return total;
}

uint64_t KvCache::growth(int64_t keep, int64_t end) const {
  uint64_t chunks = 0;
  for (int64_t c = std::min(keep, positions_) / kKvChunk; c * kKvChunk < end; ++c) {
    const auto index = static_cast<size_t>(c);
    chunks += index >= chunks_.size() || chunks_[index].use_count() > 1;
  }
  return chunks * static_cast<uint64_t>(chunk_bytes_);
}

uint64_t KvCache::own_bytes() const {
  uint64_t total = 0;
  for (const Chunk& chunk : chunks_) total += chunk.use_count() == 1 ? chunk->size() : 0;
  return total;
}

Result<KvCache::Chunk> KvCache::make_chunk() const {
  SLUICE_ASSIGN(AlignedBuffer memory,
                AlignedBuffer::allocate(static_cast<uint64_t>(chunk_bytes_), "the KV cache"));
  return std::make_shared<AlignedBuffer>(std::move(memory));
}

// Copies the chunks of these positions that are shared. Positions before `begin` keep their keys
// and values.
Status KvCache::make_writable(int64_t begin, int64_t end) {
  for (int64_t c = begin / kKvChunk; c * kKvChunk < end; ++c) {
    const auto index = static_cast<size_t>(c);
    if (index == chunks_.size()) {
      SLUICE_ASSIGN(Chunk chunk, make_chunk());
      chunks_.push_back(std::move(chunk));
    } else if (chunks_[index].use_count() > 1) {
      SLUICE_ASSIGN(Chunk chunk, make_chunk());
      if (c * kKvChunk < begin) std::memcpy(chunk->data(), chunks_[index]->data(), chunk->size());
      chunks_[index] = std::move(chunk);
    }
  }
  return {};
}

Status KvCache::append(int64_t n) {
  SLUICE_TRY(make_writable(positions_, positions_ + n));
  positions_ += n;
  return {};
}

void KvCache::truncate(int64_t n) { positions_ = std::min(n, positions_); }

KvCache KvCache::clone() const {
  KvCache copy;
  copy.type_ = type_;
  copy.layouts_ = layouts_;
  copy.chunk_bytes_ = chunk_bytes_;
  copy.positions_ = positions_;
  const int64_t used = (positions_ + kKvChunk - 1) / kKvChunk;
  copy.chunks_.assign(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(used));
  return copy;
}

uint8_t* KvCache::head_at(int64_t layer, int64_t head, int64_t c) const {
  const Layout& at = layout(layer);
  return chunks_[static_cast<size_t>(c)]->data() + at.begin + head * at.bytes;
}

KvChunk KvCache::chunk(int64_t layer, int64_t head, int64_t c) const {
  const Layout& at = layout(layer);
  const uint8_t* base = head_at(layer, head, c);
  return {type_, base, reinterpret_cast<const float*>(base + at.k_scales), base + at.v,
          reinterpret_cast<const float*>(base + at.v_scales)};
}

void KvCache::store(const Kernels& kernels, int64_t layer, int64_t head, int64_t position,
                    const float* k, const float* v) {
  const Layout& at = layout(layer);
  uint8_t* base = head_at(layer, head, position / kKvChunk);
  const auto in_chunk = static_cast<int>(position % kKvChunk);
  const auto head_dim = static_cast<int>(at.head_dim);
  kernels.store_k(type_, k, head_dim, in_chunk, base, reinterpret_cast<float*>(base + at.k_scales));
  kernels.store_v(type_, v, head_dim, in_chunk, base + at.v,
                  reinterpret_cast<float*>(base + at.v_scales));
}

}  // namespace sluice
