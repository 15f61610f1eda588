// Weights: slots, their places, cursors and wants.
#include "weights/weights.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/order.h"

namespace sluice {
namespace {

// So small that a chunk's strips are packed while they are still in the core's own cache.
constexpr uint64_t kChunkBytes = 256 * 1024;

}  // namespace

// --- places --------------------------------------------------------------------------------------

Weights::Weights(const TensorManifest& manifest, const SharedPlaces& shared, const SingleRows& rows)
    : shared_(shared),
      single_(rows),
      slots_(static_cast<size_t>(manifest.n_slots())),
      row_tables_(rows.tables.size()) {
  for (const Piece& piece : manifest.pieces()) {
    Part part;
    part.piece = piece;
    const int table = single_.index_of(static_cast<int>(parts_.size()));
    if (table >= 0) {
      parts_.push_back(std::move(part));
      make_row_places(table);
      continue;
    }
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
  sort_indices(order_, [&](int a, int b) {
    const Piece& one = manifest.piece(a);
    const Piece& other = manifest.piece(b);
    return std::pair(one.begin, one.bytes) < std::pair(other.begin, other.bytes);
  });
  const WeightSizes sizes(manifest, rows);
  bytes_ = sizes.memory(shared_);
  shared_place_bytes_ = sizes.shared_place_memory(shared_);
  if (shared_.enabled())
    for (const int slot : shared_.slots) at(slot).shares_place = true;
  for (int slot = 0; slot < manifest.n_slots(); ++slot) {
    at(slot).bytes = sizes.slot_memory(slot);
    at(slot).optional = manifest.is_optional(slot);
    if (!at(slot).optional) always_used_.push_back(slot);
    if (at(slot).shares_place) continue;
    ++missing_own_;
    if (at(slot).optional) own_optional_.push_back(slot);
  }
  for (RowTable& table : row_tables_) find_table_parts(table);
}

// A token's rows come together, so all tables have as many.
Status Weights::check_tables() const {
  for (const RowTable& table : row_tables_) {
    const Piece& first = parts_[static_cast<size_t>(row_tables_[0].handle)].piece;
    const Piece& piece = parts_[static_cast<size_t>(table.handle)].piece;
    if (piece.rows == first.rows) continue;
    return fail(Code::invalid_argument,
                "two tables of single rows have different numbers of rows: ", first.tensor, " has ",
                first.rows, ", ", piece.tensor, " has ", piece.rows);
  }
  return {};
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
  SLUICE_TRY(check_tables());
  SLUICE_TRY(check_disjoint());
  // A 32-bit machine allocates less than 2 GiB at once.
  constexpr uint64_t kMostAtOnce = uint64_t{1} << 30;
  std::vector<std::pair<uint64_t, uint8_t**>> places;
  for (Slot& slot : slots_)
    if (!slot.shares_place) places.emplace_back(slot.bytes, &slot.memory);
  if (shared_.enabled()) free_places_.resize(static_cast<size_t>(shared_.places));
  for (uint8_t*& place : free_places_) places.emplace_back(shared_place_bytes_, &place);
  for (RowTable& table : row_tables_)
    for (RowPlace& place : table.places)
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
  for (RowTable& table : row_tables_)
    for (RowPlace& place : table.places) place.part.matrix.data = place.part.place;
  return {};
}

// Gives an absent slot a place; false if none is free.
bool Weights::give_place(int index) {
  Slot& slot = at(index);
  if (slot.shares_place) {
    if (free_places_.empty()) return false;
    slot.memory = free_places_.back();
    free_places_.pop_back();
    placed_.insert(std::ranges::lower_bound(placed_, index), index);
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
  placed_.erase(std::ranges::lower_bound(placed_, index));
}

bool Weights::is_asked(const Slot& slot) const {
  return std::ranges::any_of(slot.parts,
                             [&](int part) { return parts_[static_cast<size_t>(part)].asked > 0; });
}

// Evicts the slot in a shared place whose next use is farthest, if it is farther than `use`, that
// of the slot that needs a place. A slot that is being loaded, pinned or in reach stays. False:
// none was evicted.
bool Weights::make_room(int use, const NextUses& uses) {
  int farthest = -1, farthest_use = use;
  const size_t n = placed_.size();
  for (const NextUses::From& from : uses.from) {
    // Backwards from a cursor: of the slots that nobody uses the first one is the farthest up to
    // the cursor before. So the rest is only looked at if all are used.
    const auto at_cursor = std::ranges::lower_bound(placed_, from.position) - placed_.begin();
    for (size_t i = 1; i <= n; ++i) {
      const int index = placed_[(static_cast<size_t>(at_cursor) + n - i) % n];
      const Slot& slot = at(index);
      if (is_pinned(index) || std::ranges::count(uses.in_reach, index) > 0) continue;
      if (slot.state == SlotState::arriving && is_asked(slot)) continue;
      const int next = next_use(index, uses);
      if (next > farthest_use || (next == farthest_use && index < farthest)) {
        farthest = index;
        farthest_use = next;
      }
      if (next >= static_cast<int>(slots_.size())) break;
    }
  }
  if (farthest < 0) return false;
  clear_slot(farthest);
  return true;
}

// --- cursors -------------------------------------------------------------------------------------

Weights::Cursor::Cursor(Weights& weights) : weights_(weights) {
  const std::lock_guard lock(weights_.mutex_);
  weights_.cursors_.push_back(this);
}

Weights::Cursor::~Cursor() {
  const std::lock_guard lock(weights_.mutex_);
  std::erase(weights_.cursors_, this);
  if (weights_.current_ == this) weights_.current_ = nullptr;
  if (weights_.rows_user_ == this) weights_.rows_user_ = nullptr;
}

bool Weights::Cursor::move_to(int slot) {
  const std::lock_guard lock(weights_.mutex_);
  if (!weights_.at(slot).optional) chosen_.clear();
  slot_ = slot;
  holds_ = weights_.state(slot) == SlotState::resident;
  weights_.note_use(*this, !holds_);
  weights_.front_ = weights_.position(*this);
  return holds_;
}

void Weights::Cursor::choose(std::vector<int> slots) {
  const std::lock_guard lock(weights_.mutex_);
  chosen_ = std::move(slots);
}

void Weights::Cursor::stop_before(int slot) {
  const std::lock_guard lock(weights_.mutex_);
  end_ = slot;
}

void Weights::Cursor::begin_at(int slot) {
  const std::lock_guard lock(weights_.mutex_);
  begin_ = slot;
}

bool Weights::Cursor::uses(int slot) const {
  if (!weights_.at(slot).optional) return slot >= begin_ && slot < end_;
  if (slot == slot_) return true;
  return slot > slot_ && std::ranges::binary_search(chosen_, slot);
}

bool Weights::Cursor::reach_rows(std::span<const int32_t> rows) {
  if (weights_.tables_resident()) return true;
  const std::lock_guard lock(weights_.mutex_);
  const bool here = weights_.rows_here(*this, rows);
  weights_.note_use(*this, !here);
  return here;
}

bool Weights::Cursor::expect_rows(std::span<const int32_t> rows) {
  if (weights_.tables_resident()) return true;
  const std::lock_guard lock(weights_.mutex_);
  if (weights_.rows_user_ != nullptr) return true;
  const bool here = weights_.rows_here(*this, rows);
  weights_.rows_user_ = nullptr;
  return here;
}

void Weights::Cursor::rows_used() {
  if (weights_.tables_resident()) return;
  const std::lock_guard lock(weights_.mutex_);
  if (weights_.rows_user_ == this) weights_.rows_user_ = nullptr;
}

// A cursor has asked for a slot or for rows, and waits for them or not. If it waits once more, the
// others that were not used in between count as paused.
void Weights::note_use(Cursor& cursor, bool waits) {
  if (waits && cursor.waits_) {
    for (Cursor* other : cursors_)
      if (other->last_use_ < cursor.last_use_) other->paused_ = true;
    if (rows_user_ != nullptr && rows_user_->paused_) rows_user_ = nullptr;
  }
  cursor.waits_ = waits;
  cursor.paused_ = false;
  cursor.last_use_ = ++uses_;
  current_ = &cursor;
}

// Runs compute the last slot in one slice, so who holds it is done with it, and may stay there for
// long: a run is paused between two tokens.
bool Weights::is_between_passes(const Cursor& cursor) const {
  return cursor.holds_ && cursor.slot_ == static_cast<int>(slots_.size()) - 1;
}

int Weights::position(const Cursor& cursor) const {
  return is_between_passes(cursor) ? 0 : cursor.slot_;
}

bool Weights::is_pinned(int slot) const {
  return current_ != nullptr && current_->holds_ && current_->slot_ == slot;
}

Weights::NextUses Weights::next_uses() const {
  NextUses uses;
  for (const Cursor* cursor : cursors_) {
    if (cursor->slot_ < 0 || cursor->paused_) continue;
    uses.from.push_back({position(*cursor), cursor});
    look_ahead(uses.from.back(), is_between_passes(*cursor) ? nullptr : &uses.in_reach);
  }
  if (uses.from.empty()) look_ahead(uses.from.emplace_back(front_, nullptr), nullptr);
  return uses;
}

// Finds up to where it is known what is used. Up to there, adds to `in_reach` what a run can go on
// to with what is here or coming. Without optional slots all is known.
void Weights::look_ahead(NextUses::From& from, std::vector<int>* in_reach) const {
  const auto n_slots = static_cast<int>(slots_.size());
  from.known = n_slots;
  if (!shared_.enabled()) return;
  bool chosen = from.cursor != nullptr && !from.cursor->chosen_.empty();
  for (int ahead = 0; ahead < n_slots; ++ahead) {
    const int index = (from.position + ahead) % n_slots;
    const Slot& slot = at(index);
    ++looks_;
    if (ahead > 0 && slot.optional) {
      if (!chosen) from.known = ahead;
      if (!chosen) return;
    }
    if (ahead > 0 && from.cursor != nullptr && !from.cursor->uses(index)) continue;
    if (ahead > 0 && !slot.optional) chosen = false;
    const bool here =
        slot.state == SlotState::resident || (slot.state == SlotState::arriving && is_asked(slot));
    if (!here) in_reach = nullptr;
    if (in_reach != nullptr && slot.shares_place) in_reach->push_back(index);
  }
}

// The slots from the nearest cursor that uses this one to it; if none does, the number of all slots
// more.
int Weights::next_use(int slot, const NextUses& uses) const {
  const auto n_slots = static_cast<int>(slots_.size());
  const bool optional = at(slot).optional;
  int nearest = 2 * n_slots;
  looks_ += uses.from.size();
  for (const NextUses::From& from : uses.from) {
    const int ahead = (slot - from.position + n_slots) % n_slots;
    const bool used = from.cursor != nullptr ? from.cursor->uses(slot) : !optional;
    nearest = std::min(nearest, used ? ahead : n_slots + ahead);
  }
  return nearest;
}

// The slots that are used and aren't wholly wanted, after their next uses: those that are used next
// first; then those that were begun.
std::vector<std::pair<int, int>> Weights::missing_slots(const NextUses& uses) {
  std::vector<std::pair<int, int>> found;
  const auto add = [&](int slot) {
    if (state(slot) != SlotState::resident) found.emplace_back(next_use(slot, uses), slot);
  };
  // Nothing is read to a shared place as long as it isn't known what comes before it.
  const auto n_slots = static_cast<int>(slots_.size());
  const auto is_known = [&](int slot) {
    return std::ranges::any_of(uses.from, [&](const NextUses::From& from) {
      const bool used = from.cursor == nullptr || from.cursor->uses(slot);
      return used && (slot - from.position + n_slots) % n_slots < from.known;
    });
  };
  looks_ += always_used_.size();
  for (const int slot : always_used_)
    if (!at(slot).shares_place || state(slot) != SlotState::absent || is_known(slot)) add(slot);
  for (const NextUses::From& from : uses.from) {
    if (from.cursor == nullptr) continue;
    const auto& chosen = from.cursor->chosen_;
    if (at(from.cursor->slot_).optional) add(from.cursor->slot_);
    for (auto it = std::ranges::upper_bound(chosen, from.cursor->slot_); it != chosen.end(); ++it)
      add(*it);
  }
  std::erase_if(begun_, [&](int slot) { return is_wholly_asked(at(slot)); });
  for (const int slot : begun_) add(slot);
  std::vector<std::pair<int, int>> ordered;  // each once
  const auto precedes = [&](uint32_t a, uint32_t b) { return found[a] < found[b]; };
  for (const uint32_t i : order_of(found.size(), precedes))
    if (ordered.empty() || ordered.back() != found[i]) ordered.push_back(found[i]);
  return ordered;
}

// --- wants ---------------------------------------------------------------------------------------

std::vector<Want> Weights::wants(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<Want> wants;
  const NextUses uses = next_uses();
  const uint64_t all = bytes;
  bool full = false;  // no slot gives up its place for this one or for those that are used later
  for (const auto& [use, index] : missing_slots(uses)) {
    const Slot& slot = at(index);
    if (slot.state == SlotState::absent) {
      if (slot.shares_place && free_places_.empty()) full = full || !make_room(use, uses);
      if (!give_place(index)) continue;
    }
    if (add_wants(index, all, bytes, wants)) continue;
    // It must come wholly, even if nobody uses it any more: else it would keep its place for ever.
    if (slot.optional && slot.shares_place && is_asked(slot) && !std::ranges::count(begun_, index))
      begun_.push_back(index);
    return wants;
  }
  for (; next_optional_ < own_optional_.size(); ++next_optional_) {
    const int index = own_optional_[next_optional_];
    if (at(index).state == SlotState::absent) give_place(index);
    if (!add_wants(index, all, bytes, wants)) break;
  }
  return wants;
}

// Adds what isn't wanted yet of a slot that has a place; `bytes` are left of `all`. False: they
// don't suffice.
bool Weights::add_wants(int index, uint64_t all, uint64_t& bytes, std::vector<Want>& wants) {
  Slot& slot = at(index);
  if (slot.state != SlotState::arriving) return true;
  for (; slot.asking < slot.parts.size(); ++slot.asking) {
    Part& part = parts_[static_cast<size_t>(slot.parts[slot.asking])];
    const uint64_t unit = all < part.chunk ? part.unit : part.chunk;
    uint64_t n = part.piece.bytes - part.asked;
    if (n > bytes) n = std::min(n, std::max(bytes / unit, uint64_t{1}) * unit);
    if (n > 0 && n > bytes && !wants.empty()) return false;
    if (n > 0) {
      const uint64_t begin = part.piece.begin + part.asked;
      wants.push_back({begin, {part.place + part.asked, static_cast<size_t>(n)}, unit});
    }
    part.asked += n;
    bytes -= std::min(bytes, n);
    if (part.asked < part.piece.bytes) return false;
  }
  return true;
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
  for (const RowTable& table : row_tables_)
    for (const RowPlace& place : table.places) add(place.part);
  return total;
}

}  // namespace sluice
