// Conversions of BERT and DistilBERT: the keys and tensors of folders that the tests make.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files/made_conversion.h"

namespace sluice {
namespace {

TEST(Convert, Bert) {
  MadeModel m;
  m.vocabulary = word_piece_vocabulary();
  m.config = {{"architectures", {"BertForMaskedLM"}},
              {"hidden_size", kWidth},
              {"intermediate_size", kFf},
              {"num_hidden_layers", 1},
              {"num_attention_heads", kHeads},
              {"max_position_embeddings", 32},
              {"type_vocab_size", 2},
              {"vocab_size", 8},
              {"hidden_act", "gelu"},
              {"layer_norm_eps", 1e-12},
              {"position_embedding_type", "absolute"}};
  const auto linear = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    m.add(name + ".weight", {rows, columns});
    m.add(name + ".bias", {rows});
  };
  const auto norm = [&](const std::string& name, bool old) {
    m.add(name + (old ? ".gamma" : ".weight"), {kWidth});
    m.add(name + (old ? ".beta" : ".bias"), {kWidth});
  };
  m.add("bert.embeddings.word_embeddings.weight", {8, kWidth});
  m.add("bert.embeddings.position_embeddings.weight", {32, kWidth});
  m.add("bert.embeddings.token_type_embeddings.weight", {2, kWidth});
  m.add("bert.embeddings.position_ids", {1, 32});
  norm("bert.embeddings.LayerNorm", true);
  const std::string at = "bert.encoder.layer.0.";
  for (const char* part : {"query", "key", "value"})
    linear(concat(at, "attention.self.", part), kWidth, kWidth);
  linear(at + "attention.output.dense", kWidth, kWidth);
  norm(at + "attention.output.LayerNorm", false);
  linear(at + "intermediate.dense", kFf, kWidth);
  linear(at + "output.dense", kWidth, kFf);
  norm(at + "output.LayerNorm", true);
  linear("bert.pooler.dense", kWidth, kWidth);
  linear("cls.predictions.transform.dense", kWidth, kWidth);
  norm("cls.predictions.transform.LayerNorm", true);
  m.add("cls.predictions.bias", {8});
  m.add("cls.seq_relationship.weight", {2, kWidth});
  const Converted c = convert_made(m);
  EXPECT_EQ(c.values("token_embd_norm.bias"), m.values("bert.embeddings.LayerNorm.beta"));
  EXPECT_EQ(c.values("blk.0.attn_k.weight"), m.values(at + "attention.self.key.weight"));
  EXPECT_EQ(c.values("blk.0.attn_output_norm.weight"),
            m.values(at + "attention.output.LayerNorm.weight"));
  EXPECT_EQ(c.values("mlm.dense.weight"), m.values("cls.predictions.transform.dense.weight"));
  EXPECT_EQ(c.values("mlm.norm.weight"), m.values("cls.predictions.transform.LayerNorm.gamma"));
  EXPECT_EQ(c.values("mlm.bias"), m.values("cls.predictions.bias"));
  EXPECT_EQ(c.number("tokenizer.ggml.token_type_count"), 2u);
  EXPECT_EQ(*c.header.get_bool("bert.attention.causal"), std::optional(false));
  ASSERT_EQ(c.remarks.size(), 1u);
  EXPECT_NE(c.remarks[0].find("mlm."), std::string::npos);
  // The model alone, as sentence-transformers saves it.
  MadeModel alone = m;
  alone.config["architectures"] = {"BertModel"};
  std::erase_if(alone.tensors,
                [](const MadeTensor& tensor) { return tensor.name.starts_with("cls."); });
  for (MadeTensor& tensor : alone.tensors)
    tensor.name = tensor.name.substr(std::string("bert.").size());
  const Converted without = convert_made(alone);
  EXPECT_EQ(without.values("blk.0.attn_k.weight"), c.values("blk.0.attn_k.weight"));
  EXPECT_EQ(without.header.find_tensor("mlm.bias"), nullptr);
  EXPECT_EQ(without.header.find("bert.pooling_type"), nullptr);
  ASSERT_EQ(without.remarks.size(), 1u);
  EXPECT_NE(without.remarks[0].find("the mean is taken"), std::string::npos);
  alone.others["modules.json"] =
      R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])";
  const auto pooled = [&](const std::string& config) {
    alone.others["1_Pooling/config.json"] = config;
    return convert_made(alone).number("bert.pooling_type");
  };
  EXPECT_EQ(pooled(R"({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true})"), 1u);
  EXPECT_EQ(pooled(R"({"pooling_mode_cls_token": true})"), 2u);
  EXPECT_EQ(pooled(R"({"pooling_mode": "lasttoken"})"), 3u);
  const auto told = [&](const std::string& config, const std::string& what) {
    alone.others["sentence_bert_config.json"] = config;
    const auto remarks = convert_made(alone).remarks;
    const auto has = [&](const std::string& each) { return each.find(what) != std::string::npos; };
    return std::ranges::any_of(remarks, has);
  };
  EXPECT_FALSE(told("{}", "the mean is taken"));
  EXPECT_TRUE(told(R"({"max_seq_length": 7})", "cut at 7 tokens"));
  EXPECT_TRUE(told(R"({"max_seq_length": 7})", "sluice embed -c 7 --truncate"));
  for (const char* whole : {R"({"max_seq_length": 100000})", R"({"max_seq_length": null})",
                            R"({"max_seq_length": 0})", "{}"})
    EXPECT_FALSE(told(whole, "cut at")) << whole;
  alone.others["sentence_bert_config.json"] = "[]";
  expect_refused(alone, Code::bad_file, "sentence_bert_config.json");
  alone.others.erase("sentence_bert_config.json");
  alone.others["1_Pooling/config.json"] = R"({"pooling_mode_max_tokens": true})";
  expect_refused(alone, Code::unsupported_model, "pools by max");
  alone.others["1_Pooling/config.json"] = R"({"pooling_mode": "odd"})";
  expect_refused(alone, Code::unsupported_model, "pools by odd");
  alone.others["1_Pooling/config.json"] = "{}";
  expect_refused(alone, Code::bad_file, "no way of pooling");
  alone.others.erase("1_Pooling/config.json");
  expect_refused(alone, Code::bad_file, "1_Pooling/config.json");
  alone.others["modules.json"] =
      R"([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])";
  expect_refused(alone, Code::unsupported_model, "Dense");
  alone.others["modules.json"] = R"([{"path": 1}])";
  expect_refused(alone, Code::bad_file, "without a type");
  // The head's matrix may be stored, too; one of its own has no place.
  MadeTensor copy = m.tensor("bert.embeddings.word_embeddings.weight");
  copy.name = "cls.predictions.decoder.weight";
  m.tensors.push_back(copy);
  EXPECT_FALSE(convert_made(m).bytes.empty());
  m.tensors.back().bytes[5] ^= 1;
  expect_refused(m, Code::unsupported_model, "differs from");
}

