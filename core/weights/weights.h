// A model's weights in memory, in slots: one for the embedding, one for each layer and for each of
// its experts, one or more for the head, and a last one for the embedding's table if that comes
// late (Cut). Slots are numbered in the order of execution. A slot is absent, arriving or resident;
// a layer can run while its slot is resident, an expert while its own is. Experts' slots are
// optional: a run uses those that it chooses.
//
// wants() tells which bytes to load next, and where to. A source (a buffer, a file, a stream) puts
// them there and calls filled(), in any order and from any thread. They are packed in place, strip
// by strip (quant/matrix.h). A weight, scale or min that is NaN or infinite is an error, because
// its results would differ between instruction sets.
//
// A slot's memory is its place. If not all weights fit, slots share places. A run has a Cursor, its
// position in the order of execution. The next use of a slot is the least distance to it from any
// cursor that uses it, in that order, which begins again after its end. What is used next is loaded
// first, and the slot whose next use is farthest gives up its place for it. No slot gives up its
// place for one that is used later, or while a run can go on to it without another one being
// loaded: so runs that are at about the same slot share one reading. A run that pauses doesn't
// count (see Cursor).
//
// A slot that no cursor uses gives up its place before all others, of several the one whose turn
// would be farthest. It is loaded last if it has a place of its own, else not at all. And nothing
// is loaded to a shared place while it isn't known which optional slots are used before it.
//
// Single rows of tables (the embedding) can be loaded before the whole table, or instead of it.
//
// A piece is divided into chunks of whole strips. Packed chunks can be kept outside and loaded
// packed the next time (packed_copy.h).
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "quant/matrix.h"
#include "weights/byte_range.h"
#include "weights/packed_copy.h"
#include "weights/sizes.h"
#include "weights/tensor_manifest.h"
#include "weights/want.h"

namespace sluice {

enum class SlotState : uint8_t { absent, arriving, resident };

// The form of loaded bytes: as in the file, or packed.
enum class Form : uint8_t { file, packed };

class Weights {
 public:
  // All slots are absent.
  explicit Weights(const TensorManifest& manifest, const SharedPlaces& shared = {},
                   const SingleRows& rows = {});
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  uint64_t bytes() const { return bytes_; }  // of memory, for all places
  // Allocates that memory. Call it once, before the functions below. Fails with out_of_memory, or
  // with invalid_argument if two pieces of slots have the same bytes of the file: filled() couldn't
  // tell for which of them bytes have come; or if tables of SingleRows have different numbers of
  // rows.
  Status allocate();

  // --- loading: from any thread ----------------------------------------------------------------
  // The next bytes to load, those of the slots that are used next first. At most `bytes` bytes, but
  // at least one unit: a chunk, or a strip if `bytes` is less than a chunk. Each want is given
  // once; its place is valid until it is filled. If the result is empty, ask again after filled()
  // and when a cursor was used or has ended: more may be wanted then. A call takes time for the
  // slots that aren't optional and for those that are chosen, and little for all others.
  std::vector<Want> wants(uint64_t bytes);
  // Call this when the n bytes from `offset` on are in place. Bytes of no tensor are ignored. Fails
  // with bad_file, naming tensor and row, if a number isn't finite; the weights can't be used then.
  // Fails with invalid_argument for bytes of a tensor that have arrived already or weren't wanted,
  // and for packed ones that aren't whole strips. Packed numbers aren't checked again: bring only
  // what a PackedKeeper was given. It may have been given with another number of head parts,
  // because all parts are whole strips.
  Status filled(uint64_t offset, uint64_t n, Form form = Form::file);
  // From now on filled() gives `keeper` (null: nobody) the chunks that it packs of slots in shared
  // places, if it has the whole chunk, before they count as arrived. No thread may call filled()
  // meanwhile.
  void keep_packed(PackedKeeper* keeper) { packed_keeper_ = keeper; }
  // The same for rows of the tables that a cursor waits for; load these first. A byte of
  // the file can be wanted twice: as part of a row and of a slot.
  std::vector<Want> row_wants();
  Status rows_filled(uint64_t offset, uint64_t n);
  // Takes bytes that arrived before they were wanted, and copies those of slots that have a place.
  // Fails as filled() does. No thread may call wants() meanwhile.
  Status offer(uint64_t offset, std::span<const uint8_t> bytes);

