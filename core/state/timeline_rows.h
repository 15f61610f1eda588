// A timeline's state as rows in a fixed order, for its file (session/session_file.h). The order and
// the rows are the same whatever kernels wrote the state.
//
// For each 256 positions (of the last ones, those that there are), for each layer with keys and
// values of its own, for each of its KV heads: the keys of each position, then the values of each
// position. A row is a key or a value: its numbers in their order, then their scales.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernels.h"
#include "state/timeline.h"

namespace sluice {

inline constexpr size_t kRowPositions = kKvChunk;

class TimelineRows {
 public:
  // The rows of the positions from `begin`, a multiple of kRowPositions, to `end`. Of the timeline
  // it keeps only what its layers are, so that it may be moved or gone.
  TimelineRows(const Timeline& timeline, int64_t begin, int64_t end);

  bool done() const { return begin_ == end_ || first_ >= end_; }
  std::optional<uint64_t> all_bytes() const;  // of all rows; nothing if that doesn't fit 64 bits

  // Of the row that is next.
  size_t bytes() const { return here().row_bytes; }
  int64_t layer() const { return layers_[at_].layer; }
  int64_t position() const { return first_ + row_; }
  // The position behind the last one whose rows come before those of later positions.
  int64_t positions_end() const;
  // Copies the row to out[bytes()] and goes on to the next one. The timeline has its position.
  void read(const Timeline& timeline, const Kernels& kernels, uint8_t* out);
  // Takes the row from `row` and goes on to the next one. The timeline has its position, perhaps of
  // a pass under way. False: a number isn't finite, or a scale is below 0.
  [[nodiscard]] bool write(Timeline& timeline, const Kernels& kernels, const uint8_t* row);

 private:
  // A layer with keys and values of its own.
  struct Layer {
    int64_t layer, n_heads;
    size_t row_bytes;
  };
  const Layer& here() const { return layers_[at_]; }
  void next();

  std::vector<Layer> layers_;
  int64_t begin_, end_;
  int64_t first_;  // of the positions that have their turn
  size_t at_ = 0;  // in layers_
  int64_t head_ = 0;
  KvCache::Half half_ = KvCache::Half::keys;
  int64_t row_ = 0;  // position - first_
};

}  // namespace sluice
