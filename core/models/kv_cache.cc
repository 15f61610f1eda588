#include "models/kv_cache.h"

namespace sluice {

void KvCache::configure(KvType type, std::vector<int64_t> n_kv_heads, int64_t head_dim) {
  type_ = type;
  head_dim_ = head_dim;
  element_ = type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1;
  n_scales_ = type == KvType::q8_0 ? (head_dim + kKvScaleBlock - 1) / kKvScaleBlock : 0;
  k_bytes_ = kKvChunk * head_dim_ * element_;
  v_bytes_ = kKvChunk * ((head_dim + 15) / 16 * 16) * element_;
  k_scale_bytes_ = kKvChunk * n_scales_ * 4;
  head_bytes_ = k_bytes_ + k_scale_bytes_ + v_bytes_ + kKvChunk * n_scales_ * 4;
  layer_at_.clear();
  chunk_bytes_ = 0;
  for (const int64_t n_heads : n_kv_heads) {
    layer_at_.push_back(chunk_bytes_);
    chunk_bytes_ += n_heads * head_bytes_;
  }
  chunks_.clear();
}

uint64_t KvCache::bytes_for(int64_t positions) const {
  return static_cast<uint64_t>((positions + kKvChunk - 1) / kKvChunk * chunk_bytes_);
}

uint64_t KvCache::bytes() const { return chunks_.empty() ? 0 : chunks_.size() * chunks_[0].size(); }

Status KvCache::reserve(int64_t positions) {
  const auto n_chunks = static_cast<size_t>((positions + kKvChunk - 1) / kKvChunk);
  while (chunks_.size() < n_chunks) {
    SLUICE_ASSIGN(AlignedBuffer chunk,
                  AlignedBuffer::allocate(static_cast<uint64_t>(chunk_bytes_), "the KV cache"));
    chunks_.push_back(std::move(chunk));
  }
  return {};
}

uint8_t* KvCache::head_at(int64_t layer, int64_t head, int64_t c) const {
  return chunks_[static_cast<size_t>(c)].data() + layer_at_[static_cast<size_t>(layer)] +
         head * head_bytes_;
}

KvChunk KvCache::chunk(int64_t layer, int64_t head, int64_t c) const {
  const uint8_t* base = head_at(layer, head, c);
  return {type_, base, reinterpret_cast<const float*>(base + k_bytes_),
          base + k_bytes_ + k_scale_bytes_,
          reinterpret_cast<const float*>(base + k_bytes_ + k_scale_bytes_ + v_bytes_)};
}

void KvCache::store(const Kernels& kernels, int64_t layer, int64_t head, int64_t position,
                    const float* k, const float* v) {
  uint8_t* base = head_at(layer, head, position / kKvChunk);
  const auto in_chunk = static_cast<int>(position % kKvChunk);
  const auto head_dim = static_cast<int>(head_dim_);
  kernels.store_k(type_, k, head_dim, in_chunk, base, reinterpret_cast<float*>(base + k_bytes_));
  uint8_t* v_base = base + k_bytes_ + k_scale_bytes_;
  kernels.store_v(type_, v, head_dim, in_chunk, v_base,
                  reinterpret_cast<float*>(v_base + v_bytes_));
}

}  // namespace sluice
