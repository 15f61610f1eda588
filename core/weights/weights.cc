#include "weights/weights.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "quant/quant.h"

namespace sluice {

// --- places --------------------------------------------------------------------------------------

Weights::Weights(const Needs& needs, const SharedPlaces& shared, const SingleRows& rows)
    : shared_(shared), single_(rows), slots_(static_cast<size_t>(needs.n_slots())) {
  for (const Piece& piece : needs.pieces()) {
    Part part;
    if (static_cast<int>(parts_.size()) == single_.table) {
      part.piece = piece;
      parts_.push_back(std::move(part));
      make_row_places();
      continue;
    }
    part.piece = piece;
    part.matrix = Matrix{piece.type, piece.rows, piece.cols, nullptr, !piece.is_vector};
    part.unit = piece.bytes;
    if (part.matrix.packed) {
      part.unit = kStripRows * part.matrix.bytes_per_row();
      part.packed_bytes = piece.bytes / part.unit * part.unit;
      if (part.packed_bytes > 0) longest_strip_ = std::max(longest_strip_, part.unit);
    }
    Slot& slot = at(piece.slot);
    slot.bytes += memory_of(part);
    slot.parts.push_back(static_cast<int>(parts_.size()));
    // Pieces come almost in the file's order, so an insertion moves few.
    auto place = order_.end();
    while (place != order_.begin() && needs.piece(*(place - 1)).begin > piece.begin) --place;
    order_.insert(place, static_cast<int>(parts_.size()));
    parts_.push_back(std::move(part));
  }
  if (shared_.enabled()) {
    for (const int slot : shared_.slots) {
      at(slot).shares_place = true;
      shared_place_bytes_ = std::max(shared_place_bytes_, at(slot).bytes);
    }
    bytes_ += shared_place_bytes_ * static_cast<uint64_t>(shared_.places);
  }
  for (const Slot& slot : slots_) {
    if (!slot.shares_place) bytes_ += slot.bytes;
  }
}

// A vector of 16-bit floats needs memory for its f32 values and, after them, for the file's bytes.
uint64_t Weights::memory_of(const Part& part) {
  const Piece& piece = part.piece;
  const bool widened = piece.is_vector && piece.type != Type::F32;
  const uint64_t floats = widened ? 4 * static_cast<uint64_t>(piece.cols) : 0;
  return round_up(floats, kAlignment) + round_up(piece.bytes, kAlignment);
}

Status Weights::allocate() {
  SLUICE_ASSIGN(memory_, AlignedBuffer::allocate_uninitialized(bytes_, "the weights"));
  uint8_t* memory = memory_.data();
  for (Slot& slot : slots_) {
    if (slot.shares_place) continue;
    slot.memory = memory;
    memory += slot.bytes;
  }
  for (int i = 0; shared_.enabled() && i < shared_.places; ++i) {
    free_places_.push_back(memory);
    memory += shared_place_bytes_;
  }
  for (RowPlace& place : row_places_) {
    place.part.place = memory;
    place.part.matrix.data = memory;
    memory += memory_of(place.part);
  }
  return {};
}

// Gives an absent slot a place; false if none is free.
bool Weights::give_place(int index) {
  Slot& slot = at(index);
  if (slot.shares_place) {
    if (free_places_.empty()) return false;
    slot.memory = free_places_.back();
    free_places_.pop_back();
  }
  uint8_t* memory = slot.memory;
  for (const int handle : slot.parts) {
    Part& part = parts_[static_cast<size_t>(handle)];
    part.matrix.data = memory;
    memory += memory_of(part);
    part.place = memory - round_up(part.piece.bytes, kAlignment);
    part.asked = part.done = 0;
    part.arrived.clear();
  }
  slot.asking = 0;
  slot.missing = static_cast<int>(slot.parts.size());
  if (slot.missing > 0) {
    slot.state = SlotState::arriving;
  } else {
    slot.state = SlotState::resident;
    ++resident_slots_;
  }
  return true;
}

// Makes a slot absent and frees its place. It must be resident, or no byte of it wanted yet.
void Weights::clear_slot(int index) {
  Slot& slot = at(index);
  if (slot.state == SlotState::resident) --resident_slots_;
  slot.state = SlotState::absent;
  for (const int handle : slot.parts) {
    Part& part = parts_[static_cast<size_t>(handle)];
    part.place = nullptr;
    part.matrix.data = nullptr;
  }
  if (slot.shares_place) free_places_.push_back(std::exchange(slot.memory, nullptr));
}

// For an absent slot that is needed now: frees the place of the slot that is needed last, but of
// none that is leased or that bytes are on their way to.
void Weights::make_room(int index) {
  if (!at(index).shares_place || at(index).state != SlotState::absent || !free_places_.empty())
    return;
  const auto first = std::ranges::lower_bound(shared_.slots, index) - shared_.slots.begin();
  const size_t n = shared_.slots.size();
  for (size_t ahead = n - 1; ahead > 0; --ahead) {
    const int other = shared_.slots[(static_cast<size_t>(first) + ahead) % n];
    const Slot& slot = at(other);
    const bool asked = std::ranges::any_of(
        slot.parts, [&](int part) { return parts_[static_cast<size_t>(part)].asked > 0; });
    if (slot.leases == 0 &&
        (slot.state == SlotState::resident || (slot.state == SlotState::arriving && !asked))) {
      return clear_slot(other);
    }
  }
}

std::optional<Weights::Lease> Weights::lease(int slot) {
  const std::lock_guard lock(mutex_);
  position_ = slot;
  if (at(slot).state != SlotState::resident) {
    make_room(slot);
    return std::nullopt;
  }
  ++at(slot).leases;
  return Lease(this, slot);
}

void Weights::release(int slot) {
  const std::lock_guard lock(mutex_);
  if (--at(slot).leases > 0 || !at(slot).shares_place) return;
  clear_slot(slot);
  // The slot has just run. Its place is for the next slots and not for itself again.
  if (position_ == slot) position_ = (slot + 1) % static_cast<int>(slots_.size());
}

void Weights::discard(int slot) {
  const std::lock_guard lock(mutex_);
  if (at(slot).state == SlotState::resident && at(slot).leases == 0) clear_slot(slot);
}

// --- wants ---------------------------------------------------------------------------------------

std::vector<Want> Weights::wants(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<Want> wants;
  if (!want_rows(bytes, wants)) return wants;
  const auto n_slots = static_cast<int>(slots_.size());
  for (int ahead = 0; ahead < n_slots; ++ahead) {
    const int index = (position_ + ahead) % n_slots;
    Slot& slot = at(index);
    if (slot.state == SlotState::absent && !give_place(index)) continue;
    if (slot.state != SlotState::arriving) continue;
    for (; slot.asking < slot.parts.size(); ++slot.asking) {
      Part& part = parts_[static_cast<size_t>(slot.parts[slot.asking])];
      uint64_t n = part.piece.bytes - part.asked;
      if (n > bytes) n = std::min(n, std::max(bytes / part.unit, uint64_t{1}) * part.unit);
      if (n > 0 && n > bytes && !wants.empty()) return wants;
      if (n > 0) {
        const uint64_t begin = part.piece.begin + part.asked;
        if (!rows_on_the_way({begin, begin + n}).empty()) return wants;
        wants.push_back({begin, {part.place + part.asked, static_cast<size_t>(n)}, part.unit});
      }
      part.asked += n;
      bytes -= std::min(bytes, n);
      if (part.asked < part.piece.bytes) return wants;
    }
  }
  return wants;
}

Status Weights::filled(uint64_t offset, uint64_t n) {
  if (n == 0) return {};
  if (n > UINT64_MAX - offset) {
    return fail(Code::invalid_argument, n, " bytes from ", offset, " on are more than a file has");
  }
  std::vector<std::pair<RowPlace*, Range>> rows;
  if (single_.table >= 0) {
    const std::lock_guard lock(mutex_);
    rows = rows_on_the_way({offset, offset + n});
  }
  uint64_t at = offset;
  for (const auto& [place, range] : rows) {
    const uint64_t begin = place->part.piece.begin;
    SLUICE_TRY(receive_for_pieces({at, begin + range.begin}));
    SLUICE_TRY(receive(place->part, range));
    at = begin + range.end;
  }
  return receive_for_pieces({at, offset + n});
}

// The first of order_ that ends after byte `at`.
std::vector<int>::const_iterator Weights::first_piece_ending_after(uint64_t at) const {
  return std::ranges::upper_bound(order_, at, {}, [&](int handle) {
    const Piece& piece = parts_[static_cast<size_t>(handle)].piece;
    return piece.begin + piece.bytes;
  });
}

// These bytes of the file have arrived, none of them for single rows.
Status Weights::receive_for_pieces(Range bytes) {
  if (bytes.begin == bytes.end) return {};
  for (auto it = first_piece_ending_after(bytes.begin); it != order_.end(); ++it) {
    Part& part = parts_[static_cast<size_t>(*it)];
    const Piece& piece = part.piece;
    if (piece.begin >= bytes.end) break;
    SLUICE_TRY(receive(part, {std::max(bytes.begin, piece.begin) - piece.begin,
                              std::min(bytes.end, piece.begin + piece.bytes) - piece.begin}));
  }
  return {};
}

Status Weights::offer(uint64_t offset, std::span<const uint8_t> bytes) {
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
    const std::lock_guard lock(mutex_);
    if (at(slot).state == SlotState::absent) give_place(slot);
  }
  for (const int handle : order_) {
    Part& part = parts_[static_cast<size_t>(handle)];
    const uint64_t begin = part.piece.begin;
    if (begin < offset || begin >= offset + bytes.size()) continue;
    const uint64_t n = std::min(part.piece.bytes, offset + bytes.size() - begin);
    {
      const std::lock_guard lock(mutex_);
      if (part.place == nullptr || part.asked > 0) continue;
      part.asked = n;
    }
    std::memcpy(part.place, bytes.data() + (begin - offset), static_cast<size_t>(n));
    SLUICE_TRY(receive(part, {0, n}));
  }
  return {};
}

