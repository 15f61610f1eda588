// What a model needs of its file: pieces of tensors, the slots that they belong to and where they
// stand. Data alone, made and checked against the header when a family is bound (models/).
//
// A piece is some rows of one tensor: all of a matrix, a part of a fused one, one expert's, one
// vector. Slots are numbered in the order of execution; a slot's pieces come and go together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "quant/matrix.h"

namespace sluice {

struct Piece {
  std::string tensor;  // its name in the file, for messages
  int slot = 0;
  Type type = Type::F32;
  int64_t all_rows = 0;   // of the tensor
  int64_t first_row = 0;  // of them
  int64_t rows = 0;       // a vector is one row
  int64_t cols = 0;
  uint64_t begin = 0;  // in the file, from its first byte
  uint64_t bytes = 0;
  bool is_vector = false;  // f32 in memory, whatever its type
};

class Needs {
 public:
  explicit Needs(int n_slots = 0) : n_slots_(n_slots) {}

  // Each adds a piece and returns its handle, the same that Weights takes: bad_file where the file
  // has no such tensor or has it in another shape, unsupported_type where we don't compute with its
  // type. Handles count from 0 on.
  //
  // A matrix of `rows` rows of `cols` weights.
  Result<int> add_matrix(const Gguf& gguf, std::string_view name, int slot, int64_t rows,
                         int64_t cols);
  // `rows` rows from `first` on of a matrix that has all_rows.
  Result<int> add_rows(const Gguf& gguf, std::string_view name, int slot, int64_t all_rows,
                       int64_t cols, int64_t first, int64_t rows);
  // Matrix number `index` of a tensor that holds n_matrices: an expert.
  Result<int> add_expert(const Gguf& gguf, std::string_view name, int slot, int64_t n_matrices,
                         int64_t rows, int64_t cols, int64_t index);
  // `length` numbers, F32, F16 or BF16 in the file; f32 in memory.
  Result<int> add_vector(const Gguf& gguf, std::string_view name, int slot, int64_t length);
  // `length` numbers from `first` on of a vector of `all`.
  Result<int> add_vector_part(const Gguf& gguf, std::string_view name, int slot, int64_t all,
                              int64_t first, int64_t length);

  // unsupported_model where the file has a tensor of which no piece was added: what we would leave
  // out may be what makes the model another one.
  Status check_no_others(const Gguf& gguf, std::string_view architecture) const;

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
  std::vector<Piece> pieces_;
};

}  // namespace sluice
