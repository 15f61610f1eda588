// The state that a timeline keeps of its past: one object for all layers of a kind. Keys and values
// (kv_cache.h) are the first kind; a recurrent or convolution state is another.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/aligned.h"
#include "base/result.h"

namespace sluice {

// A copy of a state. It can be restored with the same model, kernel table and KV type only.
struct Snapshot {
  int64_t positions = 0;
  AlignedBuffer bytes;
};

// positions() is how many positions of the past the state covers.
template <typename T>
concept LayerState = std::movable<T> &&
    requires(T state, const T fixed, int64_t n, const Snapshot& snapshot) {
  { fixed.positions() } -> std::same_as<int64_t>;
  // Adds n positions, which a pass is about to write. Fails with out_of_memory; the state is then
  // as before.
  { state.append(n) } -> std::same_as<Status>;
  // Keeps the first n positions, or fewer if it can't keep just n: perhaps none, since a sum over
  // the past can't be taken apart. Returns how many it keeps. The memory stays.
  { state.truncate(n) } -> std::same_as<int64_t>;
  // Fails with out_of_memory.
  { fixed.snapshot() } -> std::same_as<Result<Snapshot>>;
  // Goes back to a snapshot. Fails with invalid_argument if that has another shape, or with
  // out_of_memory; the state is then empty.
  { state.restore(snapshot) } -> std::same_as<Status>;
  // A second state with the same past. A change of one doesn't change the other. Fails with
  // out_of_memory.
  { fixed.clone() } -> std::same_as<Result<T>>;
  { fixed.bytes() } -> std::same_as<uint64_t>;  // held now
};

}  // namespace sluice
