#include "weights/sizes.h"

#include <algorithm>

#include "base/aligned.h"

namespace sluice {

int SingleRows::index_of(int handle) const {
  const auto found = std::ranges::find(tables, handle);
  return found == tables.end() ? -1 : static_cast<int>(found - tables.begin());
}

uint64_t memory_of(const Piece& piece) {
  const bool widened = piece.is_vector && piece.type != Type::F32;
  const uint64_t floats = widened ? 4 * static_cast<uint64_t>(piece.cols) : 0;
  return round_up(floats, kAlignment) + round_up(piece.bytes, kAlignment);
}

Piece rows_of(const Piece& matrix, int64_t first, int64_t rows) {
  const uint64_t row_bytes = matrix.bytes / static_cast<uint64_t>(matrix.rows);
  Piece piece = matrix;
  piece.first_row += first;
  piece.rows = rows;
  piece.begin += static_cast<uint64_t>(first) * row_bytes;
  piece.bytes = static_cast<uint64_t>(rows) * row_bytes;
  return piece;
}

uint64_t memory_of_rows(const Piece& matrix, int64_t places) {
  return static_cast<uint64_t>(std::min(places, matrix.rows)) * memory_of(rows_of(matrix, 0, 1));
}

WeightSizes::WeightSizes(const TensorManifest& manifest, const SingleRows& rows)
    : slots_(static_cast<size_t>(manifest.n_slots())) {
  for (const Piece& piece : manifest.pieces()) add(piece);
  for (const int handle : rows.tables) {
    const Piece& table = manifest.piece(handle);
    remove(table);
    rows_memory_ += memory_of_rows(table, rows.places);
  }
}

void WeightSizes::add(const Piece& piece) {
  const auto slot = static_cast<size_t>(piece.slot);
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  slots_[slot].memory += memory_of(piece);
  slots_[slot].bytes += piece.bytes;
}

void WeightSizes::remove(const Piece& piece) {
  Slot& slot = slots_[static_cast<size_t>(piece.slot)];
  slot.memory -= memory_of(piece);
  slot.bytes -= piece.bytes;
}

uint64_t WeightSizes::shared_place_memory(const SharedPlaces& shared) const {
  uint64_t largest = 0;
  if (!shared.enabled()) return 0;
  for (const int slot : shared.slots) largest = std::max(largest, slot_memory(slot));
  return largest;
}

uint64_t WeightSizes::memory(const SharedPlaces& shared) const {
  uint64_t total = rows_memory_;
  for (const Slot& slot : slots_) total += slot.memory;
  if (!shared.enabled()) return total;
  for (const int slot : shared.slots) total -= slot_memory(slot);
  return total + shared_place_memory(shared) * static_cast<uint64_t>(shared.places);
}

}  // namespace sluice