TEST(Convert, DistilBert) {
  MadeModel m;
  m.vocabulary = word_piece_vocabulary();
  m.config = {{"architectures", {"DistilBertForMaskedLM"}},
              {"dim", kWidth},
              {"hidden_dim", kFf},
              {"n_layers", 1},
              {"n_heads", kHeads},
              {"max_position_embeddings", 32},
              {"vocab_size", 8},
              {"activation", "gelu"},
              {"sinusoidal_pos_embds", false}};
  const auto both = [&](const std::string& name, std::vector<uint64_t> shape) {
    m.add(name + ".weight", shape);
    m.add(name + ".bias", {shape[0]});
  };
  m.add("distilbert.embeddings.word_embeddings.weight", {8, kWidth});
  m.add("distilbert.embeddings.position_embeddings.weight", {32, kWidth});
  both("distilbert.embeddings.LayerNorm", {kWidth});
  const std::string at = "distilbert.transformer.layer.0.";
  for (const char* part : {"q_lin", "k_lin", "v_lin", "out_lin"})
    both(concat(at, "attention.", part), {kWidth, kWidth});
  both(at + "sa_layer_norm", {kWidth});
  both(at + "ffn.lin1", {kFf, kWidth});
  both(at + "ffn.lin2", {kWidth, kFf});
  both(at + "output_layer_norm", {kWidth});
  both("vocab_transform", {kWidth, kWidth});
  both("vocab_layer_norm", {kWidth});
  m.add("vocab_projector.bias", {8});
  const Converted c = convert_made(m);
  EXPECT_EQ(c.values("blk.0.attn_output.weight"), m.values(at + "attention.out_lin.weight"));
  EXPECT_EQ(c.values("blk.0.layer_output_norm.bias"), m.values(at + "output_layer_norm.bias"));
  EXPECT_EQ(c.values("mlm.dense.bias"), m.values("vocab_transform.bias"));
  EXPECT_EQ(c.values("mlm.bias"), m.values("vocab_projector.bias"));
  EXPECT_EQ(c.header.find_tensor("token_types.weight"), nullptr);
  EXPECT_EQ(c.number("tokenizer.ggml.token_type_count"), 1u);
  EXPECT_EQ(c.real("bert.attention.layer_norm_epsilon"), 1e-12f);
}

}  // namespace
}  // namespace sluice
