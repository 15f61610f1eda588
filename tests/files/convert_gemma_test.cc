// Conversions of Gemma 3 and Gemma 4, as convert_families_test.cc has those of others.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "files/made_conversion.h"

namespace sluice {
namespace {

using nlohmann::ordered_json;

void add_gemma_layer(MadeModel& m, const std::string& at, uint64_t heads, uint64_t kv_heads,
                     uint64_t head_dim, uint64_t ff) {
  for (const char* norm : {"input_layernorm", "post_attention_layernorm",
                           "pre_feedforward_layernorm", "post_feedforward_layernorm"})
    m.add(concat(at, norm, ".weight"), {kWidth});
  m.add(at + "self_attn.q_proj.weight", {heads * head_dim, kWidth});
  m.add(at + "self_attn.o_proj.weight", {kWidth, heads * head_dim});
  m.add(at + "self_attn.q_norm.weight", {head_dim});
  if (kv_heads > 0) {
    m.add(at + "self_attn.k_proj.weight", {kv_heads * head_dim, kWidth});
    m.add(at + "self_attn.v_proj.weight", {kv_heads * head_dim, kWidth});
    m.add(at + "self_attn.k_norm.weight", {head_dim});
  }
  add_mlp(m, at, "F32", ff);
}

// As a part of a model that sees: text_config, names below language_model, a vision tower, and more
// rows of embedding than there are tokens.
TEST(Convert, Gemma3) {
  MadeModel m;
  m.vocabulary = spaces_vocabulary();
  const std::string start = "language_model.model.";
  m.config = {
      {"architectures", {"Gemma3ForConditionalGeneration"}},
      {"mm_tokens_per_image", 256},
      {"vision_config", {{"hidden_size", 8}}},
      {"text_config",
       {{"hidden_size", kWidth},
        {"intermediate_size", kFf},
        {"num_hidden_layers", 7},
        {"num_attention_heads", kHeads},
        {"num_key_value_heads", kKvHeads},
        {"head_dim", kHeadDim},
        {"query_pre_attn_scalar", kHeadDim},
        {"sliding_window", 16},
        {"vocab_size", 264},
        {"max_position_embeddings", 128},
        {"hidden_activation", "gelu_pytorch_tanh"},
        {"attn_logit_softcapping", nullptr},
        {"final_logit_softcapping", nullptr},
        {"use_bidirectional_attention", false},
        {"rope_parameters",
         {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1000000.0}}},
          {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 5000.0}}}}}}}};
  m.add(start + "embed_tokens.weight", {270, kWidth});
  for (uint64_t i = 0; i < 7; ++i)
    add_gemma_layer(m, concat(start, "layers.", i, "."), kHeads, kKvHeads, kHeadDim, kFf);
  m.add(start + "norm.weight", {kWidth});
  m.add("language_model.lm_head.weight", {270, kWidth});
  m.add("vision_tower.some.weight", {8});
  m.add("multi_modal_projector.mm_input_projection_weight", {8});
  const Converted c = convert_made(m, 3);
  Floats embedding = m.values(start + "embed_tokens.weight");
  embedding.resize(264 * kWidth);
  EXPECT_EQ(c.values("token_embd.weight"), embedding);
  EXPECT_EQ(c.values("blk.6.attn_q_norm.weight"),
            plus_one(m.values(start + "layers.6.self_attn.q_norm.weight")));
  EXPECT_EQ(c.values("blk.6.ffn_norm.weight"),
            plus_one(m.values(start + "layers.6.pre_feedforward_layernorm.weight")));
  EXPECT_EQ(c.values("output_norm.weight"), plus_one(m.values(start + "norm.weight")));
  EXPECT_EQ(c.values("blk.3.attn_q.weight"), m.values(start + "layers.3.self_attn.q_proj.weight"));
  EXPECT_EQ(c.header.find_tensor("output.weight"), nullptr);
  EXPECT_EQ(c.header.find("gemma3.attention.sliding_window_pattern"), nullptr);
  EXPECT_EQ(c.number("gemma3.attention.sliding_window"), 16u);
  EXPECT_EQ(c.real("gemma3.rope.freq_base_swa"), 5000);
  EXPECT_EQ(c.real("gemma3.rope.scaling.factor"), 8);
  EXPECT_EQ(c.remarks.size(), 2u);
  expect_runs(c);
  m.config["text_config"]["sliding_window_pattern"] = 3;
  EXPECT_EQ(convert_made(m).number("gemma3.attention.sliding_window_pattern"), 3u);
  m.config["text_config"]["query_pre_attn_scalar"] = 100;
  expect_refused(m, Code::unsupported_model, "query_pre_attn_scalar");
}

