// Weights: single rows of the embedding.
#include <algorithm>
#include <cstring>

#include "quant/quant.h"
#include "weights/weights.h"

namespace sluice {

// Makes the places, without rows. All rows have the same size.
void Weights::make_row_places() {
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  RowPlace place;
  place.part.piece = rows_of(table, 0, 1);
  place.part.piece.slot = -1;
  place.part.unit = place.part.piece.bytes;
  place.part.matrix = Matrix{table.type, 1, table.cols, nullptr, false};
  row_places_.assign(static_cast<size_t>(std::min(single_.places, table.rows)), place);
}

// Finds the pieces with bytes of the table in slots that are never evicted.
void Weights::find_table_parts() {
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  int64_t rows = 0;
  for (const int handle : order_) {
    const Piece& piece = parts_[static_cast<size_t>(handle)].piece;
    if (piece.tensor_index != table.tensor_index || at(piece.slot).shares_place) continue;
    table_parts_.push_back(handle);
    rows += piece.rows;
  }
  if (rows == table.rows) missing_table_parts_ = static_cast<int>(table_parts_.size());
}

// The piece that has a row of the table and is resident; null if there is none.
const Weights::Part* Weights::resident_part_with(int64_t row) const {
  for (const int handle : table_parts_) {
    const Part& part = parts_[static_cast<size_t>(handle)];
    const int64_t first = part.piece.first_row;
    if (row < first || row >= first + part.piece.rows) continue;
    if (state(part.piece.slot) == SlotState::resident) return &part;
  }
  return nullptr;
}

// A place whose row isn't in the last request and isn't being loaded; null if there is none.
Weights::RowPlace* Weights::place_for_row() {
  for (size_t i = 0; i < row_places_.size(); ++i) {
    RowPlace& place = row_places_[next_row_place_];
    next_row_place_ = (next_row_place_ + 1) % row_places_.size();
    if (place.request != row_requests_ && !place.on_the_way()) return &place;
  }
  return nullptr;
}

// One cursor at a time has the places: two could evict each other's rows for ever.
bool Weights::rows_here(const Cursor& cursor, std::span<const int32_t> rows) {
  if (rows_user_ != nullptr && rows_user_ != &cursor) return false;
  rows_user_ = &cursor;
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  ++row_requests_;
  for (const int64_t row : rows) {
    if (const auto known = place_of_row_.find(row); known != place_of_row_.end())
      row_places_[known->second].request = row_requests_;
  }
  bool all = true;
  for (const int64_t row : rows) {
    if (resident_part_with(row) != nullptr) continue;
    if (const auto known = place_of_row_.find(row); known != place_of_row_.end()) {
      const Part& part = row_places_[known->second].part;
      all = all && part.done == part.piece.bytes;
      continue;
    }
    all = false;
    RowPlace* place = place_for_row();
    if (place == nullptr) continue;
    place_of_row_.erase(place->row);
    place_of_row_[row] = static_cast<size_t>(place - row_places_.data());
    place->row = row;
    place->request = row_requests_;
    Part& part = place->part;
    part.piece.first_row = table.first_row + row;
    part.piece.begin = table.begin + static_cast<uint64_t>(row) * part.piece.bytes;
    part.asked = part.done = 0;
    part.arrived.clear();
  }
  return all;
}

std::vector<Want> Weights::row_wants() {
  const std::lock_guard lock(mutex_);
  std::vector<Want> wants;
  for (RowPlace& place : row_places_) {
    Part& part = place.part;
    const Piece& row = part.piece;
    if (place.row < 0 || place.request != row_requests_ || part.asked > 0) continue;
    wants.push_back({row.begin, {part.place, static_cast<size_t>(row.bytes)}, part.unit});
    part.asked = row.bytes;
  }
  return wants;
}

Status Weights::rows_filled(uint64_t offset, uint64_t n) {
  if (n == 0 || row_places_.empty()) return {};
  SLUICE_TRY(check_bytes(offset, n));
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  const uint64_t row_bytes = row_places_[0].part.piece.bytes;
  const uint64_t end = std::min(offset + n, table.begin + table.bytes);
  for (uint64_t at = std::max(offset, table.begin); at < end;) {
    const uint64_t row = (at - table.begin) / row_bytes;
    const uint64_t first = table.begin + row * row_bytes;
    const uint64_t next = std::min(first + row_bytes, end);
    RowPlace* place = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto known = place_of_row_.find(static_cast<int64_t>(row));
      if (known != place_of_row_.end() && row_places_[known->second].on_the_way())
        place = &row_places_[known->second];
    }
    // A read may include rows between those that are wanted.
    if (place != nullptr) SLUICE_TRY(receive(place->part, {at - first, next - first}, Form::file));
    at = next;
  }
  return {};
}

void Weights::read_row(int handle, int64_t row, float* out) const {
  const auto [matrix, at] = matrix_with(handle, row);
  sluice::read_row(*matrix, at, out);
}

void Weights::read_file_row(int handle, int64_t row, uint8_t* out) const {
  const Part& part = parts_[static_cast<size_t>(handle)];
  if (part.piece.is_vector) {
    // Its matrix has the f32 values.
    std::memcpy(out, part.place, static_cast<size_t>(part.piece.bytes));
    return;
  }
  const auto [matrix, at] = matrix_with(handle, row);
  sluice::read_file_row(*matrix, at, out);
}

// Where a row is in memory.
std::pair<const Matrix*, int64_t> Weights::matrix_with(int handle, int64_t row) const {
  if (handle != single_.table) return {&matrix(handle), row};
  if (const Part* part = resident_part_with(row); part != nullptr)
    return {&part->matrix, row - part->piece.first_row};
  return {&row_places_[place_of_row_.find(row)->second].part.matrix, 0};
}

}  // namespace sluice
