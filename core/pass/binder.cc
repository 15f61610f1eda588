#include "pass/binder.h"

#include <algorithm>
#include <utility>

#include "pass/config_reader.h"

namespace sluice {
namespace {

// Old converters repeat the angles of RoPE in each layer; newer ones name the scales that
// activations had when the weights were quantized. Blocks after the layers only draft tokens. None
// of them counts in a pass.
bool has_no_effect(std::string_view tensor, const Config& config) {
  if (tensor.ends_with(".input_scale")) return true;
  if (!tensor.starts_with("blk.")) return false;
  const size_t end = tensor.find_first_not_of("0123456789", 4);
  if (end == 4 || end == tensor.npos) return false;
  const std::string_view name = tensor.substr(end);
  if (name == ".rope_freqs.weight" || name.starts_with(".attn_rot_embd")) return true;
  for (int64_t block = config.n_layers; block < config.n_blocks; ++block)
    if (tensor.substr(4, end - 4) == concat(block) && name.starts_with('.')) return true;
  return false;
}

}  // namespace

Binder::Binder(const Gguf& gguf, Model& model)
    : gguf_(gguf), model_(model), folded_(gguf), status_(folded_.read(model.fold_)) {}

void Binder::in(int slot, std::string prefix) {
  slot_ = slot;
  prefix_ = std::move(prefix);
}

int Binder::keep(Result<int> handle) {
  if (handle.has_value()) return *handle;
  if (status_.has_value()) status_ = std::unexpected(std::move(handle).error());
  return -1;
}

int Binder::used(Phase phase, int matrix) {
  model_.uses_.push_back({phase, matrix});
  return matrix;
}

// That of the input rows of a matrix.
InputTransform Binder::transform_of(int matrix) {
  InputTransform made;
  if (matrix < 0) return made;
  const Piece& piece = model_.manifest_.piece(matrix);
  if (!folded_.take(piece.tensor_index)) return made;
  made.signs = folded_.signs_of(piece.cols);
  if (made.signs < 0) keep(folded_.refuse_width(piece.cols));
  return made;
}

void Binder::group_value_heads(Linear& linear, int64_t n_key_heads, int64_t n_value_heads) {
  if (linear.transform.signs < 0) return;
  heads_grouped_ = true;
  if (!folded_.heads_grouped()) return;
  linear.transform.groups = static_cast<int32_t>(n_key_heads);
  linear.transform.repeats = static_cast<int32_t>(n_value_heads / n_key_heads);
}

Norm Binder::rms_norm(std::string_view name, int64_t n, float eps) {
  return {Norm::rms, vector(concat(name, ".weight"), n), -1, eps};
}

Norm Binder::layer_norm(std::string_view name, int64_t n, float eps, Biases biases) {
  const int weight = vector(concat(name, ".weight"), n);
  const std::string bias = concat(name, ".bias");
  const bool biased = biases == Biases::required || has(bias);
  return {Norm::layer, weight, biased ? vector(bias, n) : -1, eps};
}

int Binder::matrix_rows(std::string_view name, int64_t all_rows, int64_t cols, int64_t first,
                        int64_t rows) {
  if (!status_.has_value()) return -1;
  return keep(
      model_.manifest_.add_rows(gguf_, concat(prefix_, name), slot_, all_rows, cols, first, rows));
}

int Binder::vector_part(std::string_view name, int64_t all, int64_t first, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(
      model_.manifest_.add_vector_part(gguf_, concat(prefix_, name), slot_, all, first, length));
}

Binder::Source Binder::source(std::string_view name, int64_t rows, int64_t cols, Biases biases) {
  return {name, rows, cols, biases, optional_vector(concat(name, ".scale"), 1)};
}

// The rows [first, first + rows) of a source.
Linear Binder::linear_rows(Phase phase, const Source& of, int64_t first, int64_t rows, Buffer out) {
  Linear made{-1, -1, out, of.scale};
  made.matrix = used(phase, matrix_rows(concat(of.name, ".weight"), of.rows, of.cols, first, rows));
  made.transform = transform_of(made.matrix);
  const std::string bias = concat(of.name, ".bias");
  if (of.biases == Biases::required || has(bias))
    made.bias = vector_part(bias, of.rows, first, rows);
  return made;
}

Linear Binder::linear(Phase phase, std::string_view name, int64_t rows, int64_t cols, Buffer out,
                      Biases biases) {
  return linear_rows(phase, source(name, rows, cols, biases), 0, rows, out);
}

Qkv Binder::qkv(const LayerShape& shape, Biases biases) {
  const int64_t q = shape.q_width(), kv = shape.kv_rows(), cols = model_.config_.n_embd;
  if (shape.cache != layer_) {
    // Some converters write what the layer would use if it had keys and values of its own.
    for (const char* unused : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"})
      model_.manifest_.ignore(concat(prefix_, unused));
    return {linear(Phase::qkv, "attn_q", q, cols, Buffer::q, biases), {}, {}};
  }
  if (has("attn_qkv.weight")) {
    const Source all = source("attn_qkv", q + 2 * kv, cols, biases);
    return {linear_rows(Phase::qkv, all, 0, q, Buffer::q),
            linear_rows(Phase::qkv, all, q, kv, Buffer::k),
            linear_rows(Phase::qkv, all, q + kv, kv, Buffer::v)};
  }
  return {linear(Phase::qkv, "attn_q", q, cols, Buffer::q, biases),
          linear(Phase::qkv, "attn_k", kv, cols, Buffer::k, biases),
          linear(Phase::qkv, "attn_v", kv, cols, Buffer::v, biases)};
}

Qkv Binder::qkv_or_keys(const LayerShape& shape) {
  if (shape.cache != layer_ || has("attn_v.weight")) return qkv(shape);
  const int64_t cols = model_.config_.n_embd;
  return {linear(Phase::qkv, "attn_q", shape.q_rows(), cols, Buffer::q),
          linear(Phase::qkv, "attn_k", shape.kv_rows(), cols, Buffer::k),
          {}};
}

ShortConv Binder::short_conv(const LayerShape& shape) {
  const int64_t n = shape.conv_channels;
  const Source all = source("shortconv.in_proj", 3 * n, model_.config_.n_embd, Biases::optional);
  ShortConv conv{{linear_rows(Phase::qkv, all, 0, n, Buffer::q),
                  linear_rows(Phase::qkv, all, n, n, Buffer::k),
                  linear_rows(Phase::qkv, all, 2 * n, n, Buffer::v)}};
  conv.kernel = vectors("shortconv.conv.weight", n, shape.conv_tokens);
  return conv;
}

DeltaNet Binder::delta_net(const LayerShape& shape, float eps) {
  const DeltaShape& delta = shape.delta;
  const int64_t heads = delta.n_value_heads, cols = model_.config_.n_embd;
  DeltaNet net{.mixed = linear(Phase::qkv, "attn_qkv", delta.channels(), cols, Buffer::q),
               .gate = linear(Phase::qkv, "attn_gate", delta.value_rows(), cols, Buffer::k),
               .beta = linear(Phase::qkv, "ssm_beta", heads, cols, Buffer::v),
               .alpha = linear(Phase::qkv, "ssm_alpha", heads, cols, Buffer::branch)};
  net.kernel = vectors("ssm_conv1d.weight", delta.channels(), delta.conv_tokens);
  net.decay = vector("ssm_a", heads);
  net.decay_bias = vector("ssm_dt.bias", heads);
  net.norm = rms_norm("ssm_norm", delta.head_dim, eps);
  return net;
}

GateUp Binder::gate_up(const LayerShape& shape) {
  const int64_t n = shape.n_ff, cols = model_.config_.n_embd;
  const TensorInfo* up = gguf_.find_tensor(concat(prefix_, "ffn_up.weight"));
  const bool twice = up != nullptr && up->dims[1] == static_cast<uint64_t>(2 * n);
  if (twice && !has("ffn_gate.weight")) {
    const Source both = source("ffn_up", 2 * n, cols, Biases::optional);
    return {linear_rows(Phase::gate_up, both, 0, n, Buffer::hidden),
            linear_rows(Phase::gate_up, both, n, n, Buffer::up)};
  }
  return {linear(Phase::gate_up, "ffn_gate", n, cols, Buffer::hidden),
          linear(Phase::gate_up, "ffn_up", n, cols, Buffer::up)};
}

// The rows [first, first + rows) of one expert's matrix, of all_rows.
Linear Binder::expert_rows(Phase phase, std::string_view name, int64_t expert, int64_t all_rows,
                           int64_t cols, int64_t first, int64_t rows, Buffer out) {
  const auto [n, n_used] = model_.experts();
  const std::string weight = concat(prefix_, name, ".weight"), scale = concat(name, ".scale");
  Linear made{-1, -1, out, has(scale) ? vector_part(scale, n, expert, 1) : -1};
  if (!status_.has_value()) return made;
  made.matrix = keep(
      model_.manifest_.add_expert(gguf_, weight, slot_, n, all_rows, cols, expert, first, rows));
  made.transform = transform_of(made.matrix);
  // All are of one size, so the first n_used stand for those that a token uses.
  if (expert < n_used) used(phase, made.matrix);
  return made;
}

std::vector<Expert> Binder::experts(int64_t layer, const LayerShape& shape) {
  const int64_t d = model_.config_.n_embd, n_ff = shape.n_ff;
  std::vector<Expert> all;
  if (!has("ffn_gate_exps.weight") && has("ffn_gate.0.weight")) {
    keep(
        fail(Code::unsupported_model, "the file has a tensor for each expert (", prefix_,
             "ffn_gate.0.weight), as files from early 2024 do, which Sluice doesn't compute; use a "
             "newer file of the model, with ",
             prefix_, "ffn_gate_exps.weight"));
    return all;
  }
  const bool fused = has("ffn_gate_up_exps.weight");
  const std::string_view gate = fused ? "ffn_gate_up_exps" : "ffn_gate_exps";
  const std::string_view up = fused ? gate : "ffn_up_exps";
  const int64_t rows = fused ? 2 * n_ff : n_ff;
  for (int64_t e = 0; e < model_.experts().n && status_.has_value(); ++e) {
    slot_ = model_.expert_slot(layer, e);
    Expert& expert = all.emplace_back();
    expert.gate_up.gate = expert_rows(Phase::gate_up, gate, e, rows, d, 0, n_ff, Buffer::hidden);
    expert.gate_up.up = expert_rows(Phase::gate_up, up, e, rows, d, rows - n_ff, n_ff, Buffer::up);
    expert.down = expert_rows(Phase::down, "ffn_down_exps", e, d, n_ff, 0, d, Buffer::branch);
  }
  slot_ = model_.layer_slot(layer);
  return all;
}

void Binder::rope_factors(RopeShape& rope) {
  const int64_t n = rope.numbers.dims / 2;
  if (!has("rope_factors_short.weight") && !has("rope_factors_long.weight")) {
    rope.factors = optional_vector("rope_freqs.weight", n);
    return;
  }
  rope.factors = vector("rope_factors_short.weight", n);
  rope.long_factors = vector("rope_factors_long.weight", n);
  if (rope.original_context > 0) return;
  keep(fail(Code::bad_file, model_.config_.architecture,
            ".rope.scaling.original_context_length is 0; the context from which on "
            "rope_factors_long.weight counts is expected"));
}

void Binder::token_table() {
  const Config& config = model_.config_;
  model_.token_table_ = table("token_embd.weight", config.n_vocab, config.n_embd);
  if (!folded_.embedding() || !status_.has_value()) return;
  model_.table_transform_.signs = folded_.signs_of(config.n_embd);
  if (model_.table_transform_.signs < 0) keep(folded_.refuse_width(config.n_embd));
}

int Binder::input_table() {
  return table("per_layer_token_embd.weight", model_.config_.n_vocab, model_.all_inputs());
}

void Binder::layer_inputs(int64_t width, float eps) {
  LayerInputs& inputs = model_.layer_inputs_;
  inputs.width = width;
  inputs.table = input_table();
  inputs.projection = linear(Phase::layer_input, "per_layer_model_proj", model_.all_inputs(),
                             model_.config_.n_embd, Buffer::inputs);
  inputs.norm = rms_norm("per_layer_proj_norm", width, eps);
}

LayerInput Binder::layer_input(float eps) {
  const int64_t width = model_.layer_inputs_.width, d = model_.config_.n_embd;
  return {linear(Phase::layer_input, "inp_gate", width, d, Buffer::hidden),
          linear(Phase::layer_input, "proj", d, width), rms_norm("post_norm", d, eps)};
}

void Binder::late_input_table() {
  if (!model_.cut_.late_input_table || model_.layer_inputs_.width == 0) return;
  if (!status_.has_value()) return;
  const int slot = model_.manifest_.add_slot();
  if (model_.table_slot_ < 0) model_.table_slot_ = slot;
  in(slot, "");
  input_table();
}

// dense_2 and dense_3, which a pooled vector is multiplied by. The header may say their sizes.
// Their products are kept in turn in two buffers (Pass::run_dense).
void Binder::dense() {
  in(model_.head_slot(), "");
  ConfigReader reader(gguf_, model_.config_.architecture);
  int64_t width = model_.config_.n_embd;
  for (const char* name : {"dense_2", "dense_3"}) {
    const TensorInfo* tensor = gguf_.find_tensor(concat(name, ".weight"));
    if (tensor == nullptr) continue;
    reader.integer(concat(name, "_feat_in"), width, width, width);
    const auto rows = static_cast<int64_t>(std::min<uint64_t>(tensor->dims[1], kMaxWidth));
    const int64_t out = reader.integer(concat(name, "_feat_out"), rows, kMaxWidth);
    if (status_.has_value()) status_ = reader.status();
    const Buffer buffer = model_.dense_.empty() ? Buffer::hidden : Buffer::branch;
    model_.dense_.push_back(linear(Phase::head, name, out, width, buffer));
    width = out;
  }
  reader.integer("embedding_length_out", width, width, width);
  if (status_.has_value()) status_ = reader.status();
}

// The table's slot is the last one, because the others are numbered already.
void Binder::late_table() {
  if (!model_.cut_.late_table || !status_.has_value()) return;
  const Config& config = model_.config_;
  slot_ = model_.table_slot_ = model_.manifest_.add_slot();
  table("token_embd.weight", config.n_vocab, config.n_embd);
}

std::vector<Linear> Binder::logits(std::string_view bias) {
  if (model_.n_head_parts() == 0) {
    model_.manifest_.ignore("output.weight");
    late_table();
    slot_ = model_.head_slot();
    return {};
  }
  const Config& config = model_.config_;
  const bool own = has("output.weight");
  // All parts share the scale. Each has its rows of the bias.
  const bool biased = has(bias);
  const int scale = optional_vector("output.scale", 1);
  const auto linear_of = [&](int matrix, int64_t first, int64_t rows) {
    const int own_bias = biased ? vector_part(bias, config.n_vocab, first, rows) : -1;
    return Linear{used(Phase::head, matrix), own_bias, Buffer::results, scale,
                  transform_of(matrix)};
  };
  if (own) late_table();
  if (!own && !model_.single_rows()) {
    if (model_.n_head_parts() == 1) return {linear_of(model_.token_table(), 0, config.n_vocab)};
    keep(fail(
        Code::invalid_argument,
        "the head can't come in parts: it is the embedding's table, which is held whole; ask for "
        "embedding_rows, too, or for one part"));
    return {};
  }
  const std::string_view name = own ? "output.weight" : "token_embd.weight";
  std::vector<Linear> parts;
  for (int part = 0; part < model_.n_head_parts(); ++part) {
    slot_ = model_.head_part_slot(part);
    const int64_t first = part * model_.head_part_rows();
    const int64_t rows = std::min(model_.head_part_rows(), config.n_vocab - first);
    parts.push_back(
        linear_of(matrix_rows(name, config.n_vocab, config.n_embd, first, rows), first, rows));
  }
  slot_ = model_.head_slot();
  return parts;
}

int Binder::table(std::string_view name, int64_t rows, int64_t cols) {
  if (!status_.has_value()) return -1;
  return keep(model_.manifest_.add_matrix(gguf_, concat(prefix_, name), slot_, rows, cols));
}

int Binder::optional_table(std::string_view name, int64_t cols) {
  const TensorInfo* tensor = gguf_.find_tensor(concat(prefix_, name));
  if (tensor == nullptr) return -1;
  return table(name, static_cast<int64_t>(std::min<uint64_t>(tensor->dims[1], kMaxWidth)), cols);
}

void Binder::need(std::string_view name) {
  if (!has(name)) keep(fail(Code::bad_file, "the file has no tensor ", prefix_, name));
}

int Binder::vector(std::string_view name, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(model_.manifest_.add_vector(gguf_, concat(prefix_, name), slot_, length));
}

int Binder::vectors(std::string_view name, int64_t n, int64_t length) {
  if (!status_.has_value()) return -1;
  return keep(model_.manifest_.add_vectors(gguf_, concat(prefix_, name), slot_, n, length));
}

int Binder::optional_vector(std::string_view name, int64_t length) {
  return has(name) ? vector(name, length) : -1;
}

Status Binder::finish() {
  dense();
  late_input_table();
  SLUICE_TRY(status_);
  SLUICE_TRY(folded_.check_all_found(model_.manifest_, heads_grouped_));
  std::vector<uint8_t> idle;
  for (const TensorInfo& tensor : gguf_.tensors)
    idle.push_back(has_no_effect(tensor.name, model_.config_));
  return model_.manifest_.check_no_others(gguf_, model_.config_.architecture, std::move(idle));
}

}  // namespace sluice
