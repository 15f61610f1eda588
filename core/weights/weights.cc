// Weights: slots, their places, cursors and wants.
#include "weights/weights.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace sluice {
namespace {

// So small that a chunk's strips are packed while they are still in the core's own cache.
constexpr uint64_t kChunkBytes = 256 * 1024;

}  // namespace

// --- places --------------------------------------------------------------------------------------

Weights::Weights(const TensorManifest& manifest, const SharedPlaces& shared, const SingleRows& rows)
    : shared_(shared), single_(rows), slots_(static_cast<size_t>(manifest.n_slots())) {
  for (const Piece& piece : manifest.pieces()) {
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
    part.chunk = std::max<uint64_t>(kChunkBytes / part.unit, 1) * part.unit;
    Slot& slot = at(piece.slot);
    slot.parts.push_back(static_cast<int>(parts_.size()));
    order_.push_back(static_cast<int>(parts_.size()));
    parts_.push_back(std::move(part));
  }
  std::ranges::sort(order_, {}, [&](int handle) {
    const Piece& piece = manifest.piece(handle);
    return std::pair(piece.begin, piece.bytes);
  });
  const WeightSizes sizes(manifest, rows);
  bytes_ = sizes.memory(shared_);
  shared_place_bytes_ = sizes.shared_place_memory(shared_);
  if (shared_.enabled())
    for (const int slot : shared_.slots) at(slot).shares_place = true;
  for (int slot = 0; slot < manifest.n_slots(); ++slot) {
    at(slot).bytes = sizes.slot_memory(slot);
    if (!at(slot).shares_place) ++missing_own_;
  }
  if (single_.table >= 0) find_table_parts();
}

// So the ends of the pieces in order_ ascend as their beginnings do.
Status Weights::check_disjoint() const {
  for (size_t i = 1; i < order_.size(); ++i) {
    const Piece& before = parts_[static_cast<size_t>(order_[i - 1])].piece;
    const Piece& after = parts_[static_cast<size_t>(order_[i])].piece;
    if (after.begin >= before.begin + before.bytes) continue;
    return fail(Code::invalid_argument, "two pieces of slots have the same bytes of the file, of ",
                before.tensor, " and ", after.tensor, " from ", after.begin,
                " on; expected each byte in one");
  }
  return {};
}

Status Weights::allocate() {
  SLUICE_TRY(check_disjoint());
  // A 32-bit machine allocates less than 2 GiB at once.
  constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;
  std::vector<std::pair<uint64_t, uint8_t**>> places;
  for (Slot& slot : slots_)
    if (!slot.shares_place) places.emplace_back(slot.bytes, &slot.memory);
  if (shared_.enabled()) free_places_.resize(static_cast<size_t>(shared_.places));
  for (uint8_t*& place : free_places_) places.emplace_back(shared_place_bytes_, &place);
  for (RowPlace& place : row_places_)
    places.emplace_back(memory_of(place.part.piece), &place.part.place);
  for (size_t i = 0; i < places.size();) {
    uint64_t bytes = 0;
    size_t end = i;
    for (; end < places.size() && (end == i || bytes + places[end].first <= kMostAtOnce); ++end)
      bytes += places[end].first;
    SLUICE_ASSIGN(AlignedBuffer buffer,
                  AlignedBuffer::allocate_uninitialized(bytes, "the weights"));
    uint8_t* memory = buffer.data();
    for (; i < end; ++i) memory = (*places[i].second = memory) + places[i].first;
    memory_.push_back(std::move(buffer));
  }
  for (RowPlace& place : row_places_) place.part.matrix.data = place.part.place;
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
    memory += memory_of(part.piece);
    part.place = memory - round_up(part.piece.bytes, kAlignment);
    part.asked = part.done = 0;
    part.arrived.clear();
  }
  slot.asking = 0;
  slot.missing = static_cast<int>(slot.parts.size());
  if (slot.missing > 0)
    slot.state = SlotState::arriving;
  else
    become_resident(slot);
  return true;
}

// Evicts a slot from its shared place. It must be resident, or no byte of it wanted yet.
void Weights::clear_slot(int index) {
  Slot& slot = at(index);
  if (slot.state == SlotState::resident) --resident_slots_;
  slot.state = SlotState::absent;
  for (const int handle : slot.parts) {
    Part& part = parts_[static_cast<size_t>(handle)];
    part.place = nullptr;
    part.matrix.data = nullptr;
  }
  free_places_.push_back(std::exchange(slot.memory, nullptr));
}

