// The model of a file, by its family: the tensors that it binds, the shapes of its layers, and the
// order of its steps.
//
// A model never changes once it is made. Weights, passes and timelines are objects of their own;
// any number of them may share a model. The steps are functions of Pass (pass/pass.h), which has
// the buffers, the workers and the threading. A step that only one family needs is in that family's
// file.
#pragma once

#include <cstdint>
#include <vector>

#include "pass/config.h"
#include "pass/observer.h"
#include "pass/profile.h"
#include "pass/shapes.h"
#include "weights/tensor_manifest.h"

namespace sluice {

class Pass;

// A norm of rows: its kind and the handles of its vectors.
struct Norm {
  enum Kind : uint8_t { none, rms, layer };
  Kind kind = none;
  int weight = -1;  // [n]; -1, for heads alone: no weight
  int bias = -1;    // [n], or -1
  float eps = 0;
};

// The norms of query heads, key heads and value heads, [head_dim]; they come before RoPE, which
// doesn't turn values.
struct HeadNorms {
  Norm q, k, v;
  bool keys_are_values = false;  // values are the keys' products, before norm and RoPE
};

// The buffers that steps read and write. They have one row for each token of a block, padded to
// whole strips. The residual stream has one for each token of the pass, not padded, and so has
// `sum`, what experts add; `inputs`, those of all layers (LayerInputs), has padded ones. `chosen`
// is the residual's rows of some tokens: those whose results are computed, or those that chose an
// expert. `results` are the caller's rows. `kept` has a row for each token of the pass, too: what
// the first stage of a layer that sees both ways leaves to its second. Such a layer's `q` is there.
enum class Buffer : uint8_t {
  residual,
  q,
  k,
  v,
  attended,
  hidden,
  up,
  branch,
  chosen,
  results,
  sum,
  inputs,
  kept
};

// What a product's input row goes through after its norm if the matrix is folded
// (pass/folded_weights.h): signs and a Hadamard transform.
struct InputTransform {
  int32_t signs = -1;  // the place of the row's first sign in Fold::signs; -1: it stays as it is
  // Before that, heads are put in another order (group_heads) if there are several repeats.
  int32_t groups = 1;
  int32_t repeats = 1;
  bool operator==(const InputTransform&) const = default;
};

// What all transforms of a model have in common.
struct Fold {
  int64_t block = 0;
  std::vector<float> signs;  // of rows of each width, one after the other; none: all are 1
};

// out = matrix * input (* scale) (+ bias)
struct Linear {
  int matrix = -1;
  int bias = -1;  // [rows], or -1
  Buffer out = Buffer::branch;
  int scale = -1;                 // one number, or -1
  InputTransform transform = {};  // products of a step that have the same share the row
};

// Whether a file must have a linear's biases, or may.
enum class Biases : uint8_t { optional, required };

// The products of an attention layer's input: queries, keys and values. v's matrix is -1 if keys
// are values, and k's and v's are if the layer reads the keys and values of another one.
struct Qkv {
  Linear q, k, v;
};

// A convolution in place of attention: over the last tokens or, in a layer that sees both ways,
// over as many before a token as after it. Its inputs b, c and x are `in`, in this order.
struct ShortConv {
  Qkv in;
  int kernel = -1;  // [channels][tokens], ascending
};

// A gated delta net, in place of attention. Its inputs are `mixed`, the rows of q, k and v, which
// are convolved over time; `gate` of its output; and for each value head what says how much of its
// state a token replaces (beta), and how much decays before.
struct DeltaNet {
  Linear mixed, gate, beta, alpha;
  int kernel = -1;      // [channels][tokens], the present token's weight last
  int decay = -1;       // [value heads]: the state's factor is exp(decay * softplus(alpha + bias))
  int decay_bias = -1;  // [value heads]
  Norm norm = {};       // [head_dim], of each head's output; its eps is also that of q and k
};

// The two products of a gated feed-forward part's input.
struct GateUp {
  Linear gate, up;
};

// One expert of a mixture: its feed-forward part.
struct Expert {
  GateUp gate_up;
  Linear down;
};

// What each layer gets of a token beside the residual: `width` numbers. They come from the token's
// row of a table of its own, with the pieces of all layers, and from its embedding.
struct LayerInputs {
  int64_t width = 0;  // of a layer; 0: there are none
  int table = -1;     // [n_vocab][n_layers * width]; its rows come with those of token_table()
  Linear projection;  // [n_layers * width][n_embd]
  Norm norm;          // of a layer's piece of the product
};

// How a layer's input is added to the residual.
struct LayerInput {
  Linear gate, output;  // [width][n_embd], [n_embd][width]
  Norm norm;            // of the output's product
};

// A worker's call of the steps: for some consecutive tokens of a pass, in one layer; for some that
// chose an expert; or for all tokens whose results are computed, in the final norm or one part of
// the head.
struct Work {
  static constexpr int kNoExpert = -1;
  static constexpr int kOwnExpert = -2;  // each row has its own: those that one token chose
  int worker;
  int64_t layer;  // or the part of the head
  // Counted from the pass's first token, or from the first of those that were chosen.
  int64_t first_token;
  int64_t n_tokens;
  Points points = {};      // of this layer or of the head, where somebody observes
  int expert = kNoExpert;  // of the layer
};

// A matrix that every token is multiplied by, and the phase that does it.
struct WeightUse {
  Phase phase;
  int matrix;
};

// How a model is divided if not all of it is to be in memory at once.
struct Cut {
  int head_parts = 1;        // most parts of the head's matrix, each of whole strips
  bool single_rows = false;  // the embedding table is in no slot: single rows of it are cached
  // With single_rows: the whole table is loaded as well, in the last slot or, if the embeddings are
  // tied, in the head.
  bool late_table = false;
  // With single_rows: the table of layers' inputs (LayerInputs) is loaded as well, in a slot behind
  // all others. Else it never is: its rows come as long as the model is used.
  bool late_input_table = false;
};

// What a model has logits of: of the next token, of the words that masks stand for, or of nothing.
// One without logits is an encoder: it makes vectors of texts.
enum class Head : uint8_t { logits, masks, none };

// The head's matrix in parts of whole strips. A model without a head has no parts.
struct HeadParts {
  int64_t rows = 0;  // of a part; the last may have fewer
  int n = 1;

