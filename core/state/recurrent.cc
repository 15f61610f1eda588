#include "state/recurrent.h"

#include <algorithm>

namespace sluice {
namespace {

bool contains(std::span<const int64_t> positions, int64_t position) {
  return std::ranges::find(positions, position) != positions.end();
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
  for (const State& state : states_)
    if (state.position == position) return &state;
  return nullptr;
}

Result<RecurrentState::State> RecurrentState::make_state(int64_t position) const {
  SLUICE_ASSIGN(AlignedBuffer buffer,
                AlignedBuffer::allocate(bytes_, "the state of recurrent layers"));
  return State{position, std::make_shared<AlignedBuffer>(std::move(buffer))};
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
  int64_t reached = 0;
  for (const State& state : states_)
    if (state.position <= n) reached = state.position;
  return reached;
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

// The positions whose states a pass writes, which ascend.
std::vector<int64_t> RecurrentState::stops(int64_t begin, int64_t end,
                                           std::span<const int64_t> named) const {
  std::vector<int64_t> all;
  for (int64_t last = begin; any() && last < end; all.push_back(last)) {
    int64_t next = last < end - 1 ? end - 1 : end;
    for (const int64_t position : named)
      if (position > last) next = std::min(next, position);
    last = next;
  }
  return all;
}

// In decoding a token's state gets the buffer of the one before the last, so nothing is allocated.
// At position 0 there is none to get, so all buffers are zeros.
Status RecurrentState::begin(int64_t n, std::span<const int64_t> named) {
  std::vector<State> free;
  for (State& state : states_)
    if (!stays(state, named) && state.buffer.use_count() == 1) free.push_back(std::move(state));
  passing_ = -1;
  settle(named);
  pass_end_ = positions_ + n;
  for (const int64_t stop : stops(positions_, pass_end_, named)) {
    if (free.empty()) {
      SLUICE_ASSIGN(State made, make_state(stop));
      pass_.push_back(std::move(made));
      continue;
    }
    pass_.push_back({stop, std::move(free.back().buffer)});
    free.pop_back();
  }
  return {};
}

void RecurrentState::commit(std::span<const int64_t> named) {
  if (!any()) return;
  positions_ = pass_end_;
  passing_ = positions_ - 1;
  for (State& state : pass_) states_.push_back(std::move(state));
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
  SLUICE_ASSIGN(State made, make_state(position));
  states_.push_back(std::move(made));
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