  // Counts the slots and the single rows that have become resident.
  uint64_t arrivals() const { return arrivals_.load(std::memory_order_acquire); }
  uint64_t held_bytes() const;  // of memory that holds weights now
  // Bytes of the file that were loaded again: for slots that had been resident before and, if slots
  // share places, for single rows of a table that is never resident.
  uint64_t refilled_bytes() const { return refilled_bytes_.load(std::memory_order_relaxed); }
  SlotState state(int slot) const {
    return slots_[static_cast<size_t>(slot)].state.load(std::memory_order_acquire);
  }
  // All slots and all rows of the tables are resident, and stay so: nothing more is wanted.
  bool all_resident() const { return slots_resident() && tables_resident(); }
  // The slot has a place of its own: once it is resident, it stays so.
  bool stays(int slot) const { return !slots_[static_cast<size_t>(slot)].shares_place; }
  bool shares_places() const { return shared_.enabled(); }  // some slots are read again
  // All slots are resident, and stay so. Rows of a table that is in none may still be wanted.
  bool slots_resident() const { return resident_slots_.load() == static_cast<int>(slots_.size()); }
  // The matrix is held as single rows, in no slot.
  bool by_rows(int handle) const { return single_.index_of(handle) >= 0; }
  const std::vector<int>& row_tables() const { return single_.tables; }  // all such matrices
  // Every slot with a place of its own is resident.
  bool ready() const { return missing_own_.load() == 0; }

  // A slot's progress, to be shown.
  struct SlotProgress {
    uint64_t bytes = 0;    // of the file
    uint64_t arrived = 0;  // of these
    SlotState state = SlotState::absent;
    bool shares_place = false;
    uint32_t fills = 0;  // how often it has become resident
  };
  SlotProgress view(int slot) const;
  // How many slots the calls of wants() have looked at so far: a measure of what they cost.
  uint64_t looks() const { return looks_; }

  // --- using them ------------------------------------------------------------------------------
  // The position of a run, which cycles through the slots in ascending order. It must not outlive
  // the weights. One thread at a time may use the cursors of a Weights.
  //
  // A run may pause for as long as it likes: when another has waited twice in a row and this cursor
  // wasn't used in between, it counts as paused, and nothing is loaded or kept for it until it is
  // used again. One that holds the last slot is between two passes, and keeps nothing for itself.
  class Cursor {
   public:
    explicit Cursor(Weights& weights);
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;
    ~Cursor();
    // Moves to `slot`, or asks for it again. True: it is resident, and pinned until this or another
    // cursor is used next: so call it for each slice of work. False: it is wanted.
    bool move_to(int slot);
    // Says which optional slots behind its own it uses, in ascending order, up to the next slot
    // that isn't optional. It uses no others, until it is there.
    void choose(std::vector<int> slots);
    // Says that it uses no slots from `slot` on: a run that needs no logits.
    void stop_before(int slot);
    // The same of all slots before `slot`: a run that needs no layers.
    void begin_at(int slot);
    // Asks for rows of all tables, at most as many different ones as a table has places. True: all
    // can be read, and are pinned until rows_used() or until another cursor is used. False: they
    // are wanted first of all, or another cursor has the places.
    bool reach_rows(std::span<const int32_t> rows);
    void rows_used();
    // Says which rows it will reach for next, so that they are read meanwhile. True: they are here.
    // They aren't pinned, and nothing waits for them.
    bool expect_rows(std::span<const int32_t> rows);
    int slot() const { return slot_; }