// --- single rows ---------------------------------------------------------------------------------
//
// The head may be the same tensor as the table, in pieces. A byte is never wanted for a row and for
// a piece at the same time, so filled() knows where it is.

// Makes the places, without rows. All rows have the same size.
void Weights::make_row_places() {
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  RowPlace place;
  place.part.piece = table;
  place.part.piece.slot = -1;
  place.part.piece.rows = 1;
  place.part.piece.bytes = table.bytes / static_cast<uint64_t>(table.rows);
  place.part.unit = place.part.piece.bytes;
  place.part.matrix = Matrix{table.type, 1, table.cols, nullptr, false};
  row_places_.assign(static_cast<size_t>(std::min(single_.places, table.rows)), place);
  bytes_ += memory_of(place.part) * row_places_.size();
}

// A place that has no row of the last request and that no bytes are on their way to; null if there
// is none.
Weights::RowPlace* Weights::place_for_row() {
  for (size_t i = 0; i < row_places_.size(); ++i) {
    RowPlace& place = row_places_[next_row_place_];
    next_row_place_ = (next_row_place_ + 1) % row_places_.size();
    if (place.request != row_requests_ && !place.on_the_way()) return &place;
  }
  return nullptr;
}

bool Weights::lease_rows(std::span<const int32_t> rows) {
  const std::lock_guard lock(mutex_);
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  ++row_requests_;
  for (const int64_t row : rows) {
    if (const auto known = place_of_row_.find(row); known != place_of_row_.end())
      row_places_[known->second].request = row_requests_;
  }
  bool all = true;
  for (const int64_t row : rows) {
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

// Adds the wants of rows. False if `bytes` is too small for all.
bool Weights::want_rows(uint64_t& bytes, std::vector<Want>& wants) {
  for (RowPlace& place : row_places_) {
    Part& part = place.part;
    const Piece& row = part.piece;
    if (place.row < 0 || place.request != row_requests_ || part.asked > 0) continue;
    if (piece_on_the_way({row.begin, row.begin + row.bytes})) continue;
    if (row.bytes > bytes && !wants.empty()) return false;
    wants.push_back({row.begin, {part.place, static_cast<size_t>(row.bytes)}, part.unit});
    part.asked = row.bytes;
    bytes -= std::min(bytes, row.bytes);
  }
  return true;
}

// The rows that wait for any of these bytes of the file, in ascending order, each with the range of
// its bytes.
std::vector<std::pair<Weights::RowPlace*, Weights::Range>> Weights::rows_on_the_way(Range bytes) {
  std::vector<std::pair<RowPlace*, Range>> rows;
  if (row_places_.empty()) return rows;
  const Piece& table = parts_[static_cast<size_t>(single_.table)].piece;
  const uint64_t row_bytes = row_places_[0].part.piece.bytes;
  const uint64_t begin = std::max(bytes.begin, table.begin);
  const uint64_t end = std::min(bytes.end, table.begin + table.bytes);
  for (uint64_t at = begin; at < end;) {
    const uint64_t row = (at - table.begin) / row_bytes;
    const uint64_t first = table.begin + row * row_bytes;
    const uint64_t next = std::min(first + row_bytes, end);
    const auto known = place_of_row_.find(static_cast<int64_t>(row));
    if (known != place_of_row_.end() && row_places_[known->second].on_the_way())
      rows.push_back({&row_places_[known->second], {at - first, next - first}});
    at = next;
  }
  return rows;
}

// True if a piece waits for any of these bytes of the file.
bool Weights::piece_on_the_way(Range bytes) const {
  for (auto it = first_piece_ending_after(bytes.begin); it != order_.end(); ++it) {
    const Part& part = parts_[static_cast<size_t>(*it)];
    const Piece& piece = part.piece;
    if (piece.begin >= bytes.end) break;
    const Range range{std::max(bytes.begin, piece.begin) - piece.begin,
                      std::min(bytes.end, piece.begin + piece.bytes) - piece.begin};
    const bool here = std::ranges::any_of(part.arrived, [&](const Range& arrived) {
      return arrived.begin <= range.begin && range.end <= arrived.end;
    });
    if (part.place != nullptr && part.asked > range.begin && !here) return true;
  }
  return false;
}

void Weights::read_row(int handle, int64_t row, float* out) const {
  if (handle != single_.table) return sluice::read_row(matrix(handle), row, out);
  const RowPlace& place = row_places_[place_of_row_.find(row)->second];
  sluice::read_row(place.part.matrix, 0, out);
}

// --- packing -------------------------------------------------------------------------------------

// Records that `range` of a part has arrived. Returns the strips that are complete now and weren't
// before.
Result<Weights::Complete> Weights::mark_arrived(Part& part, Range range) {
  auto next = std::ranges::lower_bound(part.arrived, range.begin, {}, &Range::end);
  const bool again =
      next != part.arrived.end() && next->begin < range.end && next->end > range.begin;
  const bool touches = next != part.arrived.end() && next->end == range.begin;
  const bool behind = touches && next + 1 != part.arrived.end() && (next + 1)->begin < range.end;
  if (range.end > part.asked || again || behind || part.place == nullptr) {
    return fail(Code::invalid_argument, "bytes ", part.piece.begin + range.begin, " to ",
                part.piece.begin + range.end, " of the file, in ", part.piece.tensor,
                ", have arrived already or were not wanted");
  }
  Range all = range;
  if (touches) {
    all.begin = next->begin;
    next = part.arrived.erase(next);
  }
  if (next != part.arrived.end() && next->begin == range.end) {
    all.end = next->end;
    next = part.arrived.erase(next);
  }
  part.arrived.insert(next, all);

  // A strip that the range touches is complete now if all of it is in `all`.
  Complete what;
  const uint64_t unit = part.unit;
  const uint64_t first = std::max(range.begin / unit, (all.begin + unit - 1) / unit);
  const uint64_t end =
      std::min({(range.end + unit - 1) / unit, all.end / unit, part.packed_bytes / unit});
  what.first_strip = static_cast<int64_t>(first);
  what.end_strip = static_cast<int64_t>(std::max(first, end));
  what.rest = range.end > part.packed_bytes && all.begin <= part.packed_bytes &&
              all.end == part.piece.bytes;
  return what;
}

Status Weights::receive(Part& part, Range range) {
  Complete what;
  AlignedBuffer scratch;
  {
    const std::lock_guard lock(mutex_);
    SLUICE_ASSIGN(what, mark_arrived(part, range));
    if (what.first_strip == what.end_strip && !what.rest) return {};
    if (!scratch_.empty()) {
      scratch = std::move(scratch_.back());
      scratch_.pop_back();
    }
  }
  if (scratch.size() == 0 && what.first_strip < what.end_strip) {
    SLUICE_ASSIGN(scratch,
                  AlignedBuffer::allocate_uninitialized(longest_strip_, "packing the weights"));
  }
  SLUICE_TRY(pack(part, what, scratch.data()));
  const std::lock_guard lock(mutex_);
  if (scratch.size() > 0) scratch_.push_back(std::move(scratch));
  part.done += static_cast<uint64_t>(what.end_strip - what.first_strip) * part.unit;
  if (what.rest) part.done += part.piece.bytes - part.packed_bytes;
  if (part.done == part.piece.bytes) finish_part(part);
  return {};
}

Status Weights::pack(const Part& part, const Complete& what, uint8_t* scratch) const {
  const Matrix& matrix = part.matrix;
  for (int64_t s = what.first_strip; s < what.end_strip; ++s) {
    uint8_t* strip = part.place + static_cast<uint64_t>(s) * part.unit;
    std::memcpy(scratch, strip, static_cast<size_t>(part.unit));
    if (!pack_strip(matrix.type, scratch, matrix.cols, strip)) {
      return check_rows(part, s * kStripRows, scratch, kStripRows);
    }
  }
  if (!what.rest) return {};
  const auto row = static_cast<int64_t>(part.packed_bytes / matrix.bytes_per_row());
  return check_rows(part, row, part.place + part.packed_bytes, matrix.rows - row);
}

// Fails with bad_file if a number of these n rows isn't finite. They are as in the file; `first` is
// the part's row that they begin with.
Status Weights::check_rows(const Part& part, int64_t first, const uint8_t* rows, int64_t n) {
  const Matrix& matrix = part.matrix;
  const int64_t row = first_not_finite(matrix.type, rows, n, matrix.cols);
  if (row < 0) return {};
  return fail(Code::bad_file, "tensor ", part.piece.tensor, " has a ",
              traits(matrix.type).group == 0 ? "number" : "scale",
              " that is NaN or infinite in row ", part.piece.first_row + first + row, " (of ",
              part.piece.all_rows,
              ", the first is row 0); expected finite numbers. The file is damaged: download it "
              "again or take another file");
}

// All bytes of a part have arrived.
void Weights::finish_part(Part& part) {
  const Matrix& matrix = part.matrix;
  if (part.piece.is_vector && part.place != matrix.data) {
    // The f32 values are before the file's bytes, in memory that this object owns.
    auto* widened = reinterpret_cast<float*>(const_cast<uint8_t*>(matrix.data));
    traits(matrix.type).dequantize(part.place, matrix.cols, widened);
  }
  if (part.piece.slot < 0) return;  // a single row
  Slot& slot = at(part.piece.slot);
  if (--slot.missing > 0) return;
  slot.state.store(SlotState::resident, std::memory_order_release);
  ++resident_slots_;
}

uint64_t Weights::held_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  const auto add = [&](const Part& part) {
    if (part.place == nullptr) return;
    if (part.done == part.piece.bytes) {
      total += memory_of(part);
    } else {
      for (const Range& range : part.arrived) total += range.end - range.begin;
    }
  };
  for (const Part& part : parts_) add(part);
  for (const RowPlace& place : row_places_) add(place.part);
  return total;
}

}  // namespace sluice
