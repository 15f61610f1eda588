// LFM2: short convolutions, with attention in some layers.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "files/convert/decoder_parts.h"
#include "files/convert/families.h"
#include "files/convert/hf_rope.h"
#include "files/gguf_writer.h"

namespace sluice {

ConvertFamily convert_lfm2;

namespace {

// The width of the feed-forward part, which the config may give before it is adjusted.
uint64_t read_ff(Conversion& c) {
  HfConfig& config = c.config;
  uint64_t ff = config.integer({"block_ff_dim", "intermediate_size"});
  const bool adjusted = config.flag("block_auto_adjust_ff_dim", true);
  const double factor = config.number({"block_ffn_dim_multiplier"}, 1);
  const uint64_t multiple = config.integer({"block_multiple_of"}, HfConfig::kMostWidth, 256);
  if (!adjusted) return ff;
  if (!(factor > 0 && factor < 1000)) {
    config.refuse(Code::bad_file, "config.json has a block_ffn_dim_multiplier that can't be");
    return ff;
  }
  ff = static_cast<uint64_t>(factor * static_cast<double>(2 * ff / 3));
  return (ff + multiple - 1) / multiple * multiple;
}

// Which layers have attention: by layer_types, or full_attn_idxs.
std::vector<bool> read_attending(Conversion& c, uint64_t layers) {
  HfConfig& config = c.config;
  std::vector<bool> attends(static_cast<size_t>(layers));
  const std::vector<std::string> types = config.texts("layer_types", layers);
  const nlohmann::json* indices = config.find({"full_attn_idxs"});
  if (!types.empty()) {
    for (size_t i = 0; i < types.size(); ++i) {
      attends[i] = types[i] == "full_attention";
      if (!attends[i] && types[i] != "conv") config.cannot_express("layer_types", types[i]);
    }
  } else if (indices != nullptr && indices->is_array()) {
    for (const auto& index : *indices) {
      if (!index.is_number_unsigned() || index.get<uint64_t>() >= layers) {
        config.refuse(Code::bad_file, "config.json has full_attn_idxs that are no layers");
        break;
      }
      attends[static_cast<size_t>(index.get<uint64_t>())] = true;
    }
  } else {
    config.refuse(Code::bad_file, "config.json has no layer_types");
  }
  return attends;
}

}  // namespace

void convert_lfm2(Conversion& c, Type type) {
  HfConfig& config = c.config;
  config.must_be_flag("conv_bias", false);
  config.must_be_flag("use_pos_enc", true);
  config.must_be_flag("block_use_swiglu", true);
  config.must_be_flag("causal", true);
  config.must_be_unset("sliding_window");
  config.ignore({"conv_dim", "conv_dim_out", "conv_use_xavier_init", "block_dim",
                 "block_mlp_init_scale", "block_out_init_scale", "block_norm_eps",
                 "block_use_xavier_init", "num_heads", "theta", "max_sequence_length"});
  ModelSizes s;
  s.layers = config.integer({"num_hidden_layers"}, HfConfig::kMostLayers);
  s.context = config.integer({"max_position_embeddings"}, HfConfig::kMostContext, 128000);
  s.width = config.integer({"hidden_size"});
  s.heads = config.integer({"num_attention_heads"});
  const uint64_t kv_heads = config.integer({"num_key_value_heads"}, HfConfig::kMostWidth, s.heads);
  s.vocab = config.integer({"vocab_size"});
  s.ff = read_ff(c);
  const uint64_t taps = config.integer({"conv_L_cache"}, 1024);
  const std::vector<bool> attends = read_attending(c, s.layers);
  if (s.width % s.heads != 0 || s.heads % kv_heads != 0)
    config.refuse(Code::bad_file, "config.json has hidden_size ", s.width, ", ", s.heads,
                  " heads and ", kv_heads, " key heads, which don't divide each other");
  s.head_dim = s.width / s.heads;
  set_sizes(c, s);
  std::vector<uint32_t> heads;
  for (const bool one : attends) heads.push_back(one ? static_cast<uint32_t>(kv_heads) : 0);
  c.set("attention.head_count_kv", u32s_value(heads));
  s.kv_heads = kv_heads;
  HfRope rope = read_rope_config(c);
  if (!rope.theta) rope.theta = 1e6;
  set_rope(c, rope, s, "");
  c.set("attention.layer_norm_rms_epsilon", config.number({"norm_eps", "rms_norm_eps"}, 1e-5));
  set_file_type(c, type);
  c.set("vocab_size", s.vocab);
  c.set("shortconv.l_cache", taps);

  add_embedding(c, s);
  for (uint64_t layer = 0; layer < s.layers && config.status(); ++layer) {
    const LayerNames names = layer_names(layer);
    const auto norm = [&](const char* to, const char* from, uint64_t n) {
      c.add(concat(names.to, to, ".weight"), concat(names.from, from, ".weight"), {n});
    };
    const auto matrix = [&](const char* to, const char* from, uint64_t rows, uint64_t columns) {
      c.add(concat(names.to, to, ".weight"), concat(names.from, from, ".weight"), {rows, columns});
    };
    norm("attn_norm", "operator_norm", s.width);
    if (attends[layer]) {
      matrix("attn_q", "self_attn.q_proj", s.q_rows(), s.width);
      norm("attn_q_norm", "self_attn.q_layernorm", s.head_dim);
      matrix("attn_k", "self_attn.k_proj", s.kv_rows(), s.width);
      norm("attn_k_norm", "self_attn.k_layernorm", s.head_dim);
      matrix("attn_v", "self_attn.v_proj", s.kv_rows(), s.width);
      matrix("attn_output", "self_attn.out_proj", s.width, s.q_rows());
    } else {
      matrix("shortconv.in_proj", "conv.in_proj", 3 * s.width, s.width);
      c.add(names.to + "shortconv.conv.weight", names.from + "conv.conv.weight", {s.width, taps},
            {.squeezed = true});
      matrix("shortconv.out_proj", "conv.out_proj", s.width, s.width);
    }
    norm("ffn_norm", "ffn_norm", s.width);
    matrix("ffn_gate", "feed_forward.w1", s.ff, s.width);
    matrix("ffn_up", "feed_forward.w3", s.ff, s.width);
    matrix("ffn_down", "feed_forward.w2", s.width, s.ff);
  }
  c.add("token_embd_norm.weight", "embedding_norm.weight", {s.width});
  add_head(c, s, config.flag("tie_embedding", true));
  c.drop_ends("rotary_emb.inv_freq");
}

}  // namespace sluice