   private:
    friend class Weights;
    bool uses(int slot) const;
    Weights& weights_;
    int slot_ = -1;
    std::vector<int> chosen_;  // also those that it has passed
    int begin_ = 0;            // it uses none before this
    int end_ = INT_MAX;        // it uses none from here on
    bool holds_ = false;       // the slot was resident when it was used last
    bool waits_ = false;       // what it asked for last wasn't there
    bool paused_ = false;      // others count, it doesn't
    uint64_t last_use_ = 0;    // Weights::uses_ then
  };

  // Writes row `row` of a matrix to out[cols] as f32. For a row of a SingleRows table,
  // reach_rows() must have said that it can be read.
  void read_row(int handle, int64_t row, float* out) const;
  // The same as the row is in the file. Of a vector, which is one row, all of it.
  void read_file_row(int handle, int64_t row, uint8_t* out) const;
  // Valid while a cursor pins the slot or, if it has its own place, once it is resident.
  const Matrix& matrix(int handle) const { return parts_[static_cast<size_t>(handle)].matrix; }
  const float* vector(int handle) const {
    return reinterpret_cast<const float*>(matrix(handle).data);
  }

 private:
  // A piece and how much of it has arrived since its slot got its place.
  struct Part {
    Piece piece;
    uint64_t unit = 1;               // bytes of a strip, or of a whole vector
    uint64_t chunk = 1;              // bytes of a chunk: whole units
    uint64_t packed_bytes = 0;       // of all whole strips; the rows after them are not packed
    Matrix matrix;                   // matrix.data is set while the slot has a place
    uint8_t* place = nullptr;        // where the file's bytes go
    uint64_t asked = 0;              // bytes from the first on that were wanted
    uint64_t done = 0;               // bytes that have arrived and are packed
    std::vector<ByteRange> arrived;  // in the piece: disjoint, in ascending order
  };
  struct Slot {
    std::atomic<SlotState> state{SlotState::absent};
    uint64_t bytes = 0;         // of memory
    uint8_t* memory = nullptr;  // its place
    bool shares_place = false;
    bool optional = false;
    uint32_t fills = 0;      // how often it became resident
    int missing = 0;         // parts not yet complete
    size_t asking = 0;       // index of the first of `parts` that isn't wholly wanted
    std::vector<int> parts;  // handles, in the order of TensorManifest
  };
  // A place for one row of a SingleRows table. Its piece's slot is -1 - the table's index.
  struct RowPlace {
    Part part;
    uint64_t request = 0;  // the last one for its row; 0: it has no row
    bool on_the_way() const { return part.asked > 0 && part.done < part.piece.bytes; }
  };
  struct RowTable {
    int handle = -1;
    std::vector<int> parts;  // handles of the pieces that have its bytes as well
    // Of these, those that aren't resident; -1: they don't have the whole table.
    std::atomic<int> missing_parts{-1};
    std::vector<RowPlace> places;
    std::vector<int64_t> rows;  // the one in each place, or -1; only rows_here() changes it
    size_t next_place = 0;      // where place_for_row() looks first
  };
  // What is complete now that a range has arrived.
  struct Complete {
    int64_t first_strip = 0, end_strip = 0;
    bool rest = false;  // the rows after the last whole strip
  };

  // What next uses follow from, as long as no cursor is used and nothing arrives.
  struct NextUses {
    struct From {
      int position;
      const Cursor* cursor;  // null: the front, if there is no cursor that counts
      int known = 0;  // for so many slots from the position on it is known which ones are used
    };
    std::vector<From> from;
    // Of the slots that share places those that a run under way can go on to with what is here or
    // coming.
    std::vector<int> in_reach;
  };

