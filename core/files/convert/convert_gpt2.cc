// GPT-2. Its matrices are stored as [in, out].
#include <string>

#include "files/convert/decoder_parts.h"
#include "files/convert/families.h"

namespace sluice {

ConvertFamily convert_gpt2;

void convert_gpt2(Conversion& c, Type type) {
  HfConfig& config = c.config;
  ModelSizes s;
  s.layers = config.integer({"n_layer"}, HfConfig::kMostLayers);
  s.context = config.integer({"n_ctx", "n_positions"}, HfConfig::kMostContext);
  s.width = config.integer({"n_embd"});
  s.heads = config.integer({"n_head"});
  s.ff = config.integer({"n_inner"}, HfConfig::kMostWidth, 4 * s.width);
  s.vocab = config.integer({"vocab_size"});
  if (s.width % s.heads != 0)
    config.refuse(Code::bad_file, "config.json has n_embd ", s.width,
                  ", which is no multiple of its ", s.heads, " heads");
  config.must_be({"activation_function"}, {"gelu_new", "gelu_pytorch_tanh"});
  config.must_be_flag("scale_attn_weights", true);
  config.must_be_flag("scale_attn_by_inverse_layer_idx", false);
  config.must_be_flag("add_cross_attention", false);
  config.ignore({"reorder_and_upcast_attn", "is_decoder", "n_positions"});
  set_sizes(c, s);
  c.set("attention.layer_norm_epsilon", config.number({"layer_norm_epsilon"}, 1e-5));
  set_file_type(c, type);

  const auto norm = [&](const std::string& to, const std::string& from) {
    c.add(to + ".weight", from + ".weight", {s.width});
    c.add(to + ".bias", from + ".bias", {s.width});
  };
  const auto linear = [&](const std::string& to, const std::string& from, uint64_t rows,
                          uint64_t columns) {
    c.add(to + ".weight", from + ".weight", {rows, columns}, {.transposed = true});
    c.add(to + ".bias", from + ".bias", {rows});
  };
  c.add("token_embd.weight", "wte.weight", {s.vocab, s.width});
  c.add("position_embd.weight", "wpe.weight", {s.context, s.width});
  for (uint64_t layer = 0; layer < s.layers && config.status(); ++layer) {
    const LayerNames names = layer_names(layer, "h.");
    norm(names.to + "attn_norm", names.from + "ln_1");
    linear(names.to + "attn_qkv", names.from + "attn.c_attn", 3 * s.width, s.width);
    linear(names.to + "attn_output", names.from + "attn.c_proj", s.width, s.width);
    norm(names.to + "ffn_norm", names.from + "ln_2");
    linear(names.to + "ffn_up", names.from + "mlp.c_fc", s.ff, s.width);
    linear(names.to + "ffn_down", names.from + "mlp.c_proj", s.width, s.ff);
  }
  norm("output_norm", "ln_f");
  add_head(c, s, true);
  // The causal mask, which old files hold.
  c.drop_ends(".attn.bias");
  c.drop_ends(".attn.masked_bias");
}

}  // namespace sluice