  // At most `most` parts of a matrix of n_vocab rows.
  static HeadParts of(int64_t n_vocab, int most);
  // A part's slot: one of its own after the head's if there are several.
  int slot(int head_slot, int part) const { return head_slot + (n > 1 ? 1 + part : 0); }
};

class Model {
 public:
  virtual ~Model() = default;
  const Config& config() const { return config_; }
  const TensorManifest& manifest() const { return manifest_; }
  const std::vector<WeightUse>& uses() const { return uses_; }
  const std::vector<LayerShape>& layers() const { return layers_; }
  const LayerShape& layer(int64_t layer) const { return layers_[static_cast<size_t>(layer)]; }
  const std::vector<RopeShape>& ropes() const { return ropes_; }

  // No context can be longer than this many positions. 0: no limit.
  int64_t max_positions() const { return max_positions_; }
  Head head() const { return head_; }
  // What a text's pooled vector is multiplied by, one after the other: none, one or two. They are
  // in head_slot(). vector_width(): the numbers of a vector of a text.
  const std::vector<Linear>& dense() const { return dense_; }
  int64_t vector_width() const;
  uint64_t weight_bytes_per_token() const;  // of all uses()

  ModelMakes makes() const {
    return {.text = head_ == Head::logits, .vectors = true, .masks = head_ == Head::masks};
  }
  bool sees_both_ways() const;  // one of its layers
  // The file's; else the mean if layers see both ways, or the last position.
  Pooling pooling() const;

