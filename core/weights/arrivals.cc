// Weights: arriving bytes, and packing.
#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "quant/quant.h"
#include "weights/weights.h"

namespace sluice {

Status Weights::check_bytes(uint64_t offset, uint64_t n) {
  if (n <= UINT64_MAX - offset) return {};
  return fail(Code::invalid_argument, n, " bytes from ", offset, " on are more than a file has");
}

Status Weights::filled(uint64_t offset, uint64_t n, Form form) {
  if (n == 0) return {};
  SLUICE_TRY(check_bytes(offset, n));
  for (auto it = first_piece_ending_after(offset); it != order_.end(); ++it) {
    Part& part = parts_[static_cast<size_t>(*it)];
    const Piece& piece = part.piece;
    if (piece.begin >= offset + n) break;
    const ByteRange range{std::max(offset, piece.begin) - piece.begin,
                          std::min(offset + n, piece.begin + piece.bytes) - piece.begin};
    SLUICE_TRY(receive(part, range, form));
  }
  return {};
}

// The first of order_ that ends after byte `at`. (Ends are in order, too: see check_disjoint.)
std::vector<int>::const_iterator Weights::first_piece_ending_after(uint64_t at) const {
  return std::ranges::upper_bound(order_, at, {}, [&](int handle) {
    const Piece& piece = parts_[static_cast<size_t>(handle)].piece;
    return piece.begin + piece.bytes;
  });
}

Status Weights::offer(uint64_t offset, std::span<const uint8_t> bytes) {
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
    const std::lock_guard lock(mutex_);
    if (at(slot).state == SlotState::absent && !at(slot).shares_place) give_place(slot);
  }
  const auto begin_of = [&](int handle) { return parts_[static_cast<size_t>(handle)].piece.begin; };
  for (auto it = std::ranges::lower_bound(order_, offset, {}, begin_of); it != order_.end(); ++it) {
    Part& part = parts_[static_cast<size_t>(*it)];
    const uint64_t begin = part.piece.begin;
    if (begin >= offset + bytes.size()) break;
    const uint64_t n = std::min(part.piece.bytes, offset + bytes.size() - begin);
    {
      const std::lock_guard lock(mutex_);
      if (part.place == nullptr || part.asked > 0) continue;
      part.asked = n;
    }
    std::memcpy(part.place, bytes.data() + (begin - offset), static_cast<size_t>(n));
    SLUICE_TRY(receive(part, {0, n}, Form::file));
  }
  return {};
}

// --- packing -------------------------------------------------------------------------------------

// Records that `range` of a part has arrived. Returns the strips that are complete now and weren't
// before.
Result<Weights::Complete> Weights::mark_arrived(Part& part, ByteRange range) {
  auto next = std::ranges::lower_bound(part.arrived, range.begin, {}, &ByteRange::end);
  const bool again =
      next != part.arrived.end() && next->begin < range.end && next->end > range.begin;
  const bool touches = next != part.arrived.end() && next->end == range.begin;
  const bool behind = touches && next + 1 != part.arrived.end() && (next + 1)->begin < range.end;
  if (range.end > part.asked || again || behind || part.place == nullptr) {
    return fail(Code::invalid_argument, "bytes ", part.piece.begin + range.begin, " to ",
                part.piece.begin + range.end, " of the file, in ", part.piece.tensor,
                ", have arrived already or were not wanted");
  }
  ByteRange all = range;
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

bool Weights::is_refilled(const Part& part) const {
  if (part.piece.slot >= 0) return at(part.piece.slot).fills > 0;
  return shared_.enabled() && table_of(part).missing_parts < 0;
}

Status Weights::receive(Part& part, ByteRange range, Form form) {
  const bool whole =
      range.begin % part.unit == 0 && (range.end % part.unit == 0 || range.end == part.piece.bytes);
  if (form == Form::packed && !whole) {
    return fail(Code::invalid_argument, "bytes ", part.piece.begin + range.begin, " to ",
                part.piece.begin + range.end, " of the file, in ", part.piece.tensor,
                ", came packed and are not whole strips");
  }
  Complete what;
  AlignedBuffer scratch;
  {
    const std::lock_guard lock(mutex_);
    SLUICE_ASSIGN(what, mark_arrived(part, range));
    if (is_refilled(part)) refilled_bytes_ += range.size();
    if (what.first_strip == what.end_strip && !what.rest) return {};
    if (form == Form::file && !scratch_.empty()) {
      scratch = std::move(scratch_.back());
      scratch_.pop_back();
    }
  }
  if (form == Form::file && scratch.size() == 0 && what.first_strip < what.end_strip) {
    SLUICE_ASSIGN(scratch,
                  AlignedBuffer::allocate_uninitialized(longest_strip_, "packing the weights"));
  }
  if (form == Form::file) {
    SLUICE_TRY(pack(part, what, scratch.data()));
    if (packed_keeper_ != nullptr && part.piece.slot >= 0 && at(part.piece.slot).shares_place)
      give_packed(part, range);
  }
  const std::lock_guard lock(mutex_);
  if (scratch.size() > 0) scratch_.push_back(std::move(scratch));
  part.done += static_cast<uint64_t>(what.end_strip - what.first_strip) * part.unit;
  if (what.rest) part.done += part.piece.bytes - part.packed_bytes;
  if (part.done == part.piece.bytes) finish_part(part);
  return {};
}

// Gives the chunks that lie wholly in a range: this thread has packed all of their strips.
void Weights::give_packed(const Part& part, ByteRange range) const {
  const uint64_t end =
      range.end == part.piece.bytes ? range.end : range.end / part.chunk * part.chunk;
  for (uint64_t at = round_up(range.begin, part.chunk); at < end; at += part.chunk) {
    const auto n = static_cast<size_t>(std::min(part.chunk, end - at));
    packed_keeper_->keep(part.piece.begin + at, {part.place + at, n});
  }
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
  if (part.piece.slot < 0) {  // a single row
    ++arrivals_;
    return;
  }
  Slot& slot = at(part.piece.slot);
  if (--slot.missing == 0) become_resident(slot);
}

void Weights::become_resident(Slot& slot) {
  slot.state.store(SlotState::resident, std::memory_order_release);
  ++slot.fills;
  ++resident_slots_;
  ++arrivals_;
  if (slot.shares_place) return;
  --missing_own_;
  for (RowTable& table : row_tables_) {
    if (table.missing_parts <= 0) continue;
    const size_t tensor = parts_[static_cast<size_t>(table.handle)].piece.tensor_index;
    for (const int handle : slot.parts)
      if (parts_[static_cast<size_t>(handle)].piece.tensor_index == tensor) --table.missing_parts;
  }
}

Weights::SlotProgress Weights::view(int index) const {
  const std::lock_guard lock(mutex_);
  const Slot& slot = at(index);
  SlotProgress view{0, 0, slot.state, slot.shares_place, slot.fills};
  for (const int handle : slot.parts) {
    const Part& part = parts_[static_cast<size_t>(handle)];
    view.bytes += part.piece.bytes;
    if (part.place == nullptr) continue;
    for (const ByteRange& range : part.arrived) view.arrived += range.size();
  }
  return view;
}

}  // namespace sluice
