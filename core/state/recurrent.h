// The state of layers that sum up all of their past in a fixed number of floats (LayerShape's
// `state`): the last inputs of a convolution, the matrices of a linear attention.
//
// It can't be cut. A pass can go on only from a position whose state was kept. The states of all
// layers at one position are one buffer, which never changes once its pass has ended: clones share
// it. Kept are those at the end, at the positions that the timeline names, and until the next pass
// the one before the last token, so that this token can be computed again. At position 0 there is
// none: a state begins as zeros.
//
// A pass writes new buffers: for its end, for the position before its last token, and for those of
// the named positions that lie in it. So what it began with stays until it has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "state/layer_shape.h"

namespace sluice {

class RecurrentState {
 public:
  explicit RecurrentState(std::span<const LayerShape> layers);
  RecurrentState() = default;

  // Whether a layer has such a state. If none has, all that follows does nothing.
  bool any() const { return bytes_ > 0; }
  int64_t n_layers() const { return static_cast<int64_t>(floats_.size()); }
  int64_t floats(int64_t layer) const { return floats_[static_cast<size_t>(layer)]; }
  uint64_t state_bytes() const { return bytes_; }  // of all layers, at one position
  int64_t positions() const { return positions_; }

  // The last position up to n whose state is here; 0 if none is.
  int64_t reach(int64_t n) const;
  // Keeps the states of the first n positions.
  void truncate(int64_t n);

  // Begins a pass of n tokens; keeps of what was before the end and `named`. Fails with
  // out_of_memory; abandon() must then be called.
  Status begin(int64_t n, std::span<const int64_t> named);
  void commit(std::span<const int64_t> named);
  void abandon();
  // Lets go of all but the end, what a pass left before its last token, and `named`.
  void settle(std::span<const int64_t> named);

  // The tokens of a pass under way from `position` up to `end`, until the next position whose state
  // is kept: n of them. Their layer's state before the first is read from `from` and the one behind
  // the last is written to `to`: the same place, or another one that says nothing yet.
  struct Stretch {
    int64_t n;
    const float* from;
    float* to;
  };
  Stretch stretch(int64_t layer, int64_t position, int64_t end) const;

  // A second one with the same past, without a pass under way.
  RecurrentState clone() const;
  // Bytes that truncate(keep) and begin() up to `end` positions would add; below 0 if they free
  // more.
  int64_t growth(int64_t keep, int64_t end, std::span<const int64_t> named) const;
  uint64_t bytes() const;      // a state that n timelines share counts 1 / n in each
  uint64_t own_bytes() const;  // only what no other timeline shares

  // For files. The positions whose states go there, which ascend.
  std::vector<int64_t> saved() const;
  bool has(int64_t position) const { return find(position) != nullptr; }
  // Of a position whose state is here.
  float* state(int64_t layer, int64_t position) const;
  // Adds positions, as if a pass had written them; and a place for the state of one of them, which
  // must come in ascending order. Fails with out_of_memory.
  void restore(int64_t n) { positions_ += n; }
  Status restore_state(int64_t position);

 private:
  struct State {
    int64_t position;
    std::shared_ptr<AlignedBuffer> buffer;  // [layers][floats]
  };
  bool stays(const State& state, std::span<const int64_t> named) const;
  std::vector<int64_t> stops(int64_t begin, int64_t end, std::span<const int64_t> named) const;
  const State* find(int64_t position) const;
  Result<State> make_state(int64_t position) const;
  float* part(const State& state, int64_t layer) const;

  std::vector<int64_t> floats_, begins_;  // by layer: floats, and where they are in a buffer
  uint64_t bytes_ = 0;
  int64_t positions_ = 0;
  std::vector<State> states_;  // ascending positions
  std::vector<State> pass_;    // of the pass under way
  int64_t pass_end_ = 0;
  int64_t passing_ = -1;  // a position whose state is kept only until the next pass; -1: none
};

}  // namespace sluice
