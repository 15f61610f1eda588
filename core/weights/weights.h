// A model's weights in memory: one slot for the embedding, one for each layer and one for the head.
// A slot is absent, arriving or resident; a layer can run once its slot is resident.
//
// Bytes come from the file in order (window / commit) straight to their place and are packed there
// (quant/matrix.h), strip by strip; or all at once from a file that any part can be read of. A
// weight, scale or min that is NaN or infinite is refused as it comes: what it gives differs by
// instruction set.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/result.h"
#include "base/threads.h"
#include "quant/matrix.h"
#include "weights/needs.h"

namespace sluice {

enum class SlotState : uint8_t { absent, arriving, resident };

class Weights {
 public:
  // Slots and pieces as the model needs them; nothing of them is here yet.
  explicit Weights(const Needs& needs = Needs());

  // --- bringing them in ------------------------------------------------------------------------
  uint64_t bytes() const;          // of memory, once all are resident
  uint64_t arrived_bytes() const;  // of memory that holds weights by now
  // Takes memory for every slot. Call once, then commit() bytes from data offset 0 on.
  Status allocate();
  // Where the next bytes of the file's data belong: a tensor's place, or a bin for those between
  // tensors and after the last. Never empty.
  std::span<uint8_t> window();
  // Where all of the file's data that is still to come belongs, in its order, the bin again and
  // again; for who writes ahead of commit().
  std::vector<std::span<uint8_t>> places();
  // The next n bytes are where they belong; they may fill several windows. bad_file, with tensor
  // and row, where they have a number that isn't finite; these weights are then of no more use.
  Status commit(size_t n);
  // Instead of allocate() and commit(): takes memory and every tensor's bytes, which `read` brings:
  // `out` is filled with those from `at` on, in the file's data. All workers of the pool read and
  // pack, and call `read` at the same time. Fails as `read` and commit() do; of several failures
  // the first in the file counts.
  using ReadData = std::function<Status(uint64_t at, std::span<uint8_t> out)>;
  Status read_from(const ReadData& read, Pool& pool);

  uint64_t missing_bytes() const;  // of the file's data, up to the end of the last tensor used
  SlotState state(int slot) const { return slots_[static_cast<size_t>(slot)].state; }
  bool resident() const { return resident_slots_ == static_cast<int>(slots_.size()); }
  int resident_slots() const { return resident_slots_; }

  // --- using them (valid while their slot is resident) -----------------------------------------
  const Matrix& matrix(int handle) const { return tensors_[static_cast<size_t>(handle)].matrix; }
  const float* vector(int handle) const {
    return reinterpret_cast<const float*>(tensors_[static_cast<size_t>(handle)].matrix.data);
  }

 private:
  struct Tensor {
    std::string name;
    int slot = 0;
    uint64_t begin = 0;  // in the file's data
    uint64_t bytes = 0;
    bool is_vector = false;
    Matrix matrix;             // matrix.data is set when memory is there
    uint8_t* place = nullptr;  // where the file's bytes go
    uint64_t arrived = 0;
    int64_t packed_strips = 0;
  };
  struct Slot {
    SlotState state = SlotState::absent;
    int missing = 0;  // tensors not yet complete
  };
  // One worker of read_from, and what all of them share.
  struct Reader {
    AlignedBuffer piece;
    int64_t failed = INT64_MAX;  // the strip that `status` is about
    Status status;
  };
  struct Reading {
    const ReadData* read;
    std::vector<Reader> readers;
    std::atomic<int64_t> failed{INT64_MAX};  // no strip from here on is wanted any more
  };
  void read_share(Reading& reading, Reader& reader, Share mine) const;
  Status read_strips(const ReadData& read, const Tensor& tensor, Share strips,
                     uint8_t* piece) const;
  static Status check_rows(const Tensor& tensor, int64_t first, const uint8_t* rows, int64_t n);

  static uint64_t memory_of(const Tensor& tensor);
  void sort_by_offset();
  Status advance(Tensor& tensor);
  void complete(Tensor& tensor);

  std::vector<Tensor> tensors_;
  std::vector<Slot> slots_;
  std::vector<int> order_;  // tensors by place in the file
  size_t next_ = 0;         // in order_
  uint64_t cursor_ = 0;     // in the file's data
  int resident_slots_ = 0;
  AlignedBuffer memory_;  // of all slots, one after another: large pages reach across their bounds
  AlignedBuffer strip_;   // one strip, while it is packed in place
  AlignedBuffer bin_;
};

}  // namespace sluice