// Layers 0 and 1 have a window, 2 sees all, 3 and 4 read the keys and values of 1 and 2.
TEST(Convert, Gemma4) {
  constexpr uint64_t kGlobalDim = 32, kInputs = 8;
  MadeModel m;
  m.vocabulary = spaces_vocabulary();
  auto& normalizer = m.vocabulary.tokenizer["normalizer"];
  normalizer = ordered_json(normalizer["normalizers"][1]);
  m.config = {{"architectures", {"Gemma4ForCausalLM"}},
              {"hidden_size", kWidth},
              {"intermediate_size", kFf},
              {"num_hidden_layers", 5},
              {"num_attention_heads", kHeads},
              {"num_key_value_heads", kKvHeads},
              {"head_dim", kHeadDim},
              {"vocab_size", 264},
              {"vocab_size_per_layer_input", 264},
              {"hidden_size_per_layer_input", kInputs},
              {"num_kv_shared_layers", 2},
              {"use_double_wide_mlp", true},
              {"attention_k_eq_v", true},
              {"sliding_window", 16},
              {"max_position_embeddings", 128},
              {"final_logit_softcapping", 30.0},
              {"layer_types",
               {"sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
                "full_attention"}},
              {"per_layer_config",
               {{"2", {{"head_dim", kGlobalDim}, {"num_key_value_heads", 1}}},
                {"4", {{"head_dim", kGlobalDim}, {"num_key_value_heads", 1}}}}},
              {"rope_parameters",
               {{"full_attention",
                 {{"rope_type", "proportional"},
                  {"partial_rotary_factor", 0.25},
                  {"rope_theta", 1000000.0}}},
                {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}}}};
  m.add("model.embed_tokens.weight", {264, kWidth});
  m.add("model.embed_tokens_per_layer.weight", {264, 5 * kInputs});
  m.add("model.per_layer_model_projection.weight", {5 * kInputs, kWidth});
  m.add("model.per_layer_projection_norm.weight", {kInputs});
  for (uint64_t i = 0; i < 5; ++i) {
    const bool global = i == 2 || i == 4;
    const uint64_t kv = i == 4 ? 0 : global ? 1 : kKvHeads;
    add_gemma_layer(m, layer(i), kHeads, kv, global ? kGlobalDim : kHeadDim,
                    i >= 3 ? 2 * kFf : kFf);
    m.add(layer(i) + "per_layer_input_gate.weight", {kInputs, kWidth});
    m.add(layer(i) + "per_layer_projection.weight", {kWidth, kInputs});
    m.add(layer(i) + "post_per_layer_input_norm.weight", {kWidth});
    m.add(layer(i) + "layer_scalar", {1});
  }
  m.remove(layer(2) + "self_attn.v_proj.weight");
  m.add("model.norm.weight", {kWidth});
  const Converted c = convert_made(m);
  EXPECT_EQ(c.values("blk.2.attn_k_norm.weight"), m.values(layer(2) + "self_attn.k_norm.weight"));
  EXPECT_EQ(c.values("blk.4.layer_output_scale.weight"), m.values(layer(4) + "layer_scalar"));
  EXPECT_EQ(c.values("per_layer_token_embd.weight"),
            m.values("model.embed_tokens_per_layer.weight"));
  EXPECT_EQ(c.header.find_tensor("blk.3.attn_k.weight"), nullptr);  // shared: left out
  const Floats factors = c.values("rope_freqs.weight");
  ASSERT_EQ(factors.size(), kGlobalDim / 2);
  EXPECT_EQ(factors[3], 1);
  EXPECT_EQ(factors[4], 1e30f);
  const MetadataValue* ff = c.header.find("gemma4.feed_forward_length");
  ASSERT_TRUE(ff != nullptr && ff->count == 5);
  EXPECT_EQ(ff->as_u64(2), kFf);
  EXPECT_EQ(ff->as_u64(3), 2 * kFf);
  const MetadataValue* kv = c.header.find("gemma4.attention.head_count_kv");
  ASSERT_TRUE(kv != nullptr && kv->count == 5);
  EXPECT_EQ(kv->as_u64(2), 1u);
  EXPECT_EQ(c.number("gemma4.attention.key_length"), kGlobalDim);
  EXPECT_EQ(c.number("gemma4.attention.key_length_swa"), kHeadDim);
  expect_runs(c);
  // Without a cap the key says so: llama.cpp would take 30.
  m.config["final_logit_softcapping"] = nullptr;
  EXPECT_EQ(convert_made(m).real("gemma4.final_logit_softcapping"), 0);
  m.config["enable_moe_block"] = true;
  expect_refused(m, Code::unsupported_model, "enable_moe_block");
}

}  // namespace
}  // namespace sluice
