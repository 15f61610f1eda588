#include "state/timeline_rows.h"

#include <cstring>

namespace sluice {
namespace {

constexpr auto kStep = static_cast<int64_t>(kRowPositions);
constexpr size_t kBitBytes = kRowPositions / 8;

size_t windows_in(const Timeline& timeline) {
  return static_cast<size_t>(std::ranges::count_if(
      timeline.caches(), [](const KvCache& one) { return one.window() > 0; }));
}

size_t steps_of(int64_t begin, int64_t end) {
  return static_cast<size_t>((end - begin + kStep - 1) / kStep);
}

bool bit_at(const uint8_t* bits, int64_t i) { return (bits[i / 8] >> i % 8 & 1) != 0; }

}  // namespace

std::vector<uint8_t> kept_of(const Timeline& timeline, int64_t begin, int64_t end, bool piece) {
  std::vector<uint8_t> kept;
  const std::vector<int64_t> states = timeline.recurrent().saved();
  for (int64_t first = begin; first < end; first += kStep) {
    for (const KvCache& cache : timeline.caches())
      if (cache.window() > 0) kept.push_back(cache.keeps(first / kKvChunk) ? 1 : 0);
    if (!timeline.recurrent().any()) continue;
    kept.resize(kept.size() + kBitBytes);
    uint8_t* const bits = &kept[kept.size() - kBitBytes];
    for (const int64_t position : states) {
      const int64_t i = position - 1 - first;
      if (i < 0 || i >= kStep || position > end) continue;
      if (piece) std::memset(bits, 0, kBitBytes);
      bits[i / 8] |= static_cast<uint8_t>(1u << i % 8);
    }
  }
  return kept;
}

size_t kept_size(const Timeline& timeline, int64_t begin, int64_t end) {
  return (windows_in(timeline) + (timeline.recurrent().any() ? kBitBytes : 0)) *
         steps_of(begin, end);
}

bool can_be_kept(const Timeline& timeline, int64_t begin, int64_t end, bool piece,
                 std::span<const uint8_t> kept) {
  const size_t windows = windows_in(timeline);
  size_t at = 0;
  for (int64_t first = begin; first < end; first += kStep) {
    for (size_t i = 0; i < windows; ++i)
      if (kept[at++] > 1) return false;
    if (!timeline.recurrent().any()) continue;
    int n = 0;
    for (int64_t i = 0; i < kStep; ++i) {
      const bool one = bit_at(kept.data() + at, i);
      if (one && (first + i >= end || (piece && n > 0))) return false;
      n += one;
    }
    at += kBitBytes;
  }
  return true;
}

std::vector<uint8_t> kept_without_list(const Timeline& timeline, int64_t begin, int64_t end) {
  const size_t windows = windows_in(timeline);
  std::vector<uint8_t> kept(kept_size(timeline, begin, end), 0);
  const size_t n = kept.empty() ? 1 : kept.size() / steps_of(begin, end);
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = i % n < windows ? 1 : 0;
  return kept;
}

TimelineRows::TimelineRows(const Timeline& timeline, int64_t begin, int64_t end,
                           std::vector<uint8_t> kept, bool zeros)
    : n_windows_(windows_in(timeline)),
      n_kept_(kept_size(timeline, 0, 1)),
      begin_(begin),
      end_(end),
      kept_(std::move(kept)),
      zeros_(zeros),
      first_(begin) {
  const std::span<const KvCache> caches = timeline.caches();
  for (int64_t layer = 0; !caches.empty() && layer < caches[0].n_layers(); ++layer) {
    size_t window = 0;
    for (const KvCache& cache : caches) {
      if (cache.window() > 0) ++window;
      const int64_t n_heads = cache.own_heads(layer);
      if (n_heads > 0) layers_.push_back({layer, n_heads, cache.row_bytes(layer), window});
    }
  }
  const RecurrentState& recurrent = timeline.recurrent();
  state_bytes_ = recurrent.state_bytes();
  for (int64_t layer = 0; layer < recurrent.n_layers(); ++layer)
    if (recurrent.floats(layer) > 0) {
      recurrent_.push_back(layer);
      floats_.push_back(recurrent.floats(layer));
    }
  if (first_ < end_) states_ = states_of(first_);
  skip_absent();
}

const uint8_t* TimelineRows::kept_at(int64_t first) const {
  return kept_.data() + static_cast<size_t>((first - begin_) / kStep) * n_kept_;
}

bool TimelineRows::kept(int64_t first, size_t window) const {
  return window == 0 || kept_at(first)[window - 1] != 0;
}

std::vector<int64_t> TimelineRows::states_of(int64_t first) const {
  std::vector<int64_t> positions;
  if (recurrent_.empty()) return positions;
  for (int64_t i = 0; i < kStep; ++i)
    if (bit_at(kept_at(first) + n_windows_, i)) positions.push_back(first + i + 1);
  if (positions.empty() && zeros_) positions.push_back(kZeros);
  return positions;
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
    const auto add = [&all](uint64_t n, uint64_t bytes) {
      uint64_t product = 0;
      return !__builtin_mul_overflow(n, bytes, &product) &&
             !__builtin_add_overflow(all, product, &all);
    };
    const auto positions = static_cast<uint64_t>(chunk_end(first) - first);
    for (const Layer& layer : layers_) {
      if (!zeros_ && !kept(first, layer.window)) continue;
      uint64_t rows = 0;
      if (__builtin_mul_overflow(2 * static_cast<uint64_t>(layer.n_heads), positions, &rows) ||
          !add(rows, layer.row_bytes))
        return std::nullopt;
    }
    if (!add(states_of(first).size(), state_bytes_)) return std::nullopt;
  }
  return all;
}

