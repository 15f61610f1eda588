#include "state/timeline.h"

#include <algorithm>
#include <bit>

namespace sluice {

KvType kv_type_named(std::string_view name) {
  return name == "f32" ? KvType::f32 : name == "q8_0" ? KvType::q8_0 : KvType::f16;
}

namespace {

constexpr int64_t kNoCache = -1;  // in place of a layer's window

}  // namespace

Timeline::Timeline(std::span<const LayerShape> layers, KvType type, uint64_t allowance)
    : recurrent_(layers), allowance_(allowance) {
  std::vector<int64_t> windows = windows_of(layers);
  for (size_t l = 0; l < layers.size(); ++l)
    if (layers[l].n_kv_heads == 0) windows[l] = kNoCache;
  for (int64_t last = -1;;) {
    int64_t next = INT64_MAX;
    for (const int64_t window : windows)
      if (window > last) next = std::min(next, window);
    if (next == INT64_MAX) break;
    caches_.emplace_back(layers, type, last = next);
  }
  for (const int64_t window : windows) {
    uint8_t at = 0;
    while (window != kNoCache && caches_[at].window() != window) ++at;
    cache_of_.push_back(at);
  }
}

Timeline::Timeline(std::span<const LayerShape> layers)
    : cache_of_(layers.size(), 0), recurrent_(layers) {
  caches_.emplace_back(layers);
}

// --- marks ---------------------------------------------------------------------------------------

std::vector<int64_t> Timeline::Marks::all() const {
  std::vector<int64_t> marks = more;
  marks.insert(marks.end(), prompt_ends.begin(), prompt_ends.end());
  return marks;
}

std::vector<int64_t> Timeline::Marks::states() const {
  std::vector<int64_t> positions = more;
  for (const int64_t end : prompt_ends) positions.push_back(end - 1);
  return positions;
}

// A recurrent state of a mark stands before its last token. With a mark to come, what comes behind
// that state has the token, too: it was placed where two prompts are the same.
Timeline::Marks Timeline::marks_up_to(int64_t n) const {
  Marks marks = marks_;
  const auto drop_behind = [](std::vector<int64_t>& some, int64_t last) {
    while (!some.empty() && some.back() > last) some.pop_back();
  };
  drop_behind(marks.prompt_ends, recurrent_.any() && later_ > n ? n + 1 : n);
  drop_behind(marks.more, n);
  return marks;
}

// The marks that a pass from `begin` to `end` leaves. They don't depend on how a text is divided
// into passes.
Timeline::Marks Timeline::marks_of_pass(int64_t begin, int64_t end) const {
  Marks marks = marks_up_to(begin);
  if (!needs_marks()) return marks;
  bool later = later_ > begin && later_ <= end;
  for (int64_t mark = (begin / kKvChunk + 1) * kKvChunk; mark <= end; mark += kKvChunk) {
    if (later && later_ < mark) {
      add_prompt_end(marks, later_);
      later = false;
    }
    marks.more.push_back(mark);
    thin(marks, mark);
  }
  if (later) add_prompt_end(marks, later_);
  return marks;
}

// Leaves out marks whose neighbours lie so close that their distances from the end are within a
// factor of two, then the oldest ones until the rest keeps to the allowance, up to the next time.
void Timeline::thin(Marks& marks, int64_t end) const {
  std::vector<int64_t>& more = marks.more;
  for (size_t i = 1; i + 1 < more.size();) {
    if (end - more[i - 1] <= 2 * (end - more[i + 1]) || more[i] == more[i + 1])
      more.erase(more.begin() + static_cast<ptrdiff_t>(i));
    else
      ++i;
  }
  const int64_t next = end + kKvChunk - 1;
  const auto bytes = [&] {
    uint64_t sum = more.size() * recurrent_.state_bytes();
    for (const KvCache& cache : caches_)
      sum += static_cast<uint64_t>(cache.chunks_for(more, next, marks.prompt_ends)) *
             cache.chunk_bytes();
    return sum;
  };
  while (!more.empty() && bytes() > allowance_) more.erase(more.begin());
}

// The oldest of three becomes one of the others.
void Timeline::add_prompt_end(Marks& marks, int64_t position) const {
  std::vector<int64_t>& ends = marks.prompt_ends;
  if (!ends.empty() && ends.back() >= position) return;
  ends.push_back(position);
  if (ends.size() <= 2) return;
  const int64_t oldest = ends.front() - (recurrent_.any() ? 1 : 0);
  auto at = marks.more.begin();
  while (at != marks.more.end() && *at < oldest) ++at;
  marks.more.insert(at, oldest);
  ends.erase(ends.begin());
  thin(marks, position);
}

void Timeline::mark() {
  add_prompt_end(marks_, positions());
  for (KvCache& cache : caches_) cache.settle(marks_.all());
  recurrent_.settle(marks_.states());
}

// --- the past ------------------------------------------------------------------------------------

int64_t Timeline::reach(int64_t n) const {
  int64_t reached = std::clamp<int64_t>(n, 0, positions());
  for (int64_t before = -1; before != reached;) {
    before = reached;
    for (const KvCache& cache : caches_) reached = cache.reach(reached);
    reached = recurrent_.reach(reached);
  }
  return reached;
}

void Timeline::cut(int64_t n) {
  const int64_t kept = std::clamp<int64_t>(n, 0, positions());
  for (KvCache& cache : caches_) cache.truncate(kept);
  recurrent_.truncate(kept);
  tokens_.resize(static_cast<size_t>(kept));
  marks_ = marks_up_to(kept);
}

Status Timeline::begin(std::span<const TokenId> tokens, int64_t places) {
  const auto n = static_cast<int64_t>(tokens.size());
  pass_marks_ = marks_of_pass(positions(), positions() + n);
  const std::vector<int64_t> marks = pass_marks_.all();
  std::erase_if(marks_.more,
                [&](int64_t mark) { return !std::ranges::binary_search(pass_marks_.more, mark); });
  for (KvCache& cache : caches_) cache.settle(marks);
  for (KvCache& cache : caches_) {
    const Status appended = cache.append(places > 0 ? places : n, marks);
    if (appended) continue;
    abandon();
    return appended;
  }
  if (const Status begun = recurrent_.begin(n, pass_marks_.states()); !begun) {
    abandon();
    return begun;
  }
  pass_.assign(tokens.begin(), tokens.end());
  return {};
}

void Timeline::commit() {
  if (pass_.empty()) return;
  tokens_.insert(tokens_.end(), pass_.begin(), pass_.end());
  pass_.clear();
  marks_ = std::move(pass_marks_);
  for (KvCache& cache : caches_) cache.settle(marks_.all());
  recurrent_.commit(marks_.states());
}

void Timeline::abandon() {
  for (KvCache& cache : caches_) cache.truncate(positions());
  recurrent_.abandon();
  pass_.clear();
}

Status Timeline::restore(std::span<const TokenId> tokens, std::span<const uint8_t> kept) {
  for (size_t i = 0; i < caches_.size(); ++i)
    SLUICE_TRY(caches_[i].restore(static_cast<int64_t>(tokens.size()), kept[i] != 0));
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  recurrent_.restore(static_cast<int64_t>(tokens.size()));
  if (has_windows() && !recurrent_.any()) mark_restored(positions());
  return {};
}

Status Timeline::restore_state(int64_t position) {
  SLUICE_TRY(recurrent_.restore_state(position));
  mark_restored(position);
  return {};
}

void Timeline::mark_restored(int64_t position) {
  if (position % kKvChunk != 0 || reach(position) != position) return;
  marks_.more.push_back(position);
  thin(marks_, position);
}

void Timeline::restore_prompt_ends(std::span<const int64_t> ends) {
  marks_.prompt_ends.assign(ends.begin(), ends.end());
}

Timeline Timeline::clone() const {
  Timeline copy;
  for (const KvCache& cache : caches_) {
    copy.caches_.push_back(cache.clone());
    copy.caches_.back().truncate(positions());
  }
  copy.cache_of_ = cache_of_;
  copy.recurrent_ = recurrent_.clone();
  copy.allowance_ = allowance_;
  copy.tokens_ = tokens_;
  copy.marks_ = marks_;
  return copy;
}

// --- memory --------------------------------------------------------------------------------------

uint64_t Timeline::bytes_for(int64_t positions) const {
  const auto n = static_cast<uint64_t>((positions + kKvChunk - 1) / kKvChunk);
  uint64_t bytes = 0, all = 0, marks = 0;
  for (const KvCache& cache : caches_) {
    const auto window = static_cast<uint64_t>(cache.window_chunks(positions));
    bytes += (cache.whole_pass() ? n : window) * cache.chunk_bytes() + cache.ring_bytes(positions);
    if (cache.whole_pass()) continue;
    all += (n - window) * cache.chunk_bytes();
    // Two ends of prompts, and where a pass that is under way began.
    marks += 3 * window * cache.chunk_bytes();
  }
  // Two ends of prompts, where a pass began, before its last token and at its end. Other marks are
  // two for each doubling of the distance.
  bytes += 5 * recurrent_.state_bytes();
  all += static_cast<uint64_t>(2 * std::bit_width(static_cast<uint64_t>(positions)) + 4) *
         recurrent_.state_bytes();
  return bytes + std::min(all, marks + allowance_);
}

uint64_t Timeline::bytes_per_chunk() const {
  uint64_t bytes = 0;
  for (const KvCache& cache : caches_) bytes += cache.whole_pass() ? cache.chunk_bytes() : 0;
  return bytes;
}

uint64_t Timeline::growth(int64_t keep, int64_t end) const {
  const Marks pass = marks_of_pass(std::min(keep, positions()), end);
  const std::vector<int64_t> marks = pass.all();
  int64_t bytes = recurrent_.growth(keep, end, pass.states());
  for (const KvCache& cache : caches_) bytes += cache.growth(keep, end, marks);
  return static_cast<uint64_t>(std::max<int64_t>(bytes, 0));
}

uint64_t Timeline::bytes() const {
  uint64_t bytes = recurrent_.bytes();
  for (const KvCache& cache : caches_) bytes += cache.bytes();
  return bytes;
}

uint64_t Timeline::own_bytes() const {
  uint64_t bytes = recurrent_.own_bytes();
  for (const KvCache& cache : caches_) bytes += cache.own_bytes();
  return bytes;
}

}  // namespace sluice
