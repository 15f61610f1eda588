// A model's weights in memory, in slots: one for the embedding, one for each layer, and one or more
// for the head. Slots are numbered in the order of execution. A slot is absent, arriving or
// resident; a layer can run while its slot is resident.
//
// wants() tells which bytes are needed next and where they go. A source (a buffer, a file, a
// stream) puts them there and calls filled(), in any order and from any thread. They are packed
// where they are, strip by strip (quant/matrix.h). A weight, scale or min that is NaN or infinite
// is an error, because its results would differ between instruction sets.
//
// If not all weights fit, slots can share places: a slot is discarded after it has run, and its
// place goes to the next absent slot. And of the embedding only the rows can be held that a pass
// needs.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "quant/matrix.h"
#include "weights/needs.h"

namespace sluice {

enum class SlotState : uint8_t { absent, arriving, resident };

// Bytes of the file, and where they go.
struct Want {
  uint64_t offset = 0;  // in the file
  std::span<uint8_t> place;
  uint64_t unit = 1;  // bytes that are packed together; divide a want between units
};

// `slots`, in ascending order, share `places` places. Each has a place of its own if `places` is 0
// or enough for all.
struct SharedPlaces {
  std::vector<int> slots;
  int places = 0;

  bool enabled() const { return places > 0 && static_cast<size_t>(places) < slots.size(); }
};

// Only `places` rows are held of the matrix with the handle `table` (-1: of none).
struct SingleRows {
  int table = -1;
  int64_t places = 0;
};

class Weights {
 public:
  // All slots are absent.
  explicit Weights(const Needs& needs, const SharedPlaces& shared = {},
                   const SingleRows& rows = {});
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  uint64_t bytes() const { return bytes_; }  // of memory, for all places
  // Allocates that memory. Call it once, before the functions below. Fails with out_of_memory.
  Status allocate();

  // --- bringing them in: from any thread -------------------------------------------------------
  // The bytes that are needed next: first the rows that lease_rows() asked for, then slots in the
  // order of execution, from the last one that lease() asked for. At most `bytes` bytes, but at
  // least one unit. Each want is given once; its place is valid until it is filled. If the result
  // is empty, ask again after filled(), lease() and lease_rows(): more may be wanted then.
  std::vector<Want> wants(uint64_t bytes);
  // Call this when the n bytes from `offset` on are in place. Bytes of no tensor, and of rows of
  // the SingleRows table that weren't asked for, are ignored. Fails with bad_file, naming tensor
  // and row, if a number isn't finite; the weights can't be used then. Fails with invalid_argument
  // for bytes of a tensor that have arrived already or weren't wanted.
  Status filled(uint64_t offset, uint64_t n);
  // Takes bytes that came before they were wanted, and copies those that have a place to it. Fails
  // as filled() does. No thread may call wants() meanwhile.
  Status offer(uint64_t offset, std::span<const uint8_t> bytes);

  uint64_t held_bytes() const;  // of memory that holds weights now
  SlotState state(int slot) const {
    return slots_[static_cast<size_t>(slot)].state.load(std::memory_order_acquire);
  }
  // All slots are resident, so nothing more is wanted.
  bool resident() const {
    return single_.table < 0 && resident_slots_.load() == static_cast<int>(slots_.size());
  }

  // --- using them ------------------------------------------------------------------------------
  // Keeps a slot resident while it lives. A slot in a shared place is discarded when its last lease
  // ends.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : weights_(std::exchange(other.weights_, nullptr)), slot_(other.slot_) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(weights_, other.weights_);
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Lease() {
      if (weights_ != nullptr) weights_->release(slot_);
    }
    int slot() const { return slot_; }

   private:
    friend class Weights;
    Lease(Weights* weights, int slot) : weights_(weights), slot_(slot) {}
    Weights* weights_;
    int slot_;
  };
  // Call this when execution comes to `slot`; wants() goes on from there. Returns nothing if the
  // slot isn't resident. It then gets a place before all others.
  std::optional<Lease> lease(int slot);
  // Makes a resident slot absent, so that it is wanted again. Does nothing if the slot is leased or
  // isn't resident. Don't call it during a pass: a pass takes no leases if all slots are resident.
  void discard(int slot);