size_t TimelineRows::bytes() const {
  return in_states() ? 4 * static_cast<size_t>(row_floats()) : here().row_bytes;
}

void TimelineRows::read(const Timeline& timeline, const Kernels& kernels, uint8_t* out) {
  if (in_states() ? position() == kZeros : !kept(first_, here().window))
    std::memset(out, 0, bytes());
  else if (in_states())
    std::memcpy(out, timeline.recurrent().state(layer(), position()) + float_, bytes());
  else
    timeline.keys_values(layer()).read_row(kernels, layer(), head_, position(), half_, out);
  next();
}

bool TimelineRows::write(Timeline& timeline, const Kernels& kernels, const uint8_t* row) {
  bool good = true;
  if (!in_states()) {
    good = !kept(first_, here().window) ||
           timeline.keys_values(layer()).write_row(kernels, layer(), head_, position(), half_, row);
  } else if (position() != kZeros) {
    for (size_t at = 0; at < bytes(); at += 4) {
      uint32_t bits = 0;
      std::memcpy(&bits, row + at, 4);
      good = good && (bits & 0x7f800000u) != 0x7f800000u;
    }
    std::memcpy(timeline.recurrent().state(layer(), position()) + float_, row, bytes());
  }
  next();
  return good;
}

bool TimelineRows::lacks_state(const Timeline& timeline) const {
  return !done() && in_states() && position() != kZeros && !timeline.recurrent().has(position());
}

bool TimelineRows::has_place(const Timeline& timeline) const {
  return timeline.positions() >= restored_end() && !lacks_state(timeline);
}

Status TimelineRows::restore_before(Timeline& timeline, std::span<const TokenId> tokens) const {
  while (timeline.positions() < restored_end()) {
    const int64_t first = timeline.positions();
    const auto at = static_cast<size_t>(first - begin_);
    const auto n = static_cast<size_t>(chunk_end(first) - first);
    SLUICE_TRY(timeline.restore(tokens.subspan(at, n), kept_by_caches(timeline, first)));
  }
  return lacks_state(timeline) ? timeline.restore_state(position()) : Status();
}

uint64_t TimelineRows::growth(const Timeline& timeline) const {
  uint64_t bytes = lacks_state(timeline) ? state_bytes_ : 0;
  for (int64_t first = timeline.positions(); first < restored_end(); first += kStep) {
    const std::vector<uint8_t> here = kept_by_caches(timeline, first);
    for (size_t i = 0; i < here.size(); ++i)
      bytes += here[i] != 0 ? timeline.caches()[i].chunk_bytes() : 0;
  }
  return bytes;
}

void TimelineRows::next() {
  if (in_states()) {
    float_ += row_floats();
    if (float_ < floats_[part_]) return;
    float_ = 0;
    if (++part_ < recurrent_.size()) return;
    part_ = 0;
    ++state_;
    return skip_absent();
  }
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

// Goes on to the next layer or recurrent state that has rows, perhaps of later positions.
void TimelineRows::skip_absent() {
  while (first_ < end_) {
    for (; at_ < layers_.size(); ++at_)
      if (zeros_ || kept(first_, here().window)) return;
    if (state_ < states_.size()) return;
    at_ = state_ = 0;
    first_ += kStep;
    if (first_ < end_) states_ = states_of(first_);
  }
}

}  // namespace sluice
