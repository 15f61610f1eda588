// What a family is: the weights that it binds, its layers' shapes, and the order of its steps.
//
// A model is data and never changes once it is made: weights, passes and timelines stand apart from
// it, and any number of them may share it. Its steps are those of a Pass (models/pass.h), which has
// the buffers, the workers and the threading; a step that one family alone needs is in its file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "models/config.h"
#include "models/profile.h"
#include "models/shapes.h"
#include "weights/needs.h"

namespace sluice {

class Pass;

// A norm of rows: what kind, and the handles of its vectors.
struct Norm {
  enum Kind : uint8_t { none, rms, layer };
  Kind kind = none;
  int weight = -1;  // [n]
  int bias = -1;    // [n], or -1
  float eps = 0;
};

// Of each query head and each key head, before they turn: [head_dim].
struct HeadNorms {
  Norm q, k;
};

// What a step reads and writes: rows of a block's tokens, padded to whole strips; the residual
// stream has the rows of all of the pass's tokens, not padded.
enum class Buffer : uint8_t { residual, q, k, v, attended, hidden, up, branch, logits };

// rows of `out` = matrix * input (+ bias)
struct Product {
  int matrix;
  int bias = -1;
  Buffer out = Buffer::branch;
};

// A worker's view of some consecutive tokens of a pass in one layer or one part of the head.
struct Work {
  int worker;
  int64_t layer;        // or the part of the head
  int64_t first_token;  // in the pass
  int64_t n_tokens;
};

class Model {
 public:
  // A matrix that a token is multiplied by, and in which phase.
  struct Use {
    Phase phase;
    int matrix;
  };

  virtual ~Model() = default;
  const Config& config() const { return config_; }
  const Needs& needs() const { return needs_; }
  const std::vector<Use>& uses() const { return uses_; }
  const std::vector<LayerShape>& layers() const { return layers_; }
  const LayerShape& layer(int64_t layer) const { return layers_[static_cast<size_t>(layer)]; }
  const std::vector<RopeShape>& ropes() const { return ropes_; }

  // That there can be: a context may not be longer. 0: any number.
  int64_t max_positions() const { return max_positions_; }
  uint64_t weight_bytes_per_token() const;  // of all uses

  int embedding_slot() const { return 0; }
  int layer_slot(int64_t layer) const { return static_cast<int>(layer) + 1; }
  // Has what all parts of the head share; the only part of a head is in it, too.
  int head_slot() const { return layer_slot(config_.n_layers); }
  int n_head_parts() const { return n_head_parts_; }
  int head_part_slot(int part) const { return head_slot() + (n_head_parts_ > 1 ? 1 + part : 0); }
  int64_t head_part_rows() const { return head_part_rows_; }  // the last may have fewer

  // The table of the tokens' rows; with single_rows only those are held that a pass needs.
  int token_table() const { return token_table_; }
  bool single_rows() const { return config_.cut.single_rows; }

  // The steps. Every worker of a pass calls them: they read nothing that changes while the pass
  // lives but through its steps.
  virtual void embed(Pass& pass, const Work& work) const = 0;      // tokens to the residual stream
  virtual void run_layer(Pass& pass, const Work& work) const = 0;  // once the slot is resident
  virtual void run_head(Pass& pass, const Work& work) const = 0;   // one token's logits

 protected:
  explicit Model(const Config& config);

  Config config_;
  int64_t head_part_rows_;
  int n_head_parts_;
  int token_table_ = -1;
  Needs needs_;
  std::vector<Use> uses_;
  std::vector<LayerShape> layers_;
  std::vector<RopeShape> ropes_;
  int64_t max_positions_ = 0;

  friend class Binder;
};

// Finds a model's tensors, slot by slot. The first one that is missing or wrong is kept as the
// error of finish(); from then on handles are -1.
class Binder {
 public:
  Binder(const Gguf& gguf, Model& model) : gguf_(gguf), model_(model) {}

  // What follows belongs to the embedding, to a layer (its names begin with blk.N.) or to the head.
  void embedding() { in(model_.embedding_slot(), ""); }
  void layer(int64_t layer) { in(model_.layer_slot(layer), concat("blk.", layer, ".")); }
  void head() { in(model_.head_slot(), ""); }
  bool has(std::string_view name) const {
    return gguf_.find_tensor(concat(prefix_, name)) != nullptr;
  }

  // A norm of rows of n numbers: NAME.weight, and for a layer norm NAME.bias.
  Norm rms_norm(std::string_view name, int64_t n, float eps);
  Norm layer_norm(std::string_view name, int64_t n, float eps);
  // NAME.weight, a matrix of `rows` rows, and with `bias` NAME.bias.
  Product product(Phase phase, std::string_view name, int64_t rows, int64_t cols,
                  Buffer out = Buffer::branch, bool bias = false);
  // Of both `rows` rows from `first` on; the tensors have all_rows.
  Product part(Phase phase, std::string_view name, int64_t all_rows, int64_t cols, int64_t first,
               int64_t rows, Buffer out, bool bias = false);
  // token_embd.weight, the model's token_table().
  void token_table();
  // The matrix of logits, part by part: output.weight or, where the file has none, the tokens'
  // table, again.
  std::vector<int> logits();

  // Single tensors, by their name behind blk.N.: the handle.
  int table(std::string_view name, int64_t rows, int64_t cols);  // of which single rows are read
  int vector(std::string_view name, int64_t length);
  // `optional`: -1 where the file doesn't have it.
  int optional_vector(std::string_view name, int64_t length);

  // bad_file, unsupported_type; unsupported_model where the file has a tensor that was not bound.
  Status finish();

 private:
  void in(int slot, std::string prefix);
  int used(Phase phase, int matrix);
  int keep(Result<int> handle);

  const Gguf& gguf_;
  Model& model_;
  int slot_ = 0;
  std::string prefix_;
  Status status_;
};

}  // namespace sluice
