#include "state/timeline_rows.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr auto kStep = static_cast<int64_t>(kRowPositions);

}  // namespace

std::vector<uint8_t> kept_of(const Timeline& timeline, int64_t begin, int64_t end) {
  std::vector<uint8_t> kept;
  for (int64_t first = begin; first < end; first += kStep) {
    for (const KvCache& cache : timeline.caches())
      if (cache.window() > 0) kept.push_back(cache.keeps(first / kKvChunk) ? 1 : 0);
  }
  return kept;
}

size_t kept_size(const Timeline& timeline, int64_t begin, int64_t end) {
  const auto windows =
      std::ranges::count_if(timeline.caches(), [](const KvCache& one) { return one.window() > 0; });
  return static_cast<size_t>(windows * ((end - begin + kStep - 1) / kStep));
}

TimelineRows::TimelineRows(const Timeline& timeline, int64_t begin, int64_t end,
                           std::vector<uint8_t> kept, bool zeros)
    : begin_(begin), end_(end), kept_(std::move(kept)), zeros_(zeros), first_(begin) {
  const std::span<const KvCache> caches = timeline.caches();
  for (const KvCache& cache : caches) n_windows_ += cache.window() > 0;
  for (int64_t layer = 0; !caches.empty() && layer < caches[0].n_layers(); ++layer) {
    size_t window = 0;
    for (const KvCache& cache : caches) {
      if (cache.window() > 0) ++window;
      const int64_t n_heads = cache.own_heads(layer);
      if (n_heads > 0) layers_.push_back({layer, n_heads, cache.row_bytes(layer), window});
    }
  }
  skip_absent();
}

bool TimelineRows::kept(int64_t first, size_t window) const {
  if (window == 0) return true;
  const auto step = static_cast<size_t>((first - begin_) / kStep);
  return kept_[step * n_windows_ + window - 1] != 0;
}

// For each of the timeline's caches, whether it has the state of the kRowPositions from `first` on.
std::vector<uint8_t> TimelineRows::kept_by_caches(const Timeline& timeline, int64_t first) const {
  std::vector<uint8_t> all;
  size_t window = 0;
  for (const KvCache& cache : timeline.caches())
    all.push_back(kept(first, cache.window() > 0 ? ++window : 0) ? 1 : 0);
  return all;
}

int64_t TimelineRows::chunk_end(int64_t first) const { return std::min(first + kStep, end_); }

std::optional<uint64_t> TimelineRows::all_bytes() const {
  uint64_t all = 0;
  for (int64_t first = begin_; first < end_; first += kStep) {
    const auto positions = static_cast<uint64_t>(chunk_end(first) - first);
    for (const Layer& layer : layers_) {
      if (!zeros_ && !kept(first, layer.window)) continue;
      uint64_t rows = 0;
      if (__builtin_mul_overflow(2 * static_cast<uint64_t>(layer.n_heads), layer.row_bytes,
                                 &rows) ||
          __builtin_mul_overflow(rows, positions, &rows) || __builtin_add_overflow(all, rows, &all))
        return std::nullopt;
    }
  }
  return all;
}

void TimelineRows::read(const Timeline& timeline, const Kernels& kernels, uint8_t* out) {
  if (kept(first_, here().window))
    timeline.keys_values(layer()).read_row(kernels, layer(), head_, position(), half_, out);
  else
    std::memset(out, 0, bytes());
  next();
}

bool TimelineRows::write(Timeline& timeline, const Kernels& kernels, const uint8_t* row) {
  const bool good =
      !kept(first_, here().window) ||
      timeline.keys_values(layer()).write_row(kernels, layer(), head_, position(), half_, row);
  next();
  return good;
}

Status TimelineRows::restore_before(Timeline& timeline, std::span<const TokenId> tokens) const {
  while (timeline.positions() < restored_end()) {
    const int64_t first = timeline.positions();
    const auto at = static_cast<size_t>(first - begin_);
    const auto n = static_cast<size_t>(chunk_end(first) - first);
    SLUICE_TRY(timeline.restore(tokens.subspan(at, n), kept_by_caches(timeline, first)));
  }
  return {};
}

uint64_t TimelineRows::growth(const Timeline& timeline) const {
  uint64_t bytes = 0;
  for (int64_t first = timeline.positions(); first < restored_end(); first += kStep) {
    const std::vector<uint8_t> here = kept_by_caches(timeline, first);
    for (size_t i = 0; i < here.size(); ++i)
      bytes += here[i] != 0 ? timeline.caches()[i].chunk_bytes() : 0;
  }
  return bytes;
}

void TimelineRows::next() {
  if (++row_ < chunk_end(first_) - first_) return;
  row_ = 0;
  if (half_ == KvCache::Half::keys) {
    half_ = KvCache::Half::values;
    return;
  }
  half_ = KvCache::Half::keys;
  if (++head_ < here().n_heads) return;
  head_ = 0;
  ++at_;
  skip_absent();
}

// Goes on to the next layer that has rows, perhaps of later positions.
void TimelineRows::skip_absent() {
  while (first_ < end_) {
    for (; at_ < layers_.size(); ++at_)
      if (zeros_ || kept(first_, here().window)) return;
    at_ = 0;
    first_ += kStep;
  }
}

}  // namespace sluice
