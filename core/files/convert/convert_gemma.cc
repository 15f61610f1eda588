// Gemma 3 and Gemma 4, the text part of either.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "files/convert/decoder_parts.h"
#include "files/convert/families.h"
#include "files/convert/hf_rope.h"
#include "files/gguf_writer.h"

namespace sluice {

ConvertFamily convert_gemma3;
ConvertFamily convert_gemma4;

namespace {

constexpr std::string_view kLocal = "sliding_attention", kGlobal = "full_attention";

// Which layers see a window: by layer_types, else all but every `period`-th.
std::vector<bool> read_local_layers(Conversion& c, uint64_t layers, uint64_t period) {
  std::vector<bool> local(static_cast<size_t>(layers));
  const std::vector<std::string> types = c.config.texts("layer_types", layers);
  for (size_t i = 0; i < local.size(); ++i) {
    local[i] = types.empty() ? (i + 1) % period != 0 : types[i] == kLocal;
    if (!types.empty() && types[i] != kLocal && types[i] != kGlobal)
      c.config.cannot_express("layer_types", types[i]);
  }
  return local;
}

// All but every n-th layer are local: n, the smallest; 0: it isn't so.
uint64_t period_of(const std::vector<bool>& local) {
  const auto first = std::ranges::find(local, false);
  const auto n = static_cast<size_t>(first - local.begin()) + 1;
  for (size_t i = 0; i < local.size(); ++i)
    if (local[i] != ((i + 1) % n != 0)) return 0;
  return n;
}

// The norms of Gemma's layers, all but those of heads, and their matrices.
void add_layer(Conversion& c, const LayerNames& names, const ModelSizes& s, ValueChange norms,
               bool own_keys, bool own_values) {
  const auto norm = [&](const char* to, const char* from, uint64_t n) {
    c.add(concat(names.to, to, ".weight"), concat(names.from, from, ".weight"), {n},
          {.change = norms});
  };
  const auto matrix = [&](const char* to, const char* from, uint64_t rows, uint64_t columns) {
    c.add(concat(names.to, to, ".weight"), concat(names.from, from, ".weight"), {rows, columns});
  };
  norm("attn_norm", "input_layernorm", s.width);
  matrix("attn_q", "self_attn.q_proj", s.q_rows(), s.width);
  norm("attn_q_norm", "self_attn.q_norm", s.head_dim);
  if (own_keys) {
    matrix("attn_k", "self_attn.k_proj", s.kv_rows(), s.width);
    norm("attn_k_norm", "self_attn.k_norm", s.head_dim);
    if (own_values) matrix("attn_v", "self_attn.v_proj", s.kv_rows(), s.width);
  }
  matrix("attn_output", "self_attn.o_proj", s.width, s.q_rows());
  norm("post_attention_norm", "post_attention_layernorm", s.width);
  norm("ffn_norm", "pre_feedforward_layernorm", s.width);
  add_mlp(c, names, s.width, s.ff, false);
  norm("post_ffw_norm", "post_feedforward_layernorm", s.width);
}

void check_common(Conversion& c) {
  c.config.must_be({"hidden_activation", "hidden_act"}, {"gelu_pytorch_tanh", "gelu_new"});
  c.config.must_be_flag("attention_bias", false);
  c.config.ignore({"cache_implementation"});
}

}  // namespace

void convert_gemma3(Conversion& c, Type type) {
  constexpr uint64_t kLayersOf27B = 62;
  HfConfig& config = c.config;
  check_common(c);
  config.must_be_flag("use_bidirectional_attention", false);
  config.must_be_unset("attn_logit_softcapping");
  ModelSizes s;
  s.layers = config.integer({"num_hidden_layers"}, HfConfig::kMostLayers);
  s.context = config.integer({"max_position_embeddings"}, HfConfig::kMostContext, 131072);
  s.width = config.integer({"hidden_size"});
  s.ff = config.integer({"intermediate_size"});
  s.heads = config.integer({"num_attention_heads"}, HfConfig::kMostWidth, 8);
  s.kv_heads = config.integer({"num_key_value_heads"}, HfConfig::kMostWidth, 4);
  s.head_dim = config.integer({"head_dim"}, HfConfig::kMostWidth, 256);
  s.vocab = config.integer({"vocab_size"}, HfConfig::kMostWidth, 262208);
  // The scores' scale has no key: readers know it of the 27B.
  const double scalar = config.number({"query_pre_attn_scalar"}, static_cast<double>(s.head_dim));
  const uint64_t expected = s.layers == kLayersOf27B ? s.width / s.heads : s.head_dim;
  if (scalar != static_cast<double>(expected))
    config.cannot_express("query_pre_attn_scalar", concat(scalar));

  set_sizes(c, s);
  HfRope rope = read_rope_config(c);
  if (!rope.theta) rope.theta = 1e6;
  set_rope(c, rope, s, "linear");
  c.set("rope.freq_base_swa", rope.local_theta.value_or(10000));
  c.set("attention.layer_norm_rms_epsilon", config.number({"rms_norm_eps"}, 1e-6));
  set_head_dim(c, s.head_dim);
  set_file_type(c, type);

  const uint64_t period = config.integer({"sliding_window_pattern", "_sliding_window_pattern"},
                                         HfConfig::kMostLayers, 6);
  const std::vector<bool> local = read_local_layers(c, s.layers, period);
  const uint64_t window = config.integer({"sliding_window"}, HfConfig::kMostContext, 4096);
  if (std::ranges::find(local, true) != local.end()) {
    c.set("attention.sliding_window", window);
    // Readers take every sixth layer for one that sees all, unless they are told.
    const uint64_t found = period_of(local);
    if (found == 0) {
      c.set("attention.sliding_window_pattern", bools_value(local));
    } else if (found != 6 && s.layers >= std::min<uint64_t>(found, 6)) {
      c.set("attention.sliding_window_pattern", found);
    }
  }
  if (const auto cap = config.number({"final_logit_softcapping"}); cap && *cap != 0)
    c.set("final_logit_softcapping", *cap);

  add_embedding(c, s, true);
  for (uint64_t layer = 0; layer < s.layers && config.status(); ++layer)
    add_layer(c, layer_names(layer), s, ValueChange::plus_one, true, true);
  c.add("output_norm.weight", "norm.weight", {s.width}, {.change = ValueChange::plus_one});
  add_head(c, s, true);
}

namespace {

// What layers that see all positions have otherwise than those with a window.
struct GlobalSizes {
  uint64_t head_dim = 512;
  uint64_t kv_heads = 0;  // 0: the same
};

// As transformers 5 saves them: {"5": {"head_dim": 512, "num_key_value_heads": 4}, ..}.
GlobalSizes read_global_sizes(Conversion& c, const std::vector<bool>& local, bool keys_are_values) {
  HfConfig& config = c.config;
  GlobalSizes global;
  global.head_dim = config.integer({"global_head_dim"}, HfConfig::kMostWidth, 512);
  global.kv_heads = config.integer_or_0({"num_global_key_value_heads"}, HfConfig::kMostWidth, 0);
  if (!keys_are_values) global.kv_heads = 0;  // transformers' own rule
  const nlohmann::json* each = config.find({"per_layer_config"});
  if (each == nullptr) return global;
  const auto refuse = [&](const std::string& what, const std::string& value) {
    config.cannot_express(what, value);
    return global;
  };
  std::vector<bool> said(local.size());
  bool first = true;
  for (const auto& [name, sizes] : each->items()) {
    size_t layer = 0;
    const bool number = !name.empty() && name.size() < 4 &&
                        std::ranges::all_of(name, [](char d) { return d >= '0' && d <= '9'; });
    if (number) layer = static_cast<size_t>(std::stoul(name));
    if (!number || layer >= local.size() || local[layer] || !sizes.is_object())
      return refuse("per_layer_config", name);
    GlobalSizes own = {};
    for (const auto& [field, value] : sizes.items()) {
      const bool right = value.is_number_unsigned() && value.get<uint64_t>() >= 1 &&
                         value.get<uint64_t>() <= HfConfig::kMostWidth;
      if (!right || (field != "head_dim" && field != "num_key_value_heads"))
        return refuse(concat("per_layer_config.", name, ".", field), value.dump());
      (field == "head_dim" ? own.head_dim : own.kv_heads) = value.get<uint64_t>();
    }
    if (!first && (own.head_dim != global.head_dim || own.kv_heads != global.kv_heads))
      return refuse("per_layer_config", "of layers that differ");
    global = own;
    first = false;
    said[layer] = true;
  }
  for (size_t i = 0; i < local.size() && !first; ++i)
    if (!local[i] && !said[i])
      config.cannot_express("per_layer_config", concat("without layer ", i));
  return global;
}

// Pairs that don't turn have a factor that stops them.
std::vector<float> proportional_factors(Conversion& c, const HfRope& rope, uint64_t head_dim) {
  const double partial = rope.partial.value_or(rope.scaling == nullptr ? 0.25 : 1.0);
  if (rope.scaling != nullptr && rope.type != "proportional" && rope.type != "default")
    c.config.cannot_express("rope_type", rope.type);
  if (!(partial > 0 && partial <= 1))
    c.config.cannot_express("partial_rotary_factor", "of such a size");
  const auto turning = static_cast<size_t>(static_cast<double>(head_dim) * partial / 2);
  std::vector<float> factors(static_cast<size_t>(head_dim / 2), 1e30f);
  std::fill_n(factors.begin(), std::min(turning, factors.size()), 1.0f);
  return factors;
}

}  // namespace

void convert_gemma4(Conversion& c, Type type) {
  HfConfig& config = c.config;
  check_common(c);
  const std::string both_ways = config.text({"use_bidirectional_attention"}, "vision");
  if (both_ways != "vision") config.cannot_express("use_bidirectional_attention", both_ways);
  config.must_be_flag("enable_moe_block", false);
  config.ignore(
      {"num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size"});
  ModelSizes s;
  s.layers = config.integer({"num_hidden_layers"}, HfConfig::kMostLayers, 30);
  s.context = config.integer({"max_position_embeddings"}, HfConfig::kMostContext, 131072);
  s.width = config.integer({"hidden_size"}, HfConfig::kMostWidth, 2304);
  s.ff = config.integer({"intermediate_size"}, HfConfig::kMostWidth, 9216);
  s.heads = config.integer({"num_attention_heads"}, HfConfig::kMostWidth, 8);
  s.kv_heads = config.integer({"num_key_value_heads"}, HfConfig::kMostWidth, 4);
  s.head_dim = config.integer({"head_dim"}, HfConfig::kMostWidth, 256);
  s.vocab = config.integer({"vocab_size"}, HfConfig::kMostWidth, 262144);
  const uint64_t shared = config.integer_or_0({"num_kv_shared_layers"}, s.layers, 0);
  const uint64_t inputs =
      config.integer_or_0({"hidden_size_per_layer_input"}, HfConfig::kMostWidth / s.layers, 256);
  const uint64_t input_rows =
      config.integer({"vocab_size_per_layer_input"}, HfConfig::kMostWidth, 262144);
  const bool wide = config.flag("use_double_wide_mlp", false);
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  std::vector<bool> local = read_local_layers(c, s.layers, 6);
  local.back() = false;  // transformers' own rule
  const GlobalSizes global = read_global_sizes(c, local, keys_are_values);
  const uint64_t window = config.integer({"sliding_window"}, HfConfig::kMostContext, 512);
  const uint64_t first_shared = s.layers - shared;

  set_sizes(c, s);
  HfRope rope = read_rope_config(c);
  if (!rope.theta) rope.theta = 1e6;
  std::vector<float> factors = proportional_factors(c, rope, global.head_dim);
  c.set("rope.freq_base", *rope.theta);
  c.set("rope.freq_base_swa", rope.local_theta.value_or(10000));
  c.set("attention.layer_norm_rms_epsilon", config.number({"rms_norm_eps"}, 1e-6));
  set_head_dim(c, global.head_dim);
  set_file_type(c, type);
  c.set("attention.sliding_window", window);
  // llama.cpp takes a cap of 30 where there is no key; 0 is none.
  c.set("final_logit_softcapping", config.number({"final_logit_softcapping"}, 0));
  c.set("attention.shared_kv_layers", shared);
  c.set("embedding_length_per_layer_input", inputs);
  c.set("attention.sliding_window_pattern", bools_value(local));
  c.set("attention.key_length_swa", s.head_dim);
  c.set("attention.value_length_swa", s.head_dim);
  c.set("rope.dimension_count", global.head_dim);
  c.set("rope.dimension_count_swa", s.head_dim);

  add_embedding(c, s, true);
  c.add_values("rope_freqs.weight", std::move(factors));
  if (inputs > 0) {
    if (input_rows != s.vocab)
      config.cannot_express("vocab_size_per_layer_input", concat(input_rows));
    c.add("per_layer_token_embd.weight", "embed_tokens_per_layer.weight",
          {s.vocab, s.layers * inputs}, {.cut = true});
    c.add("per_layer_model_proj.weight", "per_layer_model_projection.weight",
          {s.layers * inputs, s.width});
    c.add("per_layer_proj_norm.weight", "per_layer_projection_norm.weight", {inputs});
  }
  std::vector<uint32_t> kv_heads, ff;
  for (uint64_t layer = 0; layer < s.layers && config.status(); ++layer) {
    const bool is_local = local[layer];
    const bool is_shared = layer >= first_shared;
    ModelSizes own = s;
    if (!is_local) {
      own.head_dim = global.head_dim;
      if (global.kv_heads != 0) own.kv_heads = global.kv_heads;
    }
    if (wide && is_shared) own.ff = 2 * s.ff;
    if (own.heads % own.kv_heads != 0 || own.q_rows() > HfConfig::kMostWidth)
      config.refuse(Code::bad_file, "config.json has ", own.heads, " heads of ", own.head_dim,
                    " elements over ", own.kv_heads, " key heads");
    kv_heads.push_back(static_cast<uint32_t>(own.kv_heads));
    ff.push_back(static_cast<uint32_t>(own.ff));
    const LayerNames names = layer_names(layer);
    add_layer(c, names, own, ValueChange::none, !is_shared, is_local || !keys_are_values);
    // Layers that read the keys and values of others may have matrices that nobody uses.
    if (is_shared)
      for (const char* part : {"k_proj", "v_proj", "k_norm"})
        c.drop_starts(concat(names.from, "self_attn.", part, "."));
    if (inputs > 0) {
      c.add(names.to + "inp_gate.weight", names.from + "per_layer_input_gate.weight",
            {inputs, s.width});
      c.add(names.to + "proj.weight", names.from + "per_layer_projection.weight",
            {s.width, inputs});
      c.add(names.to + "post_norm.weight", names.from + "post_per_layer_input_norm.weight",
            {s.width});
    }
    c.add(names.to + "layer_output_scale.weight", names.from + "layer_scalar", {1},
          {.optional = true});
  }
  if (global.kv_heads != 0 && global.kv_heads != s.kv_heads)
    c.set("attention.head_count_kv", u32s_value(kv_heads));
  if (wide && shared > 0) c.set("feed_forward_length", u32s_value(ff));
  c.add("output_norm.weight", "norm.weight", {s.width});
  add_head(c, s, true);
  c.drop_ends("rotary_emb.inv_freq");
}

}  // namespace sluice
