#include "state/recurrent.h"

#include <algorithm>

namespace sluice {
namespace {

bool contains(std::span<const int64_t> positions, int64_t position) {
  return std::ranges::find(positions, position) != positions.end();
}

Result<AlignedBuffer> allocate(uint64_t bytes) {
  return AlignedBuffer::allocate(bytes, "the state of recurrent layers");
}

}  // namespace

RecurrentState::RecurrentState(std::span<const LayerShape> layers) {
  int64_t all = 0;
  for (const LayerShape& layer : layers) {
    floats_.push_back(layer.state);
    begins_.push_back(all);
    all += layer.state;
  }
  bytes_ = 4 * static_cast<uint64_t>(all);
}

// --- what is kept --------------------------------------------------------------------------------

const RecurrentState::State* RecurrentState::find(int64_t position) const {
  const auto found = std::ranges::lower_bound(states_, position, {}, &State::position);
  return found != states_.end() && found->position == position ? &*found : nullptr;
}

float* RecurrentState::part(const State& state, int64_t layer) const {
  return state.buffer->as<float>() + begins_[static_cast<size_t>(layer)];
}

float* RecurrentState::state(int64_t layer, int64_t position) const {
  return part(*find(position), layer);
}

bool RecurrentState::stays(const State& state, std::span<const int64_t> named) const {
  return state.position == positions_ || contains(named, state.position);
}

int64_t RecurrentState::reach(int64_t n) const {
  if (!any()) return n;
  const auto behind = std::ranges::upper_bound(states_, n, {}, &State::position);
  return behind == states_.begin() ? 0 : std::prev(behind)->position;
}

void RecurrentState::truncate(int64_t n) {
  positions_ = std::min(n, positions_);
  pass_.clear();
  std::erase_if(states_, [&](const State& state) { return state.position > positions_; });
  if (passing_ >= positions_) passing_ = -1;
}

void RecurrentState::settle(std::span<const int64_t> named) {
  if (contains(named, passing_)) passing_ = -1;
  std::erase_if(states_, [&](const State& state) {
    return !stays(state, named) && state.position != passing_;
  });
}

// --- a pass --------------------------------------------------------------------------------------

// The positions whose states a pass writes.
std::vector<int64_t> RecurrentState::stops(int64_t begin, int64_t end,
                                           std::span<const int64_t> named) const {
  std::vector<int64_t> all;
  if (!any()) return all;
  for (const int64_t position : named)
    if (position > begin && position < end) all.push_back(position);
  if (end - 1 > begin) all.push_back(end - 1);
  all.push_back(end);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// In decoding a token's state gets the buffer of the one before the last, so nothing is allocated.
Status RecurrentState::begin(int64_t n, std::span<const int64_t> named) {
  std::vector<std::shared_ptr<AlignedBuffer>> free;
  for (State& state : states_)
    if (!stays(state, named) && state.buffer.use_count() == 1)
      free.push_back(std::move(state.buffer));
  passing_ = -1;
  settle(named);
  pass_end_ = positions_ + n;
  for (const int64_t stop : stops(positions_, pass_end_, named)) {
    if (free.empty()) {
      SLUICE_ASSIGN(AlignedBuffer buffer, allocate(bytes_));
      free.push_back(std::make_shared<AlignedBuffer>(std::move(buffer)));
    } else if (positions_ == 0) {
      std::fill_n(free.back()->data(), bytes_, uint8_t{0});
    }
    pass_.push_back({stop, std::move(free.back())});
    free.pop_back();
  }
  return {};
}

void RecurrentState::commit(std::span<const int64_t> named) {
  if (!any()) return;
  positions_ = pass_end_;
  passing_ = positions_ - 1;
  std::ranges::move(pass_, std::back_inserter(states_));
  pass_.clear();
  settle(named);
}

void RecurrentState::abandon() { pass_.clear(); }

RecurrentState::Stretch RecurrentState::stretch(int64_t layer, int64_t position,
                                                int64_t end) const {
  size_t next = 0;
  while (pass_[next].position <= position) ++next;
  float* const to = part(pass_[next], layer);
  const int64_t n = std::min(end, pass_[next].position) - position;
  if (next > 0 && pass_[next - 1].position == position)
    return {n, part(pass_[next - 1], layer), to};
  // The pass's first token; but at position 0 the new buffer has the zeros.
  if (position == positions_ && position > 0) return {n, state(layer, position), to};
  return {n, to, to};
}

// --- clones, files and memory --------------------------------------------------------------------

RecurrentState RecurrentState::clone() const {
  RecurrentState copy = *this;
  copy.pass_.clear();
  return copy;
}

std::vector<int64_t> RecurrentState::saved() const {
  std::vector<int64_t> positions;
  for (const State& state : states_)
    if (state.position != passing_) positions.push_back(state.position);
  return positions;
}

Status RecurrentState::restore_state(int64_t position) {
  SLUICE_ASSIGN(AlignedBuffer buffer, allocate(bytes_));
  states_.push_back({position, std::make_shared<AlignedBuffer>(std::move(buffer))});
  return {};
}

int64_t RecurrentState::growth(int64_t keep, int64_t end, std::span<const int64_t> named) const {
  const int64_t begin = std::min(keep, positions_);
  auto states = static_cast<int64_t>(stops(begin, end, named).size());
  for (const State& state : states_) {
    const bool stay =
        state.position == begin || (state.position < begin && contains(named, state.position));
    if (!stay && state.buffer.use_count() == 1) --states;
  }
  return states * static_cast<int64_t>(bytes_);
}

uint64_t RecurrentState::bytes() const {
  uint64_t total = bytes_ * pass_.size();
  for (const State& state : states_)
    total += bytes_ / static_cast<uint64_t>(state.buffer.use_count());
  return total;
}

uint64_t RecurrentState::own_bytes() const {
  uint64_t total = bytes_ * pass_.size();
  for (const State& state : states_) total += state.buffer.use_count() == 1 ? bytes_ : 0;
  return total;
}

}  // namespace sluice
