// Qwen 3.5, the text part: gated delta nets, with attention in every fourth layer.
#include <string>
#include <vector>

#include "base/format.h"
#include "files/convert/decoder_parts.h"
#include "files/convert/families.h"
#include "files/convert/hf_rope.h"
#include "files/gguf_writer.h"

namespace sluice {

ConvertFamily convert_qwen35;

namespace {

struct DeltaSizes {
  uint64_t key_heads = 0, value_heads = 0;
  uint64_t key_dim = 0, value_dim = 0;
  uint64_t taps = 0;  // of the convolution

  uint64_t keys() const { return key_heads * key_dim; }
  uint64_t values() const { return value_heads * value_dim; }
};

// The order of value heads in GGUF files, `size` elements each, behind `before` that stay. Hugging
// Face has those of a key head one behind the other (k0v0 k0v1 k1v0 ..), GGUF goes through the key
// heads (k0v0 k1v0 .. k0v1 ..). Empty if that is the same.
std::vector<uint32_t> tiled(const DeltaSizes& d, uint64_t size, uint64_t before = 0) {
  std::vector<uint32_t> order;
  const uint64_t each = d.value_heads / d.key_heads;
  if (each == 1) return order;
  for (uint64_t i = 0; i < before; ++i) order.push_back(static_cast<uint32_t>(i));
  for (uint64_t head = 0; head < d.value_heads; ++head) {
    const uint64_t from = head % d.key_heads * each + head / d.key_heads;
    for (uint64_t i = 0; i < size; ++i)
      order.push_back(static_cast<uint32_t>(before + from * size + i));
  }
  return order;
}

DeltaSizes read_delta(Conversion& c) {
  HfConfig& config = c.config;
  constexpr uint64_t kMostHeads = 1 << 12, kMostDim = 1 << 12;
  DeltaSizes d;
  d.key_heads = config.integer({"linear_num_key_heads"}, kMostHeads, 16);
  d.value_heads = config.integer({"linear_num_value_heads"}, kMostHeads, 32);
  d.key_dim = config.integer({"linear_key_head_dim"}, kMostDim, 128);
  d.value_dim = config.integer({"linear_value_head_dim"}, kMostDim, 128);
  d.taps = config.integer({"linear_conv_kernel_dim"}, 1024, 4);
  if (d.value_heads % d.key_heads != 0)
    config.refuse(Code::bad_file, "config.json has ", d.value_heads, " value heads over ",
                  d.key_heads, " key heads; the first must be a multiple of the second");
  if (d.key_dim != d.value_dim)
    config.cannot_express("linear_value_head_dim", concat(d.value_dim, " beside ", d.key_dim));
  return d;
}

void add_delta_net(Conversion& c, const LayerNames& names, const ModelSizes& s,
                   const DeltaSizes& d) {
  const std::string& to = names.to;
  const std::string from = names.from + "linear_attn.";
  const uint64_t channels = 2 * d.keys() + d.values();
  const std::vector<uint32_t> qkv = tiled(d, d.value_dim, 2 * d.keys());
  const std::vector<uint32_t> values = tiled(d, d.value_dim), heads = tiled(d, 1);
  c.add(to + "attn_qkv.weight", from + "in_proj_qkv.weight", {channels, s.width},
        {.row_order = qkv});
  c.add(to + "attn_gate.weight", from + "in_proj_z.weight", {d.values(), s.width},
        {.row_order = values});
  c.add(to + "ssm_alpha.weight", from + "in_proj_a.weight", {d.value_heads, s.width},
        {.row_order = heads});
  c.add(to + "ssm_beta.weight", from + "in_proj_b.weight", {d.value_heads, s.width},
        {.row_order = heads});
  c.add(to + "ssm_conv1d.weight", from + "conv1d.weight", {channels, d.taps},
        {.squeezed = true, .row_order = qkv});
  c.add(to + "ssm_a", from + "A_log", {d.value_heads},
        {.change = ValueChange::minus_exp, .column_order = heads});
  c.add(to + "ssm_dt.bias", from + "dt_bias", {d.value_heads}, {.column_order = heads});
  c.add(to + "ssm_norm.weight", from + "norm.weight", {d.value_dim});
  c.add(to + "ssm_out.weight", from + "out_proj.weight", {s.width, d.values()},
        {.column_order = values});
}

// Each head of q has the rows of its gate behind its own.
void add_attention(Conversion& c, const LayerNames& names, const ModelSizes& s) {
  const std::string& to = names.to;
  const std::string from = names.from + "self_attn.";
  c.add(to + "attn_q.weight", from + "q_proj.weight", {2 * s.q_rows(), s.width});
  c.add(to + "attn_k.weight", from + "k_proj.weight", {s.kv_rows(), s.width});
  c.add(to + "attn_v.weight", from + "v_proj.weight", {s.kv_rows(), s.width});
  c.add(to + "attn_output.weight", from + "o_proj.weight", {s.width, s.q_rows()});
  const Conversion::How norm = {.change = ValueChange::plus_one};
  c.add(to + "attn_q_norm.weight", from + "q_norm.weight", {s.head_dim}, norm);
  c.add(to + "attn_k_norm.weight", from + "k_norm.weight", {s.head_dim}, norm);
}

// The parts of RoPE for text, height and width, as four numbers.
std::vector<int32_t> read_sections(Conversion& c, const HfRope& rope) {
  std::vector<int32_t> sections = {11, 11, 10, 0};
  if (rope.scaling == nullptr || !rope.scaling->contains("mrope_section")) return sections;
  const nlohmann::json& given = rope.scaling->at("mrope_section");
  sections.assign(4, 0);
  const bool right = given.is_array() && given.size() <= 4;
  for (size_t i = 0; right && i < given.size(); ++i) {
    if (!given[i].is_number_unsigned() || given[i].get<uint64_t>() > 4096)
      c.config.refuse(Code::bad_file, "config.json has an mrope_section that is no numbers");
    else
      sections[i] = given[i].get<int32_t>();
  }
  if (!right) c.config.refuse(Code::bad_file, "config.json has an mrope_section that is no array");
  return sections;
}

}  // namespace

void convert_qwen35(Conversion& c, Type type) {
  HfConfig& config = c.config;
  config.must_be({"hidden_act"}, {"silu", "swish"});
  config.must_be_flag("attention_bias", false);
  config.must_be_flag("attn_output_gate", true);
  config.must_be_unset("mlp_only_layers");
  config.ignore({"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"});
  const ModelSizes s = read_sizes(c, 256);
  const DeltaSizes d = read_delta(c);
  const uint64_t interval = config.integer({"full_attention_interval"}, HfConfig::kMostLayers, 4);
  const std::vector<std::string> types = config.texts("layer_types", s.layers);
  std::vector<bool> recurrent;
  for (size_t i = 0; i < s.layers; ++i) {
    recurrent.push_back(types.empty() ? (i + 1) % interval != 0 : types[i] == "linear_attention");
    if (!types.empty() && !recurrent[i] && types[i] != "full_attention")
      config.cannot_express("layer_types", types[i]);
  }
  set_sizes(c, s);
  HfRope rope = read_rope_config(c);
  const std::vector<int32_t> sections = read_sections(c, rope);
  const double partial = rope.partial.value_or(0.25);
  if (!(partial > 0 && partial <= 1))
    config.cannot_express("partial_rotary_factor", concat(partial));
  if (!rope.theta) rope.theta = 1e4;
  // "mrope" is the default with sections.
  if (rope.type == "mrope") rope.type = "default";
  set_rope(c, rope, s, "");
  c.set("rope.dimension_sections", i32s_value(sections));
  c.set("attention.layer_norm_rms_epsilon", config.number({"rms_norm_eps"}, 1e-6));
  set_head_dim(c, s.head_dim);
  set_file_type(c, type);
  c.set("ssm.conv_kernel", d.taps);
  c.set("ssm.state_size", d.key_dim);
  c.set("ssm.group_count", d.key_heads);
  c.set("ssm.time_step_rank", d.value_heads);
  c.set("ssm.inner_size", d.values());
  c.set("attention.recurrent_layers", bools_value(recurrent));
  c.set("full_attention_interval", interval);
  c.set("rope.dimension_count", static_cast<uint64_t>(static_cast<double>(s.head_dim) * partial));

  const Conversion::How norm = {.change = ValueChange::plus_one};
  add_embedding(c, s);
  for (uint64_t layer = 0; layer < s.layers && config.status(); ++layer) {
    const LayerNames names = layer_names(layer);
    c.add(names.to + "attn_norm.weight", names.from + "input_layernorm.weight", {s.width}, norm);
    if (recurrent[layer]) {
      add_delta_net(c, names, s, d);
    } else {
      add_attention(c, names, s);
    }
    c.add(names.to + "post_attention_norm.weight", names.from + "post_attention_layernorm.weight",
          {s.width}, norm);
    add_mlp(c, names, s.width, s.ff, false);
  }
  c.add("output_norm.weight", "norm.weight", {s.width}, norm);
  add_head(c, s, false);
  if (c.drop_starts("mtp.")) c.remarks.emplace_back("the layers for drafting (mtp.*) are left out");
  c.drop_ends("rotary_emb.inv_freq");
}

}  // namespace sluice
