// Binds a family's tensors: finds them in the header, checks them, and gives the model its slots.
//
// What a file of any family may do is known here: a bias and a scale beside each matrix, queries,
// keys and values in one tensor or in three, gate and up in one or in two, also those of experts,
// matrices that were multiplied by a Hadamard transform, dense layers behind a pooled vector,
// tensors without effect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/gguf.h"
#include "pass/folded_weights.h"
#include "pass/model.h"

namespace sluice {

// Finds a model's tensors, slot by slot. The first tensor that is missing or wrong becomes the
// error of finish(); all later handles are -1.
class Binder {
 public:
  Binder(const Gguf& gguf, Model& model);

  // Begins a slot: that of the embedding, of a layer (names of tensors are then those after blk.N.)
  // or of the head.
  void embedding() { in(model_.embedding_slot(), ""); }
  void layer(int64_t layer) {
    in(model_.layer_slot(layer), concat("blk.", layer, "."));
    layer_ = layer;
  }
  void head() { in(model_.head_slot(), ""); }
  // Fails unless the file has the tensor, of which another call takes parts.
  void need(std::string_view name);
  bool has(std::string_view name) const {
    return gguf_.find_tensor(concat(prefix_, name)) != nullptr;
  }

  // A norm of rows of n numbers: NAME.weight and, for a layer norm, NAME.bias.
  Norm rms_norm(std::string_view name, int64_t n, float eps);
  Norm layer_norm(std::string_view name, int64_t n, float eps, Biases biases = Biases::required);
  // NAME.weight, a matrix of `rows` rows, and NAME.bias [rows]. If the file has it, NAME.scale [1],
  // which multiplies the product before the bias is added.
  Linear linear(Phase phase, std::string_view name, int64_t rows, int64_t cols,
                Buffer out = Buffer::branch, Biases biases = Biases::optional);
  // To be called of a linear whose input is what a gated delta net made of its value heads, a
  // multiple of the key heads: head i uses key head i % n_key_heads. If the file has the matrix's
  // columns grouped by key heads, the input is put in that order. It must have no norm.
  void group_value_heads(Linear& linear, int64_t n_key_heads, int64_t n_value_heads);
  // The queries, keys and values of a layer with this shape, from rows of n_embd numbers: of
  // attn_qkv, whose rows are those of q, then k, then v, or of attn_q, attn_k and attn_v. Rows of q
  // are those of each head and then, if the layer is gated, of its gate. A layer that reads
  // another's keys and values has queries alone.
  Qkv qkv(const LayerShape& shape, Biases biases = Biases::optional);
  // The same of a layer without attn_qkv, whose values are its keys if there is no attn_v.
  Qkv qkv_or_keys(const LayerShape& shape);
  // The short convolution of a layer with this shape, from rows of n_embd numbers: of
  // shortconv.in_proj, with the rows of b, then c, then x, and shortconv.conv.weight.
  ShortConv short_conv(const LayerShape& shape);
  // The gated delta net of a layer with this shape, from rows of n_embd numbers: of attn_qkv,
  // attn_gate, ssm_beta and ssm_alpha; with ssm_conv1d.weight, ssm_a, ssm_dt.bias and ssm_norm.
  DeltaNet delta_net(const LayerShape& shape, float eps);
  // Gate and up of a layer with this shape, from rows of n_embd numbers: of ffn_gate and ffn_up or,
  // if there is no ffn_gate and ffn_up has 2 * n_ff rows, of ffn_up, with the gate's rows first.
  GateUp gate_up(const LayerShape& shape);
  // The experts of a layer with this shape (Model::experts): of ffn_gate_exps, ffn_up_exps and
  // ffn_down_exps, which hold one matrix for each; or, if there is ffn_gate_up_exps, of that with
  // the gate's rows first. If the file has them, NAME.scale [experts] are one number for each. They
  // are in slots of their own; later tensors are the layer's again.
  std::vector<Expert> experts(int64_t layer, const LayerShape& shape);
  // The numbers that divide the frequencies of a table: rope_factors_short.weight and
  // rope_factors_long.weight or, if the file has neither, rope_freqs.weight, if it has that.
  void rope_factors(RopeShape& rope);
  // Makes token_embd.weight the model's token_table().
  void token_table();
  // The model's layer_inputs(), `width` numbers a layer, in the embedding's slot: of
  // per_layer_token_embd.weight, per_layer_model_proj and per_layer_proj_norm.
  void layer_inputs(int64_t width, float eps);
  // A layer's part of them: of inp_gate, proj and post_norm.
  LayerInput layer_input(float eps);
  // The parts of the matrix of logits: of output.weight or, if the file has none, of
  // token_embd.weight. If the file has them, output.bias and output.scale count as in linear().
  // None for a model without a head, whose family calls it as well: it places the embedding's
  // table. Another name of the bias is that of logits of masked words.
  std::vector<Linear> logits(std::string_view bias = "output.bias");

  // The handle of a single tensor. The name includes .weight.
  int table(std::string_view name, int64_t rows, int64_t cols);  // rows are read one by one
  int optional_table(std::string_view name, int64_t cols);  // of any rows; -1 if the file has none
  int vector(std::string_view name, int64_t length);
  int optional_vector(std::string_view name, int64_t length);  // -1 if the file doesn't have it

  // Fails with bad_file, unsupported_type, or unsupported_model if the file has a tensor that was
  // not bound and has an effect.
  Status finish();

 private:
  // What linears are rows of: the name and size of a matrix, and the handle of NAME.scale.
  struct Source {
    std::string_view name;
    int64_t rows, cols;
    Biases biases;
    int scale;
  };
  void in(int slot, std::string prefix);
  Linear expert_rows(Phase phase, std::string_view name, int64_t expert, int64_t all_rows,
                     int64_t cols, int64_t first, int64_t rows, Buffer out);
  Source source(std::string_view name, int64_t rows, int64_t cols, Biases biases);
  Linear linear_rows(Phase phase, const Source& of, int64_t first, int64_t rows, Buffer out);
  int matrix_rows(std::string_view name, int64_t all_rows, int64_t cols, int64_t first,
                  int64_t rows);
  int vector_part(std::string_view name, int64_t all, int64_t first, int64_t length);
  int vectors(std::string_view name, int64_t n, int64_t length);
  void dense();
  void late_table();
  void late_input_table();
  int input_table();
  int used(Phase phase, int matrix);
  InputTransform transform_of(int matrix);
  int keep(Result<int> handle);

  const Gguf& gguf_;
  Model& model_;
  int slot_ = 0;
  int64_t layer_ = 0;
  std::string prefix_;
  FoldedWeights folded_;
  Status status_;
  bool heads_grouped_ = false;  // group_value_heads() was called of a folded linear
};

}  // namespace sluice
