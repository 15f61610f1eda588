// LLaMA, Mistral, Mixtral, Qwen2, Qwen3 and Qwen3 with experts: one structure.
#include <string>
#include <vector>

#include "base/format.h"
#include "files/convert/decoder_parts.h"
#include "files/convert/families.h"
#include "files/convert/hf_rope.h"
#include "files/gguf_writer.h"

namespace sluice {

ConvertFamily convert_llama;
ConvertFamily convert_mistral;
ConvertFamily convert_mixtral;
ConvertFamily convert_qwen2;
ConvertFamily convert_qwen3;
ConvertFamily convert_qwen3moe;

namespace {

struct Experts {
  uint64_t n = 0;
  uint64_t used = 0;
  uint64_t ff = 0;  // of one
};

struct Kind {
  bool permuted = false;   // q and k rows are stored in pairs
  bool has_vocab = false;  // keys vocab_size, rope.dimension_count and, always, key_length
  bool qk_norm = false;
  bool qkv_biases = false;        // always
  std::string_view scaling = "";  // types of RoPE that the family may have
  uint64_t head_dim = 0;          // where the config has none; 0: width / heads
  std::string_view experts = "";  // where a layer has them: "block_sparse_moe."
  double epsilon = 1e-6;          // where the config has none
  double theta = 1e4;             // likewise; readers of GGUF take 1e4, too
};

// Experts as transformers has them: a matrix each, or all in one tensor.
void add_experts(Conversion& c, const LayerNames& names, const ModelSizes& s, const Experts& e,
                 std::string_view where, const char* const (&parts)[3]) {
  const std::string at = concat(names.from, where);
  c.add(names.to + "ffn_gate_inp.weight", at + "gate.weight", {e.n, s.width});
  const std::string fused = at + "experts.gate_up_proj";
  if (c.has(fused)) {
    c.add_experts(names.to + "ffn_gate_exps.weight", fused, e.n, 2 * e.ff, 0, e.ff, s.width);
    c.add_experts(names.to + "ffn_up_exps.weight", fused, e.n, 2 * e.ff, e.ff, e.ff, s.width);
    c.add_experts(names.to + "ffn_down_exps.weight", at + "experts.down_proj", e.n, s.width, 0,
                  s.width, e.ff);
    return;
  }
  constexpr const char* kTo[3] = {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"};
  for (size_t part = 0; part < 3; ++part) {
    std::vector<std::string> from;
    for (uint64_t i = 0; i < e.n; ++i)
      from.push_back(concat(at, "experts.", i, ".", parts[part], ".weight"));
    const bool down = part == 2;
    c.add_experts(concat(names.to, kTo[part], ".weight"), from, down ? s.width : e.ff,
                  down ? e.ff : s.width);
  }
}

struct Biases {
  bool qkv = false, output = false, mlp = false;
};

void add_attention(Conversion& c, const LayerNames& names, const ModelSizes& s, const Kind& kind,
                   const Biases& biases) {
  struct Part {
    const char *to, *from;
    uint64_t rows, columns, heads;
    bool permuted, bias;
  };
  const bool p = kind.permuted;
  for (const Part& part :
       {Part{"attn_q", "self_attn.q_proj", s.q_rows(), s.width, s.heads, p, biases.qkv},
        Part{"attn_k", "self_attn.k_proj", s.kv_rows(), s.width, s.kv_heads, p, biases.qkv},
        Part{"attn_v", "self_attn.v_proj", s.kv_rows(), s.width, 0, false, biases.qkv},
        Part{"attn_output", "self_attn.o_proj", s.width, s.q_rows(), 0, false, biases.output}}) {
    const std::string to = names.to + part.to, from = names.from + part.from;
    std::vector<uint32_t> order;
    if (part.permuted) order = paired_rows(part.heads, s.head_dim);
    if (part.bias) c.add(to + ".bias", from + ".bias", {part.rows}, {.column_order = order});
    c.add(to + ".weight", from + ".weight", {part.rows, part.columns},
          {.row_order = std::move(order)});
  }
  if (!kind.qk_norm) return;
  c.add(names.to + "attn_q_norm.weight", names.from + "self_attn.q_norm.weight", {s.head_dim});
  c.add(names.to + "attn_k_norm.weight", names.from + "self_attn.k_norm.weight", {s.head_dim});
}

// All of it. `set_more` writes keys behind the file's type.
template <typename SetMore>
void convert_like_llama(Conversion& c, Type type, const Kind& kind, ModelSizes s, const Experts& e,
                        const SetMore& set_more, const char* const (&parts)[3]) {
  HfConfig& config = c.config;
  config.must_be({"hidden_act"}, {"silu", "swish"});
  config.ignore({"is_llama_config"});
  if (s.head_dim % 2 != 0) config.cannot_express("head_dim", concat(s.head_dim));
  for (const std::string& layer : config.texts("layer_types", s.layers))
    if (layer != "full_attention") config.cannot_express("layer_types", layer);
  const bool attention_bias = config.flag("attention_bias", false);
  const Biases biases = {.qkv = attention_bias || kind.qkv_biases,
                         .output = attention_bias,
                         .mlp = config.flag("mlp_bias", false)};
  set_sizes(c, s);
  HfRope rope = read_rope_config(c);
  if (!rope.theta && kind.theta != 1e4) rope.theta = kind.theta;
  if (rope.partial.value_or(1) != 1)
    config.cannot_express("partial_rotary_factor", concat(*rope.partial));
  std::vector<float> factors = set_rope(c, rope, s, kind.scaling);
  c.set("attention.layer_norm_rms_epsilon", config.number({"rms_norm_eps"}, kind.epsilon));
  if (e.n > 0) {
    c.set("expert_count", e.n);
    c.set("expert_used_count", e.used);
  }
  if (config.has("head_dim") || kind.head_dim != 0 || kind.has_vocab) set_head_dim(c, s.head_dim);
  set_file_type(c, type);
  set_more();
  if (kind.has_vocab) {
    c.set("vocab_size", s.vocab);
    c.set("rope.dimension_count", s.head_dim);
  }
  add_embedding(c, s);
  if (!factors.empty()) c.add_values("rope_freqs.weight", std::move(factors));
  for (uint64_t layer = 0; layer < s.layers && config.status(); ++layer) {
    const LayerNames names = layer_names(layer);
    c.add(names.to + "attn_norm.weight", names.from + "input_layernorm.weight", {s.width});
    add_attention(c, names, s, kind, biases);
    c.add(names.to + "ffn_norm.weight", names.from + "post_attention_layernorm.weight", {s.width});
    if (e.n > 0) {
      add_experts(c, names, s, e, kind.experts, parts);
    } else {
      add_mlp(c, names, s.width, s.ff, biases.mlp);
    }
  }
  c.add("output_norm.weight", "norm.weight", {s.width});
  add_head(c, s, false);
  c.drop_ends("rotary_emb.inv_freq");
}

constexpr const char* kPlainParts[3] = {"gate_proj", "up_proj", "down_proj"};
constexpr const char* kMixtralParts[3] = {"w1", "w3", "w2"};
constexpr std::string_view kAllScaling = "linear yarn llama3 longrope";

void convert_plain(Conversion& c, Type type, const Kind& kind) {
  const ModelSizes s = read_sizes(c, kind.head_dim);
  convert_like_llama(
      c, type, kind, s, {}, [] {}, kPlainParts);
}

// A window that all layers have, which the architecture has no key for. Within it the model is the
// same without.
void limit_to_window(Conversion& c, ModelSizes& s) {
  const uint64_t window = c.config.integer_or_0({"sliding_window"}, HfConfig::kMostContext, 0);
  if (window == 0 || window >= s.context) return;
  c.remarks.push_back(concat("the model's layers see ", window, " positions, of a context of ",
                             s.context, "; the file's context is ", window,
                             ", in which that makes no difference"));
  s.context = window;
}

// Windows that a switch turns on for the layers from max_window_layers on. Where the config has
// layer_types, those decide.
void refuse_windows(Conversion& c) {
  constexpr uint64_t kUsualFirst = 28;  // transformers' own
  HfConfig& config = c.config;
  const bool switched = config.flag("use_sliding_window", false);
  const uint64_t first =
      config.integer_or_0({"max_window_layers"}, HfConfig::kMostContext, kUsualFirst);
  config.ignore({"sliding_window"});
  if (switched && !config.has("layer_types") &&
      first < config.integer({"num_hidden_layers"}, HfConfig::kMostLayers))
    config.cannot_express("use_sliding_window", "true");
}

Experts read_experts(Conversion& c, HfConfig::Names count) {
  constexpr uint64_t kMost = 1024;
  Experts e;
  e.n = c.config.integer(count, kMost);
  e.used = c.config.integer({"num_experts_per_tok"}, e.n);
  return e;
}

}  // namespace

void convert_llama(Conversion& c, Type type) {
  convert_plain(c, type, {.permuted = true, .has_vocab = true, .scaling = kAllScaling});
}

void convert_mistral(Conversion& c, Type type) {
  const Kind kind = {.permuted = true, .has_vocab = true, .scaling = kAllScaling};
  ModelSizes s = read_sizes(c);
  limit_to_window(c, s);
  convert_like_llama(
      c, type, kind, s, {}, [] {}, kPlainParts);
}

void convert_mixtral(Conversion& c, Type type) {
  const bool renamed = c.has("layers.0.mlp.gate.weight");
  const Kind kind = {.permuted = true,
                     .has_vocab = true,
                     .scaling = kAllScaling,
                     .experts = renamed ? "mlp." : "block_sparse_moe.",
                     .epsilon = 1e-5,
                     .theta = 1e6};
  ModelSizes s = read_sizes(c);
  limit_to_window(c, s);
  Experts e = read_experts(c, {"num_local_experts", "num_experts"});
  e.ff = s.ff;
  convert_like_llama(
      c, type, kind, s, e, [] {}, kMixtralParts);
}

void convert_qwen2(Conversion& c, Type type) {
  refuse_windows(c);
  convert_plain(c, type, {.qkv_biases = true, .scaling = "linear yarn"});
}

void convert_qwen3(Conversion& c, Type type) {
  refuse_windows(c);
  convert_plain(c, type, {.qk_norm = true, .scaling = "linear yarn", .head_dim = 128});
}

void convert_qwen3moe(Conversion& c, Type type) {
  HfConfig& config = c.config;
  config.must_be_flag("use_sliding_window", false);  // for all layers
  config.ignore({"sliding_window", "max_window_layers"});
  if (!config.flag("norm_topk_prob", false)) config.cannot_express("norm_topk_prob", "false");
  if (config.integer({"decoder_sparse_step"}, HfConfig::kMostLayers, 1) != 1)
    config.cannot_express("decoder_sparse_step", "other than 1");
  config.must_be_unset("mlp_only_layers");
  Experts e = read_experts(c, {"num_experts", "num_local_experts"});
  e.ff = config.integer({"moe_intermediate_size"});
  const ModelSizes s = read_sizes(c);
  convert_like_llama(
      c, type, {.qk_norm = true, .scaling = "linear yarn", .experts = "mlp."}, s, e,
      [&] { c.set("expert_feed_forward_length", e.ff); }, kPlainParts);
}

}  // namespace sluice
