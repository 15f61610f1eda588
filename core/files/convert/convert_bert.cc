// BERT and DistilBERT, alone or with the head that fills in masked words. GGUF has no names for
// that head, so it has names of ours: mlm.*.
#include <string>
#include <utility>

#include "base/format.h"
#include "files/convert/decoder_parts.h"
#include "files/convert/families.h"
#include "files/gguf_writer.h"

namespace sluice {

ConvertFamily convert_bert;
ConvertFamily convert_bert_masked;
ConvertFamily convert_distilbert;
ConvertFamily convert_distilbert_masked;

namespace {

// How the parts of a layer and of the head are called.
struct Names {
  const char *layer, *q, *k, *v, *output, *attention_norm, *up, *down, *output_norm;
  const char *dense, *norm, *bias, *decoder, *decoder_bias;
};
constexpr Names kBert = {"encoder.layer.",
                         "attention.self.query",
                         "attention.self.key",
                         "attention.self.value",
                         "attention.output.dense",
                         "attention.output.LayerNorm",
                         "intermediate.dense",
                         "output.dense",
                         "output.LayerNorm",
                         "cls.predictions.transform.dense",
                         "cls.predictions.transform.LayerNorm",
                         "cls.predictions.bias",
                         "cls.predictions.decoder.weight",
                         "cls.predictions.decoder.bias"};
constexpr Names kDistil = {"transformer.layer.",
                           "attention.q_lin",
                           "attention.k_lin",
                           "attention.v_lin",
                           "attention.out_lin",
                           "sa_layer_norm",
                           "ffn.lin1",
                           "ffn.lin2",
                           "output_layer_norm",
                           "vocab_transform",
                           "vocab_layer_norm",
                           "vocab_projector.bias",
                           "vocab_projector.weight",
                           ""};

constexpr const char* kWords = "embeddings.word_embeddings.weight";

void add_linear(Conversion& c, const std::string& to, const std::string& from, uint64_t rows,
                uint64_t columns) {
  c.add(to + ".weight", from + ".weight", {rows, columns});
  c.add(to + ".bias", from + ".bias", {rows});
}

// Old files call its parts gamma and beta.
void add_norm(Conversion& c, const std::string& to, const std::string& from, uint64_t n) {
  const bool old = c.has(from + ".gamma");
  c.add(to + ".weight", from + (old ? ".gamma" : ".weight"), {n});
  c.add(to + ".bias", from + (old ? ".beta" : ".bias"), {n});
}

// A tensor that may be stored twice. The copy is left out; one that differs has no place.
void drop_copy(Conversion& c, const std::string& copy, const std::string& of) {
  if (!c.has(copy)) return;
  if (c.has(of)) {
    const auto equal = c.are_equal(copy, of);
    if (!equal) return c.config.refuse(equal.error().code, equal.error().message);
    if (!*equal)
      return c.config.refuse(Code::unsupported_model, "the weights have ", copy,
                             ", which differs from ", of,
                             "; the head of a GGUF file is the embedding");
  }
  c.drop_starts(copy);
}

void add_tensors(Conversion& c, const ModelSizes& s, uint64_t types, const Names& n) {
  c.add("token_embd.weight", kWords, {s.vocab, s.width});
  if (types > 0)
    c.add("token_types.weight", "embeddings.token_type_embeddings.weight", {types, s.width});
  c.add("position_embd.weight", "embeddings.position_embeddings.weight", {s.context, s.width});
  add_norm(c, "token_embd_norm", "embeddings.LayerNorm", s.width);
  for (uint64_t layer = 0; layer < s.layers && c.config.status(); ++layer) {
    const LayerNames names = layer_names(layer, n.layer);
    add_linear(c, names.to + "attn_q", names.from + n.q, s.width, s.width);
    add_linear(c, names.to + "attn_k", names.from + n.k, s.width, s.width);
    add_linear(c, names.to + "attn_v", names.from + n.v, s.width, s.width);
    add_linear(c, names.to + "attn_output", names.from + n.output, s.width, s.width);
    add_norm(c, names.to + "attn_output_norm", names.from + n.attention_norm, s.width);
    add_linear(c, names.to + "ffn_up", names.from + n.up, s.ff, s.width);
    add_linear(c, names.to + "ffn_down", names.from + n.down, s.width, s.ff);
    add_norm(c, names.to + "layer_output_norm", names.from + n.output_norm, s.width);
  }
  c.drop_ends("position_ids");
  c.drop_starts("pooler.");
}

// The head that fills in masked words.
void add_head(Conversion& c, const ModelSizes& s, const Names& n) {
  add_linear(c, "mlm.dense", n.dense, s.width, s.width);
  add_norm(c, "mlm.norm", n.norm, s.width);
  drop_copy(c, n.decoder, kWords);
  const std::string bias = c.has(n.bias) || *n.decoder_bias == '\0' ? n.bias : n.decoder_bias;
  c.add("mlm.bias", bias, {s.vocab});
  if (*n.decoder_bias != '\0' && bias != n.decoder_bias) drop_copy(c, n.decoder_bias, n.bias);
  c.drop_starts("cls.seq_relationship.");
  c.remarks.emplace_back(
      "the head for masked words has names of Sluice (mlm.*): other programs refuse the file");
}

void convert(Conversion& c, Type type, bool has_head, const ModelSizes& s, double epsilon,
             uint64_t types, const Names& names) {
  HfConfig& config = c.config;
  if (s.width % s.heads != 0)
    config.refuse(Code::bad_file, "config.json has ", s.heads, " heads, which don't divide the ",
                  "width ", s.width);
  config.must_be_flag("tie_word_embeddings", true);
  config.ignore({"n_ctx"});
  set_sizes(c, s);
  c.set("attention.layer_norm_epsilon", epsilon);
  set_file_type(c, type);
  c.set("attention.causal", bool_value(false));
  if (c.pooling) c.set("pooling_type", uint64_t{static_cast<uint32_t>(*c.pooling)});
  if (!c.pooling && !has_head)
    c.remarks.emplace_back(
        "the folder doesn't say how the vectors of a text's tokens become one; the mean is taken "
        "unless --pooling says otherwise");
  if (const uint64_t limit = c.text_limit.value_or(0); limit > 0 && limit < s.context)
    c.remarks.push_back(concat("the folder's texts are cut at ", limit, " tokens, which no key of ",
                               "the file says; the model takes ", s.context, ": sluice embed -c ",
                               limit, " --truncate cuts them so"));
  set_value(c.gguf, "general.quantization_version", u32_value(2));
  set_value(c.gguf, "tokenizer.ggml.token_type_count",
            u32_value(static_cast<uint32_t>(types > 0 ? types : 1)));
  add_tensors(c, s, types, names);
  if (has_head) add_head(c, s, names);
}

}  // namespace

namespace {

void convert_bert_with(Conversion& c, Type type, bool has_head) {
  HfConfig& config = c.config;
  ModelSizes s = read_sizes(c);
  s.kv_heads = 0;
  config.must_be({"hidden_act"}, {"gelu"});
  config.must_be({"position_embedding_type"}, {"absolute"});
  config.must_be_flag("is_decoder", false);
  config.must_be_flag("add_cross_attention", false);
  config.ignore({"classifier_dropout", "directionality", "pooler_fc_size",
                 "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head",
                 "pooler_type"});
  const uint64_t types = config.integer({"type_vocab_size"}, 1024, 2);
  convert(c, type, has_head, s, config.number({"layer_norm_eps", "layer_norm_epsilon"}, 1e-12),
          types, kBert);
}

void convert_distilbert_with(Conversion& c, Type type, bool has_head) {
  HfConfig& config = c.config;
  ModelSizes s = read_sizes(c);
  s.kv_heads = 0;
  config.must_be({"activation"}, {"gelu"});
  config.ignore({"sinusoidal_pos_embds", "qa_dropout", "seq_classif_dropout"});
  convert(c, type, has_head, s, 1e-12, 0, kDistil);
}

}  // namespace

void convert_bert(Conversion& c, Type type) { convert_bert_with(c, type, false); }
void convert_bert_masked(Conversion& c, Type type) { convert_bert_with(c, type, true); }
void convert_distilbert(Conversion& c, Type type) { convert_distilbert_with(c, type, false); }
void convert_distilbert_masked(Conversion& c, Type type) { convert_distilbert_with(c, type, true); }

}  // namespace sluice
