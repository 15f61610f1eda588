// Binds a family's tensors: finds them in the header, checks them, and gives the model its slots.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/gguf.h"
#include "pass/model.h"

namespace sluice {

// Finds a model's tensors, slot by slot. The first tensor that is missing or wrong becomes the
// error of finish(); all later handles are -1.
class Binder {
 public:
  Binder(const Gguf& gguf, Model& model) : gguf_(gguf), model_(model) {}

  // Begins a slot: that of the embedding, of a layer (names of tensors are then those after blk.N.)
  // or of the head.
  void embedding() { in(model_.embedding_slot(), ""); }
  void layer(int64_t layer) { in(model_.layer_slot(layer), concat("blk.", layer, ".")); }
  void head() { in(model_.head_slot(), ""); }
  bool has(std::string_view name) const {
    return gguf_.find_tensor(concat(prefix_, name)) != nullptr;
  }

  // A norm of rows of n numbers: NAME.weight and, for a layer norm, NAME.bias.
  Norm rms_norm(std::string_view name, int64_t n, float eps);
  Norm layer_norm(std::string_view name, int64_t n, float eps);
  // NAME.weight, a matrix of `rows` rows, and NAME.bias if `bias`.
  Linear linear(Phase phase, std::string_view name, int64_t rows, int64_t cols,
                Buffer out = Buffer::branch, bool bias = false);
  // The same for `rows` rows from `first` on of tensors that have all_rows rows.
  Linear linear_rows(Phase phase, std::string_view name, int64_t all_rows, int64_t cols,
                     int64_t first, int64_t rows, Buffer out, bool bias = false);
  // Makes token_embd.weight the model's token_table().
  void token_table();
  // The parts of the matrix of logits: of output.weight or, if the file has none, of
  // token_embd.weight.
  std::vector<int> logits();

  // The handle of a single tensor. The name includes .weight.
  int table(std::string_view name, int64_t rows, int64_t cols);  // rows are read one by one
  int vector(std::string_view name, int64_t length);
  int optional_vector(std::string_view name, int64_t length);  // -1 if the file doesn't have it

  // Fails with bad_file, unsupported_type, or unsupported_model if the file has a tensor that was
  // not bound.
  Status finish();

 private:
  void in(int slot, std::string prefix);
  void late_table();
  int used(Phase phase, int matrix);
  int keep(Result<int> handle);

  const Gguf& gguf_;
  Model& model_;
  int slot_ = 0;
  std::string prefix_;
  Status status_;
};

}  // namespace sluice
