#include "files/convert/decoder_parts.h"

#include "base/format.h"
#include "files/gguf_writer.h"

namespace sluice {

uint32_t file_type_number(Type type) {
  switch (type) {
    case Type::F16:
      return 1;
    case Type::Q8_0:
      return 7;
    case Type::BF16:
      return 32;
    default:
      return 0;
  }
}

ModelSizes read_sizes(Conversion& c, uint64_t head_dim) {
  HfConfig& config = c.config;
  ModelSizes s;
  s.layers = config.integer({"num_hidden_layers", "n_layer", "n_layers"}, HfConfig::kMostLayers);
  s.context =
      config.integer({"max_position_embeddings", "n_ctx", "n_positions"}, HfConfig::kMostContext);
  s.width = config.integer({"hidden_size", "n_embd", "dim"});
  s.ff = config.integer({"intermediate_size", "n_inner", "hidden_dim"});
  s.heads = config.integer({"num_attention_heads", "n_head", "n_heads"});
  s.kv_heads = config.integer({"num_key_value_heads"}, HfConfig::kMostWidth, s.heads);
  s.vocab = config.integer({"vocab_size"});
  if (config.has("head_dim")) {
    s.head_dim = config.integer({"head_dim"});
  } else {
    config.ignore({"head_dim"});
    if (head_dim == 0 && s.width % s.heads != 0)
      config.refuse(Code::bad_file, "config.json has hidden_size ", s.width,
                    ", which is no multiple of its ", s.heads, " heads");
    s.head_dim = head_dim != 0 ? head_dim : s.width / s.heads;
  }
  if (s.heads % s.kv_heads != 0)
    config.refuse(Code::bad_file, "config.json has ", s.heads, " heads over ", s.kv_heads,
                  " key heads; the first must be a multiple of the second");
  if (s.q_rows() > HfConfig::kMostWidth)
    config.refuse(Code::bad_file, "config.json has ", s.heads, " heads of ", s.head_dim,
                  " elements, which is wider than models are");
  return s;
}

void set_sizes(Conversion& c, const ModelSizes& s) {
  c.set("block_count", s.layers);
  c.set("context_length", s.context);
  c.set("embedding_length", s.width);
  c.set("feed_forward_length", s.ff);
  c.set("attention.head_count", s.heads);
  if (s.kv_heads != 0) c.set("attention.head_count_kv", s.kv_heads);
}

void set_head_dim(Conversion& c, uint64_t head_dim) {
  c.set("attention.key_length", head_dim);
  c.set("attention.value_length", head_dim);
}

void set_file_type(Conversion& c, Type type) {
  set_value(c.gguf, "general.file_type", u32_value(file_type_number(type)));
}

LayerNames layer_names(uint64_t layer, std::string_view start) {
  return {concat(start, layer, "."), concat("blk.", layer, ".")};
}

void add_embedding(Conversion& c, const ModelSizes& s, bool cut) {
  c.add("token_embd.weight", "embed_tokens.weight", {s.vocab, s.width}, {.cut = cut});
}

void add_head(Conversion& c, const ModelSizes& s, bool tied_by_default) {
  const bool said = c.config.has("tie_word_embeddings");
  const bool tied = c.config.flag("tie_word_embeddings", tied_by_default);
  // A copy of the embedding, which transformers ignores, too.
  if (tied && (said || tied_by_default)) {
    c.drop_starts("lm_head.weight");
    return;
  }
  c.add("output.weight", "lm_head.weight", {s.vocab, s.width}, {.optional = !said});
}

void add_mlp(Conversion& c, const LayerNames& names, uint64_t width, uint64_t ff, bool biases) {
  struct Part {
    const char *to, *from;
    uint64_t rows, columns;
  };
  for (const Part& part :
       {Part{"ffn_gate", "mlp.gate_proj", ff, width}, Part{"ffn_up", "mlp.up_proj", ff, width},
        Part{"ffn_down", "mlp.down_proj", width, ff}}) {
    const std::string to = names.to + part.to, from = names.from + part.from;
    c.add(to + ".weight", from + ".weight", {part.rows, part.columns});
    if (biases) c.add(to + ".bias", from + ".bias", {part.rows});
  }
}

std::vector<uint32_t> paired_rows(uint64_t heads, uint64_t head_dim) {
  std::vector<uint32_t> order(static_cast<size_t>(heads * head_dim));
  for (size_t row = 0; row < order.size(); ++row) {
    const size_t head = row / head_dim, i = row % head_dim;
    order[row] = static_cast<uint32_t>(head * head_dim + i % 2 * (head_dim / 2) + i / 2);
  }
  return order;
}

}  // namespace sluice
