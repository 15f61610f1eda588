// A model's weights in memory: a slot for the embedding, for each layer and for the head, numbered
// in the order of execution. A slot is absent, arriving or resident; a layer can run while its slot
// is resident.
//
// The weights say what they want next and where it goes (wants). Whoever has the bytes (a source: a
// buffer, a file, a stream) puts them there and says so (filled), in any order and from any thread.
// There they are packed, strip by strip (quant/matrix.h). A weight, scale or min that is NaN or
// infinite is refused as it comes: what it gives differs by instruction set.
//
// Where not all of it fits, slots take turns in fewer places (one that has run is let go and its
// place goes to the next one that is absent), and of an embedding only the rows are held that a
// pass needs.
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
  uint64_t unit = 1;  // bytes that are packed together: a part of a want best has whole units
};

// Slots, ascending, that take turns in `places` places; each has its own where places is 0 or there
// are as many.
struct SharedPlaces {
  std::vector<int> slots;
  int places = 0;

  bool enabled() const { return places > 0 && static_cast<size_t>(places) < slots.size(); }
};

// `places` rows are held of the matrix `table`, of which only single rows are read.
struct SingleRows {
  int table = -1;
  int64_t places = 0;
};

class Weights {
 public:
  // Nothing of them is here yet.
  explicit Weights(const Needs& needs, const SharedPlaces& shared = {},
                   const SingleRows& rows = {});
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  uint64_t bytes() const { return bytes_; }  // of memory, for all places
  // Takes that memory. Call once, before all that follows.
  Status allocate();

  // --- bringing them in: from any thread -------------------------------------------------------
  // What is wanted next: single rows that were asked for, then slots in the order of execution from
  // the one on that was last asked for (lease); at most `bytes` bytes but at least one unit. Each
  // want is given once. Its place stays until it is filled. May be empty while more is wanted: ask
  // again after filled(), lease() and lease_rows().
  std::vector<Want> wants(uint64_t bytes);
  // The n bytes from `offset` on are where wants() said; those of no tensor, and of a table of
  // single rows those that nobody asked for, aren't looked at.
  // bad_file, with tensor and row, where they have a number that isn't finite; these weights are
  // then of no more use. invalid_argument for bytes of a tensor that are there already, or that no
  // want has named.
  Status filled(uint64_t offset, uint64_t n);
  // Bytes that are at hand before anyone has asked for them: those that have a place are copied
  // there. Fails as filled() does. Not while others ask for wants.
  Status offer(uint64_t offset, std::span<const uint8_t> bytes);

  uint64_t held_bytes() const;  // of memory that holds weights by now
  SlotState state(int slot) const {
    return slots_[static_cast<size_t>(slot)].state.load(std::memory_order_acquire);
  }
  // All of them are here, so that nothing more is wanted.
  bool resident() const {
    return single_.table < 0 && resident_slots_.load() == static_cast<int>(slots_.size());
  }

  // --- using them ------------------------------------------------------------------------------
  // Keeps a slot resident while it lives. A slot that takes turns is let go with its last lease.
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
  // Execution has come to `slot`: what is wanted counts from there. Nothing while it isn't
  // resident; then it gets a place before all others.
  std::optional<Lease> lease(int slot);
  // The slot is absent again, and wanted again. Only one that is resident and not leased; others
  // stay as they are. Not while a pass is under way: where all weights are here it takes no leases.
  void discard(int slot);

  // Execution has come to these rows of the table of single rows, at most as many different ones as
  // it has places: are they all here? Where not, they are wanted before all else. They stay until
  // other rows are asked for.
  bool lease_rows(std::span<const int32_t> rows);

  // Row `row` of a matrix as f32, to out[cols]; of single rows, one that is leased.
  void read_row(int handle, int64_t row, float* out) const;
  // Valid while the slot is leased, or resident and never let go.
  const Matrix& matrix(int handle) const { return parts_[static_cast<size_t>(handle)].matrix; }
  const float* vector(int handle) const {
    return reinterpret_cast<const float*>(matrix(handle).data);
  }

 private:
  // Bytes of a piece, counted from its first, or of the file.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // A piece on its way. What follows `piece` is about the present filling of its slot.
  struct Part {
    Piece piece;
    uint64_t unit = 1;           // bytes of a strip; a vector is one
    uint64_t packed_bytes = 0;   // all strips that are packed; what follows stays as it is
    Matrix matrix;               // matrix.data is set while the slot has a place
    uint8_t* place = nullptr;    // where the file's bytes go
    uint64_t asked = 0;          // so many, from the first on, were wanted
    uint64_t done = 0;           // arrived and packed
    std::vector<Range> arrived;  // apart from each other, ascending
  };
  struct Slot {
    std::atomic<SlotState> state{SlotState::absent};
    uint64_t bytes = 0;         // of memory
    uint8_t* memory = nullptr;  // its place
    bool shares_place = false;
    int leases = 0;
    int missing = 0;         // parts not yet complete
    size_t asking = 0;       // the first of `parts` that is not asked for
    std::vector<int> parts;  // as they were bound
  };
  // A place for a row of the table of single rows, and the row that has it.
  struct RowPlace {
    Part part;
    int64_t row = -1;
    uint64_t request = 0;  // the last one that asked for it
    bool on_the_way() const { return part.asked > 0 && part.done < part.piece.bytes; }
  };
  // What a range that arrived completes.
  struct Complete {
    int64_t first_strip = 0, end_strip = 0;
    bool rest = false;  // the rows past the last whole strip
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
  std::vector<int> order_;   // parts_ by their place in the file, but the table of single rows
  uint64_t longest_strip_ = 0;
  uint64_t shared_place_bytes_ = 0;  // of a place that slots share
  uint64_t bytes_ = 0;
  AlignedBuffer memory_;

  mutable std::mutex mutex_;  // for all below, and for what changes in slots and parts
  std::vector<Slot> slots_;
  int position_ = 0;
  std::vector<uint8_t*> free_places_;
  std::vector<RowPlace> row_places_;
  std::unordered_map<int64_t, size_t> place_of_row_;  // changes in lease_rows() alone
  uint64_t row_requests_ = 0;                         // calls of lease_rows()
  size_t next_row_place_ = 0;                         // that a new row tries to take
  std::vector<AlignedBuffer> scratch_;                // a strip each; those that nobody uses
  std::atomic<int> resident_slots_{0};
};

}  // namespace sluice
