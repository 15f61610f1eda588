// The memory that weights take: sums over the sizes of their pieces. Weights places its slots by
// them, and a plan is made of them before there are any weights (engine/plan.h).
#pragma once

#include <cstdint>
#include <vector>

#include "weights/tensor_manifest.h"

namespace sluice {

// `slots`, in ascending order, share `places` places. Each has a place of its own if `places` is 0
// or enough for all.
struct SharedPlaces {
  std::vector<int> slots;
  int places = 0;

  bool enabled() const { return places > 0 && static_cast<size_t>(places) < slots.size(); }
};

// The matrices with the handles `tables` belong to no slot: a cache holds `places` rows of each.
// They have a row for each token of the vocabulary: a token's rows come together. Slots that are
// never evicted may have the same bytes (tied embeddings, a late table). If they have all of a
// table's, its rows are read there once those are resident.
struct SingleRows {
  std::vector<int> tables;
  int64_t places = 0;

  // The matrix's place in the list; -1: it isn't in it.
  int index_of(int handle) const;
};

// Bytes of memory for a piece, whole units of kAlignment. A vector of 16-bit floats has its f32
// values first and then the file's bytes.
uint64_t memory_of(const Piece& piece);
// `rows` rows of a matrix from its row `first` on, in the same slot.
Piece rows_of(const Piece& matrix, int64_t first, int64_t rows);
// Bytes of memory for `places` single rows of a matrix, or for all of its rows if there are fewer.
uint64_t memory_of_rows(const Piece& matrix, int64_t places);

class WeightSizes {
 public:
  // Of all pieces in their slots, but for the tables of `rows`.
  explicit WeightSizes(const TensorManifest& manifest, const SingleRows& rows = {});

  // For what a manifest would be that is divided in another way. add() makes the piece's slot if
  // there is none; remove() is for a piece that is there.
  void add(const Piece& piece);
  void remove(const Piece& piece);
  void remove_slots_after(int slot) { slots_.resize(static_cast<size_t>(slot) + 1); }

  // Bytes of memory for a slot, and of the file in it.
  uint64_t slot_memory(int slot) const { return at(slot).memory; }
  uint64_t slot_bytes(int slot) const { return at(slot).bytes; }
  // Bytes of memory for each shared place, that of the largest slot; 0 if there are none.
  uint64_t shared_place_memory(const SharedPlaces& shared) const;
  // Bytes of memory for all slots and single rows.
  uint64_t memory(const SharedPlaces& shared = {}) const;

 private:
  struct Slot {
    uint64_t memory = 0;
    uint64_t bytes = 0;
  };
  const Slot& at(int slot) const { return slots_[static_cast<size_t>(slot)]; }

  std::vector<Slot> slots_;
  uint64_t rows_memory_ = 0;
};

}  // namespace sluice
