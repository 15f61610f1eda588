#include "state/timeline_rows.h"

#include <algorithm>

namespace sluice {

TimelineRows::TimelineRows(const Timeline& timeline, int64_t begin, int64_t end)
    : begin_(begin), end_(end), first_(begin) {
  const KvCache& kv = timeline.keys_values();
  for (int64_t layer = 0; layer < kv.n_layers(); ++layer) {
    const int64_t n_heads = kv.own_heads(layer);
    if (n_heads > 0) layers_.push_back({layer, n_heads, kv.row_bytes(layer)});
  }
  // No file is so long that its rows never begin: a model without any keys has no rows.
  if (layers_.empty()) first_ = end_;
}

int64_t TimelineRows::positions_end() const {
  return std::min(first_ + static_cast<int64_t>(kRowPositions), end_);
}

std::optional<uint64_t> TimelineRows::all_bytes() const {
  uint64_t position = 0;
  for (const Layer& layer : layers_) {
    uint64_t rows = 0;
    if (__builtin_mul_overflow(2 * static_cast<uint64_t>(layer.n_heads), layer.row_bytes, &rows) ||
        __builtin_add_overflow(position, rows, &position))
      return std::nullopt;
  }
  uint64_t all = 0;
  if (__builtin_mul_overflow(position, static_cast<uint64_t>(end_ - begin_), &all))
    return std::nullopt;
  return all;
}

void TimelineRows::read(const Timeline& timeline, const Kernels& kernels, uint8_t* out) {
  timeline.keys_values().read_row(kernels, layer(), head_, position(), half_, out);
  next();
}

bool TimelineRows::write(Timeline& timeline, const Kernels& kernels, const uint8_t* row) {
  const bool good =
      timeline.keys_values().write_row(kernels, layer(), head_, position(), half_, row);
  next();
  return good;
}

void TimelineRows::next() {
  if (++row_ < positions_end() - first_) return;
  row_ = 0;
  if (half_ == KvCache::Half::keys) {
    half_ = KvCache::Half::values;
    return;
  }
  half_ = KvCache::Half::keys;
  if (++head_ < here().n_heads) return;
  head_ = 0;
  if (++at_ < layers_.size()) return;
  at_ = 0;
  first_ += static_cast<int64_t>(kRowPositions);
}

}  // namespace sluice