  // Whether a layer sums up all of its past (LayerShape::state).
  bool recurrent() const;
  const ExpertCounts& experts() const { return experts_; }
  // Whether a layer has stages after its first one: it has experts, or sees both ways.
  bool has_more_stages(int64_t at) const { return experts_.n > 0 || layer(at).both_ways; }

  int embedding_slot() const { return 0; }
  // A layer's slot is followed by those of its experts.
  int layer_slot(int64_t layer) const { return static_cast<int>(1 + layer * (1 + experts_.n)); }
  int expert_slot(int64_t layer, int64_t expert) const {
    return layer_slot(layer) + 1 + static_cast<int>(expert);
  }
  // Holds the final norm and what all parts of the head share, and the matrix itself if it has only
  // one part.
  int head_slot() const { return layer_slot(config_.n_layers); }
  const HeadParts& head_parts() const { return head_parts_; }
  int n_head_parts() const { return head_parts_.n; }
  int head_part_slot(int part) const { return head_parts_.slot(head_slot(), part); }
  int64_t head_part_rows() const { return head_parts_.rows; }  // the last may have fewer

  // Whether it is one of the last slots, of tables that come late (Cut).
  bool is_table_slot(int slot) const { return table_slot_ >= 0 && slot >= table_slot_; }
  int n_slots() const { return manifest_.n_slots(); }

  // The embedding: one row for each token of the vocabulary. With single_rows, single rows of it
  // can be loaded.
  int token_table() const { return token_table_; }
  bool single_rows() const { return cut_.single_rows; }
  const Fold& fold() const { return fold_; }
  // What is to be undone in the embedding's rows.
  const InputTransform& table_transform() const { return table_transform_; }
  const LayerInputs& layer_inputs() const { return layer_inputs_; }
  // Bytes of the file that never come whole: of the table of layers' inputs, if it is in no slot.
  uint64_t bytes_left_out() const;
  // Floats of a token's inputs for all layers.
  int64_t all_inputs() const { return layer_inputs_.width * config_.n_layers; }

  // These call the pass's steps in their order. Every worker of the pass calls them. They must not
  // read anything that changes while the pass lives, except through its steps.
  virtual void embed(Pass& pass, const Work& work) const = 0;  // tokens to the residual stream
  // The stages of a layer, each for all tokens of a pass before the next begins (PassState). All
  // layers have the first, which needs the layer's slot. In a layer with experts it ends with
  // Pass::choose_experts(); then run_expert() is called for each expert that was chosen, ascending,
  // which needs the expert's slot, and last end_layer(), which needs none. In a layer that sees
  // both ways (which has no experts) it ends with Pass::store_heads(), and end_layer(), which needs
  // the layer's slot again, begins with Pass::attend_heads().
  virtual void run_layer(Pass& pass, const Work& work) const = 0;
  virtual void run_expert(Pass&, const Work&) const {}
  virtual void end_layer(Pass&, const Work&) const {}
  // Of the tokens whose results are computed: the final norm, and logits. They need the head's
  // slot. A model without a head computes no logits.
  virtual void run_output(Pass& pass, const Work& work) const = 0;
  virtual void run_head(Pass& pass, const Work& work) const = 0;

 protected:
  Model(const Config& config, const Cut& cut, Head head = Head::logits);
  // Makes all layers mixtures of experts. Before any tensor is bound: it numbers the slots anew.
  void add_experts(const ExpertCounts& counts);

  Config config_;
  Cut cut_;
  Head head_;
  HeadParts head_parts_;
  std::vector<Linear> dense_;
  ExpertCounts experts_;
  int token_table_ = -1;
  int table_slot_ = -1;  // the first of these; -1: there is none
  LayerInputs layer_inputs_;
  Fold fold_;
  InputTransform table_transform_;
  TensorManifest manifest_;
  std::vector<WeightUse> uses_;
  std::vector<LayerShape> layers_;
  std::vector<RopeShape> ropes_;
  int64_t max_positions_ = 0;

  friend class Binder;
};

}  // namespace sluice
