// A timeline's state as rows in a fixed order, for its file (session/session_file.h). The order and
// the rows are the same whatever kernels wrote the state.
//
// For each 256 positions (of the last ones, those that there are):
// - for each layer with keys and values of its own, for each of its KV heads: the keys of each
//   position, then the values of each position. A row is a key or a value: its numbers in their
//   order, then their scales. A layer with a window may have let go of some of the 256 positions:
//   their rows are left out, or are zeros in a piece.
// - for each state of recurrent layers that was kept behind one of these positions: the floats of
//   each such layer, in rows of at most kMostRowFloats. A piece has the last one of them alone, or
//   zeros.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "state/timeline.h"

namespace sluice {

inline constexpr size_t kRowPositions = kKvChunk;

inline constexpr int64_t kMostRowFloats = 4096;

// Which state is there, for each kRowPositions of [begin, end): for each of the timeline's caches
// with a window 1 if it has them and 0 if not; then, if the timeline has recurrent layers, bits:
// bit i of byte j is 1 if their state behind the position 8 * j + i of these is there. `begin` is a
// multiple of kRowPositions. `piece`: of recurrent states only the last of each kRowPositions.
std::vector<uint8_t> kept_of(const Timeline& timeline, int64_t begin, int64_t end, bool piece);
// How many numbers that are.
size_t kept_size(const Timeline& timeline, int64_t begin, int64_t end);
// Whether kept_of could give these numbers, of which there are kept_size.
bool can_be_kept(const Timeline& timeline, int64_t begin, int64_t end, bool piece,
                 std::span<const uint8_t> kept);
// As kept_of, for a file that has all rows of windows and no recurrent state.
std::vector<uint8_t> kept_without_list(const Timeline& timeline, int64_t begin, int64_t end);

class TimelineRows {
 public:
  // The rows of the positions from `begin`, a multiple of kRowPositions, to `end`, of which the
  // state in `kept` (see kept_of) is there. `zeros`: the rest has rows of zeros. Of the timeline it
  // keeps only what its layers are, so that it may be moved or gone.
  TimelineRows(const Timeline& timeline, int64_t begin, int64_t end, std::vector<uint8_t> kept,
               bool zeros);

  bool done() const { return first_ >= end_; }
  std::optional<uint64_t> all_bytes() const;  // of all rows; nothing if that doesn't fit 64 bits

  // Of the row that is next.
  size_t bytes() const;
  int64_t layer() const { return in_states() ? recurrent_[part_] : here().layer; }
  // The position that it is of; of a recurrent state, the one that follows.
  int64_t position() const { return in_states() ? states_[state_] : first_ + row_; }
  int64_t positions_end() const { return chunk_end(first_); }  // of those of the same 256
  // Whether the timeline has a place for it.
  bool has_place(const Timeline& timeline) const;
  // Copies the row to out[bytes()] and goes on to the next one. The timeline has its position.
  void read(const Timeline& timeline, const Kernels& kernels, uint8_t* out);
  // Takes the row from `row` and goes on to the next one, which has_place(). False: a number isn't
  // finite, or a scale is below 0.
  [[nodiscard]] bool write(Timeline& timeline, const Kernels& kernels, const uint8_t* row);
  // Gives the timeline the positions of `tokens` (of [begin, end)) that it lacks up to those of the
  // row that is next or, at the end, all; and the row its place. Fails with out_of_memory.
  Status restore_before(Timeline& timeline, std::span<const TokenId> tokens) const;
  // Bytes that restore_before() allocates.
  uint64_t growth(const Timeline& timeline) const;

 private:
  // A layer with keys and values of its own.
  struct Layer {
    int64_t layer, n_heads;
    size_t row_bytes;
    size_t window;  // of the caches with a window, the number of its own from 1 on; 0: none
  };
  const Layer& here() const { return layers_[at_]; }
  bool in_states() const { return at_ == layers_.size(); }
  int64_t row_floats() const { return std::min(floats_[part_] - float_, kMostRowFloats); }
  const uint8_t* kept_at(int64_t first) const;
  std::vector<int64_t> states_of(int64_t first) const;
  bool lacks_state(const Timeline& timeline) const;
  bool kept(int64_t first, size_t window) const;
  std::vector<uint8_t> kept_by_caches(const Timeline& timeline, int64_t first) const;
  int64_t chunk_end(int64_t first) const;
  int64_t restored_end() const { return done() ? end_ : chunk_end(first_); }
  void next();
  void skip_absent();

  std::vector<Layer> layers_;
  std::vector<int64_t> recurrent_;  // the layers that are, and
  std::vector<int64_t> floats_;     // the size of a state of each
  uint64_t state_bytes_ = 0;
  size_t n_windows_ = 0;
  size_t n_kept_ = 0;  // numbers in kept_ for kRowPositions
  int64_t begin_, end_;
  std::vector<uint8_t> kept_;
  bool zeros_;
  int64_t first_;  // of the positions that have their turn
  size_t at_ = 0;  // in layers_
  int64_t head_ = 0;
  KvCache::Half half_ = KvCache::Half::keys;
  int64_t row_ = 0;  // position - first_
  // The positions whose recurrent states have rows here, behind those of layers_; kZeros: none is.
  static constexpr int64_t kZeros = -1;
  std::vector<int64_t> states_;
  size_t state_ = 0;   // in states_
  size_t part_ = 0;    // in recurrent_
  int64_t float_ = 0;  // of the part's
};

}  // namespace sluice
