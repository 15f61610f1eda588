// KvCache: its rows as a file has them (state/timeline_rows.h).
#include <cstring>

#include "state/kv_cache.h"

namespace sluice {

size_t KvCache::row_bytes(int64_t layer) const {
  const int64_t head_dim = layout(layer).head_dim;
  return static_cast<size_t>(head_dim * element_bytes() + 4 * scales_of(head_dim));
}

// Calls visit(place in the chunk, place in the row, bytes) for each number of a row (KvChunk).
template <typename Visit>
void KvCache::visit_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position,
                        Half half, const Visit& visit) const {
  const Layout& at = layout(layer);
  const bool keys = half == Half::keys;
  uint8_t* const base = head_at(layer, head, position / kKvChunk);
  const int64_t n = position % kKvChunk;
  const int64_t bytes = element_bytes();
  const bool paired = type_ == KvType::f16 && kernels.paired_halves;
  const auto place = [paired](int64_t i) { return paired ? half_place(static_cast<int>(i)) : i; };
  for (int64_t i = 0; i < at.head_dim; ++i) {
    const int64_t element = keys ? (n / 16 * at.head_dim + i) * 16 + place(n % 16)
                                 : (i / 16 * kKvChunk + n) * 16 + place(i % 16);
    visit(base + (keys ? 0 : at.v) + element * bytes, i * bytes, bytes);
  }
  const int64_t n_scales = scales_of(at.head_dim);
  for (int64_t i = 0; i < n_scales; ++i) {
    const int64_t scale = keys ? (n / 16 * n_scales + i) * 16 + n % 16 : n * n_scales + i;
    visit(base + (keys ? at.k_scales : at.v_scales) + scale * 4, at.head_dim * bytes + 4 * i, 4);
  }
}

void KvCache::read_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position,
                       Half half, uint8_t* row) const {
  visit_row(kernels, layer, head, position, half,
            [row](const uint8_t* number, int64_t at, int64_t bytes) {
              std::memcpy(row + at, number, static_cast<size_t>(bytes));
            });
}

bool KvCache::write_row(const Kernels& kernels, int64_t layer, int64_t head, int64_t position,
                        Half half, const uint8_t* row) {
  bool finite = true;
  visit_row(kernels, layer, head, position, half,
            [row, &finite](uint8_t* number, int64_t at, int64_t bytes) {
              uint32_t bits = 0;
              std::memcpy(&bits, row + at, static_cast<size_t>(bytes));
              std::memcpy(number, row + at, static_cast<size_t>(bytes));
              if (bytes == 2) finite = finite && (bits & 0x7c00u) != 0x7c00u;
              if (bytes == 4) finite = finite && (bits & 0x7f800000u) != 0x7f800000u;
            });
  if (type_ != KvType::q8_0) return finite;
  const int64_t head_dim = layout(layer).head_dim;
  for (int64_t i = 0; i < scales_of(head_dim); ++i) {
    float scale = 0;
    std::memcpy(&scale, row + head_dim + 4 * i, 4);
    finite = finite && scale >= 0;
  }
  return finite;
}

}  // namespace sluice
