// Weights: single rows of tables, as of the embedding.
#include <algorithm>
#include <cstring>
#include <utility>

#include "quant/quant.h"
#include "weights/weights.h"

namespace sluice {

// Makes the places of a table, without rows. All its rows have the same size.
void Weights::make_row_places(int index) {
  RowTable& table = row_tables_[static_cast<size_t>(index)];
  table.handle = single_.tables[static_cast<size_t>(index)];
  const Piece& all = parts_[static_cast<size_t>(table.handle)].piece;
  RowPlace place;
  place.part.piece = rows_of(all, 0, 1);
  place.part.piece.slot = -1 - index;
  place.part.unit = place.part.piece.bytes;
  place.part.matrix = Matrix{all.type, 1, all.cols, nullptr, false};
  table.places.assign(static_cast<size_t>(std::min(single_.places, all.rows)), place);
  table.rows.assign(table.places.size(), -1);
}

// Finds the pieces with bytes of the table in slots that are never evicted.
void Weights::find_table_parts(RowTable& table) {
  const Piece& all = parts_[static_cast<size_t>(table.handle)].piece;
  int64_t rows = 0;
  for (const int handle : order_) {
    const Piece& piece = parts_[static_cast<size_t>(handle)].piece;
    if (piece.tensor_index != all.tensor_index || at(piece.slot).shares_place) continue;
    table.parts.push_back(handle);
    rows += piece.rows;
  }
  if (rows == all.rows) table.missing_parts = static_cast<int>(table.parts.size());
}

bool Weights::tables_resident() const {
  for (const RowTable& table : row_tables_)
    if (table.missing_parts.load() != 0) return false;
  return true;
}

// The piece that has a row of the table and is resident; null if there is none.
const Weights::Part* Weights::resident_part_with(const RowTable& table, int64_t row) const {
  for (const int handle : table.parts) {
    const Part& part = parts_[static_cast<size_t>(handle)];
    const int64_t first = part.piece.first_row;
    if (row < first || row >= first + part.piece.rows) continue;
    if (state(part.piece.slot) == SlotState::resident) return &part;
  }
  return nullptr;
}

// The place that a row has; null if it has none. A map would take 3 KB of a page's modules, and the
// places are few.
const Weights::RowPlace* Weights::place_of(const RowTable& table, int64_t row) {
  const auto at = std::ranges::find(table.rows, row);
  return at == table.rows.end() ? nullptr
                                : &table.places[static_cast<size_t>(at - table.rows.begin())];
}
Weights::RowPlace* Weights::place_of(RowTable& table, int64_t row) {
  return const_cast<RowPlace*>(place_of(std::as_const(table), row));
}

// A place whose row isn't in the last request and isn't being loaded; null if there is none.
Weights::RowPlace* Weights::place_for_row(RowTable& table) {
  for (size_t i = 0; i < table.places.size(); ++i) {
    RowPlace& place = table.places[table.next_place];
    table.next_place = (table.next_place + 1) % table.places.size();
    if (place.request != row_requests_ && !place.on_the_way()) return &place;
  }
  return nullptr;
}

// One cursor at a time has the places: two could evict each other's rows for ever.
bool Weights::rows_here(const Cursor& cursor, std::span<const int32_t> rows) {
  if (rows_user_ != nullptr && rows_user_ != &cursor) return false;
  rows_user_ = &cursor;
  ++row_requests_;
  bool all = true;
  for (RowTable& table : row_tables_) all = rows_of_table_here(table, rows) && all;
  return all;
}

bool Weights::rows_of_table_here(RowTable& table, std::span<const int32_t> rows) {
  const Piece& whole = parts_[static_cast<size_t>(table.handle)].piece;
  for (const int64_t row : rows) {
    if (RowPlace* known = place_of(table, row); known != nullptr) known->request = row_requests_;
  }
  bool all = true;
  for (const int64_t row : rows) {
    if (resident_part_with(table, row) != nullptr) continue;
    if (const RowPlace* known = place_of(table, row); known != nullptr) {
      all = all && known->part.done == known->part.piece.bytes;
      continue;
    }
    all = false;
    RowPlace* place = place_for_row(table);
    if (place == nullptr) continue;
    table.rows[static_cast<size_t>(place - table.places.data())] = row;
    place->request = row_requests_;
    Part& part = place->part;
    part.piece.first_row = whole.first_row + row;
    part.piece.begin = whole.begin + static_cast<uint64_t>(row) * part.piece.bytes;
    part.asked = part.done = 0;
    part.arrived.clear();
  }
  return all;
}

std::vector<Want> Weights::row_wants() {
  const std::lock_guard lock(mutex_);
  std::vector<Want> wants;
  for (RowTable& table : row_tables_) {
    for (RowPlace& place : table.places) {
      Part& part = place.part;
      const Piece& row = part.piece;
      if (place.request != row_requests_ || part.asked > 0) continue;
      wants.push_back({row.begin, {part.place, static_cast<size_t>(row.bytes)}, part.unit});
      part.asked = row.bytes;
    }
  }
  return wants;
}

Status Weights::rows_filled(uint64_t offset, uint64_t n) {
  if (n == 0) return {};
  SLUICE_TRY(check_bytes(offset, n));
  for (RowTable& table : row_tables_)
    if (!table.places.empty()) SLUICE_TRY(table_filled(table, offset, n));
  return {};
}

Status Weights::table_filled(RowTable& table, uint64_t offset, uint64_t n) {
  const Piece& whole = parts_[static_cast<size_t>(table.handle)].piece;
  const uint64_t row_bytes = table.places[0].part.piece.bytes;
  const uint64_t end = std::min(offset + n, whole.begin + whole.bytes);
  for (uint64_t at = std::max(offset, whole.begin); at < end;) {
    const uint64_t row = (at - whole.begin) / row_bytes;
    const uint64_t first = whole.begin + row * row_bytes;
    const uint64_t next = std::min(first + row_bytes, end);
    RowPlace* place = nullptr;
    {
      const std::lock_guard lock(mutex_);
      RowPlace* known = place_of(table, static_cast<int64_t>(row));
      if (known != nullptr && known->on_the_way()) place = known;
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
  const int index = single_.index_of(handle);
  if (index < 0) return {&matrix(handle), row};
  const RowTable& table = row_tables_[static_cast<size_t>(index)];
  if (const Part* part = resident_part_with(table, row); part != nullptr)
    return {&part->matrix, row - part->piece.first_row};
  return {&place_of(table, row)->part.matrix, 0};
}

}  // namespace sluice