  // Call this when execution comes to these rows of the SingleRows table; at most as many different
  // rows as it has places. True if all have arrived; they stay until the next call. Otherwise they
  // are wanted before all else.
  bool lease_rows(std::span<const int32_t> rows);

  // Writes row `row` of a matrix to out[cols] as f32. A row of the SingleRows table must be leased.
  void read_row(int handle, int64_t row, float* out) const;
  // Valid while the slot is leased or, if it has its own place, until discard().
  const Matrix& matrix(int handle) const { return parts_[static_cast<size_t>(handle)].matrix; }
  const float* vector(int handle) const {
    return reinterpret_cast<const float*>(matrix(handle).data);
  }

 private:
  // A range of bytes in a piece or in the file.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // A piece and how much of it has arrived since its slot got its place.
  struct Part {
    Piece piece;
    uint64_t unit = 1;           // bytes of a strip, or of a whole vector
    uint64_t packed_bytes = 0;   // of all whole strips; the rows after them are not packed
    Matrix matrix;               // matrix.data is set while the slot has a place
    uint8_t* place = nullptr;    // where the file's bytes go
    uint64_t asked = 0;          // bytes from the first on that were wanted
    uint64_t done = 0;           // bytes that have arrived and are packed
    std::vector<Range> arrived;  // disjoint, in ascending order
  };
  struct Slot {
    std::atomic<SlotState> state{SlotState::absent};
    uint64_t bytes = 0;         // of memory
    uint8_t* memory = nullptr;  // its place
    bool shares_place = false;
    int leases = 0;
    int missing = 0;         // parts not yet complete
    size_t asking = 0;       // index of the first of `parts` that isn't wholly wanted
    std::vector<int> parts;  // handles, in the order of Needs
  };
  // A place for one row of the SingleRows table.
  struct RowPlace {
    Part part;
    int64_t row = -1;      // the row that has it
    uint64_t request = 0;  // the last one for this row
    bool on_the_way() const { return part.asked > 0 && part.done < part.piece.bytes; }
  };
  // What is complete now that a range has arrived.
  struct Complete {
    int64_t first_strip = 0, end_strip = 0;
    bool rest = false;  // the rows after the last whole strip
  };

  static uint64_t memory_of(const Part& part);
  Slot& at(int slot) { return slots_[static_cast<size_t>(slot)]; }
  bool give_place(int slot);
  void make_room(int slot);
  void clear_slot(int slot);
  void release(int slot);
  void finish_part(Part& part);
  Result<Complete> mark_arrived(Part& part, Range range);
  Status receive(Part& part, Range range);
  Status receive_for_pieces(Range bytes);
  std::vector<int>::const_iterator first_piece_ending_after(uint64_t at) const;
  void make_row_places();
  RowPlace* place_for_row();
  bool want_rows(uint64_t& bytes, std::vector<Want>& wants);
  std::vector<std::pair<RowPlace*, Range>> rows_on_the_way(Range bytes);
  bool piece_on_the_way(Range bytes) const;
  Status pack(const Part& part, const Complete& what, uint8_t* scratch) const;
  static Status check_rows(const Part& part, int64_t first, const uint8_t* rows, int64_t n);

  SharedPlaces shared_;
  SingleRows single_;
  std::vector<Part> parts_;  // by handle
  std::vector<int> order_;   // handles by their offset in the file, without the SingleRows table
  uint64_t longest_strip_ = 0;
  uint64_t shared_place_bytes_ = 0;  // of each shared place
  uint64_t bytes_ = 0;
  AlignedBuffer memory_;

  mutable std::mutex mutex_;  // for all below, and for what changes in parts_
  std::vector<Slot> slots_;
  int position_ = 0;
  std::vector<uint8_t*> free_places_;
  std::vector<RowPlace> row_places_;
  std::unordered_map<int64_t, size_t> place_of_row_;  // only lease_rows() changes it
  uint64_t row_requests_ = 0;                         // calls of lease_rows()
  size_t next_row_place_ = 0;                         // where place_for_row() looks first
  std::vector<AlignedBuffer> scratch_;                // of one strip each, not in use
  std::atomic<int> resident_slots_{0};
};

}  // namespace sluice