  Status check_tables() const;
  Status check_disjoint() const;
  Slot& at(int slot) { return slots_[static_cast<size_t>(slot)]; }
  const Slot& at(int slot) const { return slots_[static_cast<size_t>(slot)]; }
  bool give_place(int slot);
  bool make_room(int use, const NextUses& uses);
  void clear_slot(int slot);
  void note_use(Cursor& cursor, bool waits);
  bool is_between_passes(const Cursor& cursor) const;
  int position(const Cursor& cursor) const;
  bool is_pinned(int slot) const;
  NextUses next_uses() const;
  void look_ahead(NextUses::From& from, std::vector<int>* in_reach) const;
  int next_use(int slot, const NextUses& uses) const;
  std::vector<std::pair<int, int>> missing_slots(const NextUses& uses);
  bool add_wants(int index, uint64_t all, uint64_t& bytes, std::vector<Want>& wants);
  bool is_asked(const Slot& slot) const;
  bool is_wholly_asked(const Slot& slot) const { return slot.asking == slot.parts.size(); }
  void finish_part(Part& part);
  void become_resident(Slot& slot);
  Result<Complete> mark_arrived(Part& part, ByteRange range);
  bool is_refilled(const Part& part) const;
  Status receive(Part& part, ByteRange range, Form form);
  void give_packed(const Part& part, ByteRange range) const;
  std::vector<int>::const_iterator first_piece_ending_after(uint64_t at) const;
  void make_row_places(int index);
  void find_table_parts(RowTable& table);
  const RowTable& table_of(const Part& row) const {
    return row_tables_[static_cast<size_t>(-1 - row.piece.slot)];
  }
  const Part* resident_part_with(const RowTable& table, int64_t row) const;
  std::pair<const Matrix*, int64_t> matrix_with(int handle, int64_t row) const;
  bool tables_resident() const;
  bool rows_here(const Cursor& cursor, std::span<const int32_t> rows);
  bool rows_of_table_here(RowTable& table, std::span<const int32_t> rows);
  static const RowPlace* place_of(const RowTable& table, int64_t row);
  static RowPlace* place_of(RowTable& table, int64_t row);
  RowPlace* place_for_row(RowTable& table);
  Status table_filled(RowTable& table, uint64_t offset, uint64_t n);
  Status pack(const Part& part, const Complete& what, uint8_t* scratch) const;
  static Status check_bytes(uint64_t offset, uint64_t n);
  static Status check_rows(const Part& part, int64_t first, const uint8_t* rows, int64_t n);

  SharedPlaces shared_;
  SingleRows single_;
  std::vector<Part> parts_;  // by handle
  // Handles by their offset in the file, without the SingleRows tables. No two overlap.
  std::vector<int> order_;
  PackedKeeper* packed_keeper_ = nullptr;
  uint64_t longest_strip_ = 0;
  uint64_t shared_place_bytes_ = 0;  // of each shared place
  uint64_t bytes_ = 0;
  std::vector<AlignedBuffer> memory_;

  std::vector<int> always_used_;   // the slots that aren't optional
  std::vector<int> own_optional_;  // the optional slots with places of their own

  mutable std::mutex mutex_;  // for all below, and for what changes in parts_
  std::vector<Slot> slots_;
  std::vector<int> placed_;  // the slots that have a shared place, in ascending order
  std::vector<int> begun_;   // optional slots in shared places that are wanted in part
  mutable uint64_t looks_ = 0;
  size_t next_optional_ = 0;  // the first of own_optional_ that isn't wholly wanted
  std::vector<Cursor*> cursors_;
  const Cursor* current_ = nullptr;  // the one that was used last: its slot is pinned
  uint64_t uses_ = 0;                // of all cursors
  int front_ = 0;                    // where a cursor was last: counts if there is none
  std::vector<uint8_t*> free_places_;
  std::vector<RowTable> row_tables_;    // in the order of SingleRows
  const Cursor* rows_user_ = nullptr;   // has asked for rows and not yet used them
  uint64_t row_requests_ = 1;           // the last call of rows_here(), from 2 on
  std::vector<AlignedBuffer> scratch_;  // of one strip each, not in use
  std::atomic<int> resident_slots_{0};
  std::atomic<uint64_t> arrivals_{0};
  std::atomic<int> missing_own_{0};  // slots with places of their own that aren't resident
  std::atomic<uint64_t> refilled_bytes_{0};
};

}  // namespace sluice
