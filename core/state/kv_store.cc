// KvCache: what a pass does for each position and each head.
#include "state/kv_cache.h"

namespace sluice {

uint8_t* KvCache::head_at(int64_t layer, int64_t head, int64_t c) const {
  const Layout& at = layout(layer);
  if (keeps(c)) return chunks_[static_cast<size_t>(c)]->data() + at.begin + head * at.bytes;
  return ring_[static_cast<size_t>(c) % ring_.size()].data() + head * at.bytes;
}

KvChunk KvCache::chunk(int64_t layer, int64_t head, int64_t c, int64_t first) const {
  const Layout& at = layout(layer);
  const uint8_t* base = head_at(layer, head, c);
  return {type_, base + first * at.head_dim * 4, reinterpret_cast<const float*>(base + at.k_scales),
          base + at.v + first * 16 * 4, reinterpret_cast<const float*>(base + at.v_scales)};
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