// If an absent slot needs a place: evicts the idle slot whose next use is farthest. Idle: no cursor
// pins it and it isn't being loaded.
void Weights::make_room(int index) {
  if (!at(index).shares_place || at(index).state != SlotState::absent || !free_places_.empty())
    return;
  const auto first = std::ranges::lower_bound(shared_.slots, index) - shared_.slots.begin();
  const size_t n = shared_.slots.size();
  for (size_t ahead = n - 1; ahead > 0; --ahead) {
    const int other = shared_.slots[(static_cast<size_t>(first) + ahead) % n];
    const Slot& slot = at(other);
    const auto is_asked = [&](int part) { return parts_[static_cast<size_t>(part)].asked > 0; };
    if (slot.holders == 0 &&
        (slot.state == SlotState::resident ||
         (slot.state == SlotState::arriving && std::ranges::none_of(slot.parts, is_asked)))) {
      return clear_slot(other);
    }
  }
}

// --- cursors -------------------------------------------------------------------------------------

Weights::Cursor::Cursor(Weights& weights) : weights_(weights) {
  const std::lock_guard lock(weights_.mutex_);
  weights_.cursors_.push_back(this);
}

Weights::Cursor::~Cursor() {
  const std::lock_guard lock(weights_.mutex_);
  weights_.leave(*this);
  std::erase(weights_.cursors_, this);
  if (weights_.rows_user_ == this) weights_.rows_user_ = nullptr;
}

bool Weights::Cursor::move_to(int slot) {
  const std::lock_guard lock(weights_.mutex_);
  if (slot != slot_) {
    weights_.leave(*this);
    slot_ = slot;
    weights_.advance_front();
  }
  Slot& here = weights_.at(slot);
  if (!holds_ && here.state == SlotState::resident) {
    ++here.holders;
    holds_ = true;
  }
  return holds_;
}

bool Weights::Cursor::reach_rows(std::span<const int32_t> rows) {
  if (weights_.table_resident()) return true;
  const std::lock_guard lock(weights_.mutex_);
  return weights_.rows_here(*this, rows);
}

void Weights::Cursor::rows_used() {
  if (weights_.table_resident()) return;
  const std::lock_guard lock(weights_.mutex_);
  if (weights_.rows_user_ == this) weights_.rows_user_ = nullptr;
}

// The cursor is no longer at its slot.
void Weights::leave(Cursor& cursor) {
  const int slot = std::exchange(cursor.slot_, -1);
  if (slot < 0) return;
  if (std::exchange(cursor.holds_, false)) --at(slot).holders;
}

// Moves the front to the rearmost cursor, and evicts the slots that all cursors have passed. So a
// new run waits until the others have cycled round to its slot; then all advance together.
void Weights::advance_front() {
  const auto n_slots = static_cast<int>(slots_.size());
  int nearest = n_slots;
  for (const Cursor* cursor : cursors_) {
    if (cursor->slot_ >= 0)
      nearest = std::min(nearest, (cursor->slot_ - front_ + n_slots) % n_slots);
  }
  if (nearest == n_slots) return;
  for (; nearest > 0; --nearest) {
    if (at(front_).shares_place && at(front_).state == SlotState::resident) clear_slot(front_);
    front_ = (front_ + 1) % n_slots;
  }
}

// --- wants ---------------------------------------------------------------------------------------

std::vector<Want> Weights::wants(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t all = bytes;
  std::vector<Want> wants;
  advance_front();
  make_room(front_);
  const auto n_slots = static_cast<int>(slots_.size());
  for (int ahead = 0; ahead < n_slots; ++ahead) {
    const int index = (front_ + ahead) % n_slots;
    Slot& slot = at(index);
    if (slot.state == SlotState::absent && !give_place(index)) continue;
    if (slot.state != SlotState::arriving) continue;
    for (; slot.asking < slot.parts.size(); ++slot.asking) {
      Part& part = parts_[static_cast<size_t>(slot.parts[slot.asking])];
      const uint64_t unit = all < part.chunk ? part.unit : part.chunk;
      uint64_t n = part.piece.bytes - part.asked;
      if (n > bytes) n = std::min(n, std::max(bytes / unit, uint64_t{1}) * unit);
      if (n > 0 && n > bytes && !wants.empty()) return wants;
      if (n > 0) {
        const uint64_t begin = part.piece.begin + part.asked;
        wants.push_back({begin, {part.place + part.asked, static_cast<size_t>(n)}, unit});
      }
      part.asked += n;
      bytes -= std::min(bytes, n);
      if (part.asked < part.piece.bytes) return wants;
    }
  }
  return wants;
}

uint64_t Weights::held_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t total = 0;
  const auto add = [&](const Part& part) {
    if (part.place == nullptr) return;
    if (part.done == part.piece.bytes) {
      total += memory_of(part.piece);
    } else {
      for (const ByteRange& range : part.arrived) total += range.size();
    }
  };
  for (const Part& part : parts_) add(part);
  for (const RowPlace& place : row_places_) add(place.part);
  return total;
}

}  // namespace sluice
