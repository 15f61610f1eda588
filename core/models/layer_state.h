// What a timeline keeps of the past for its layers, one object for all layers of a kind. Keys and
// values (kv_cache.h) are the first kind; a recurrent or convolution state is another.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/aligned.h"
#include "base/result.h"

namespace sluice {

// A copy of a state, taken at a position; of use for the same model, kernel table and KV type.
struct Snapshot {
  int64_t positions = 0;
  AlignedBuffer bytes;
};

// `positions`: those of the past that the state stands for.
template <typename T>
concept LayerState = std::movable<T> &&
    requires(T state, const T fixed, int64_t n, const Snapshot& snapshot) {
  { fixed.positions() } -> std::same_as<int64_t>;
  // The n positions that a pass is about to write. out_of_memory leaves the state as it was.
  { state.append(n) } -> std::same_as<Status>;
  // Goes back to the first n positions, or to the most below that it can (nothing, at the worst: a
  // sum over the past can't be cut); returns how many it keeps. Memory stays.
  { state.truncate(n) } -> std::same_as<int64_t>;
  // out_of_memory.
  { fixed.snapshot() } -> std::same_as<Result<Snapshot>>;
  // Back to what it was then. invalid_argument where the snapshot is of another shape;
  // out_of_memory. A state that fails keeps nothing.
  { state.restore(snapshot) } -> std::same_as<Status>;
  // Another state with the same past: neither sees what becomes of the other. out_of_memory.
  { fixed.clone() } -> std::same_as<Result<T>>;
  { fixed.bytes() } -> std::same_as<uint64_t>;  // held now
};

}  // namespace sluice
