// The tensors that a model loads: their pieces, where these are in the file, and the slots that
// they belong to. Each piece is checked against the header when it is added (by pass/binder.h).
//
// A piece is some rows of one tensor: a whole matrix, a part of a fused one, one expert, or a
// vector. Slots are numbered in the order of execution; the pieces of a slot are loaded and
// discarded together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "quant/matrix.h"

namespace sluice {

struct Piece {
  std::string tensor;       // its name in the file, for messages
  size_t tensor_index = 0;  // its place in Gguf::tensors
  int slot = 0;
  Type type = Type::F32;
  int64_t all_rows = 0;   // of the tensor
  int64_t first_row = 0;  // in the tensor
  int64_t rows = 0;       // a vector is one row
  int64_t cols = 0;
  uint64_t begin = 0;  // offset in the file
  uint64_t bytes = 0;
  bool is_vector = false;  // f32 in memory, whatever the type in the file
};

class TensorManifest {
 public:
  explicit TensorManifest(int n_slots = 0) : n_slots_(n_slots) {}

  // Each of these adds a piece and returns its handle, which is also its handle in Weights. Handles
  // count from 0. Fails with bad_file if the file has no such tensor or has it in another shape,
  // with unsupported_type if Sluice doesn't compute with its type.
  //
  // A matrix of `rows` rows of `cols` weights.
  Result<int> add_matrix(const Gguf& gguf, std::string_view name, int slot, int64_t rows,
                         int64_t cols);
  // `rows` rows from `first` on of a matrix that has all_rows.
  Result<int> add_rows(const Gguf& gguf, std::string_view name, int slot, int64_t all_rows,
                       int64_t cols, int64_t first, int64_t rows);
  // `count` rows from `first` on of matrix number `index` of a tensor that holds n_matrices of
  // `rows` rows each: an expert's, or a part of it.
  Result<int> add_expert(const Gguf& gguf, std::string_view name, int slot, int64_t n_matrices,
                         int64_t rows, int64_t cols, int64_t index, int64_t first, int64_t count);
  // `length` numbers, F32, F16 or BF16 in the file; f32 in memory.
  Result<int> add_vector(const Gguf& gguf, std::string_view name, int slot, int64_t length);
  // The same of n vectors of `length` in one tensor, one after the other.
  Result<int> add_vectors(const Gguf& gguf, std::string_view name, int slot, int64_t n,
                          int64_t length);
  // `length` numbers from `first` on of a vector of `all`.
  Result<int> add_vector_part(const Gguf& gguf, std::string_view name, int slot, int64_t all,
                              int64_t first, int64_t length);

  // If the file has a tensor of this name, the model doesn't use it.
  void ignore(std::string name) { ignored_.push_back(std::move(name)); }
  // Fails with unsupported_model if the file has a tensor of which no piece was added, and which
  // isn't ignored: without it the model may compute something else. `idle` is empty, or has 1 in
  // the places of tensors that have no effect.
  Status check_no_others(const Gguf& gguf, std::string_view architecture,
                         std::vector<uint8_t> idle = {}) const;

  int add_slot() { return n_slots_++; }  // after all others
  // Numbers the slots anew, without optional ones. Before any piece is added.
  void set_slots(int n) {
    n_slots_ = n;
    optional_.clear();
  }
  // A run uses the slots [begin, end) only if it chooses them, as those of experts. They follow
  // those of which this was said before.
  void make_optional(int begin, int end) {
    optional_.insert(optional_.end(), static_cast<size_t>(begin) - optional_.size(), 0);
    optional_.insert(optional_.end(), static_cast<size_t>(end - begin), 1);
  }
  bool is_optional(int slot) const {
    return static_cast<size_t>(slot) < optional_.size() && optional_[static_cast<size_t>(slot)];
  }
  int n_slots() const { return n_slots_; }
  const std::vector<Piece>& pieces() const { return pieces_; }  // by handle
  const Piece& piece(int handle) const { return pieces_[static_cast<size_t>(handle)]; }

 private:
  struct Shape {
    int64_t cols, rows, matrices;
    bool is_vector;
  };
  Result<int> add(const Gguf& gguf, std::string_view name, int slot, const Shape& shape,
                  int64_t first, int64_t count);

  int n_slots_;
  std::vector<uint8_t> optional_;  // by slot, up to the last that is
  std::vector<Piece> pieces_;
  std::vector<std::string> ignored_;  // tensors
};

}  // namespace sluice
