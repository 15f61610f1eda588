// Conversions of each family: the keys and tensors of folders that the tests make, against what the
// definitions say. The engine computes with the results.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "files/made_conversion.h"

namespace sluice {
namespace {

using nlohmann::ordered_json;

TEST(Convert, Llama) {
  MadeModel m = llama();
  m.config["attention_bias"] = true;
  m.config["mlp_bias"] = true;
  for (uint64_t i = 0; i < kLayers; ++i) {
    for (const char* part : {"q", "k", "v", "o"}) {
      const uint64_t rows = *part == 'q' || *part == 'o' ? kWidth : kKvHeads * kHeadDim;
      m.add(concat(layer(i), "self_attn.", part, "_proj.bias"), {rows});
    }
    for (const char* part : {"gate", "up", "down"})
      m.add(concat(layer(i), "mlp.", part, "_proj.bias"), {*part == 'd' ? kWidth : kFf});
  }
  const Converted c = convert_made(m);
  const std::string from = layer(1) + "self_attn.";
  EXPECT_EQ(c.values("blk.1.attn_q.weight"),
            paired(m.values(from + "q_proj.weight"), kHeads, kWidth));
  EXPECT_EQ(c.values("blk.1.attn_q.bias"), paired(m.values(from + "q_proj.bias"), kHeads, 1));
  EXPECT_EQ(c.values("blk.1.attn_k.weight"),
            paired(m.values(from + "k_proj.weight"), kKvHeads, kWidth));
  EXPECT_EQ(c.values("blk.1.attn_k.bias"), paired(m.values(from + "k_proj.bias"), kKvHeads, 1));
  EXPECT_EQ(c.values("blk.1.attn_v.weight"), m.values(from + "v_proj.weight"));
  EXPECT_EQ(c.values("blk.1.attn_v.bias"), m.values(from + "v_proj.bias"));
  EXPECT_EQ(c.values("blk.0.ffn_down.weight"), m.values(layer(0) + "mlp.down_proj.weight"));
  EXPECT_EQ(c.values("output.weight"), m.values("lm_head.weight"));
  EXPECT_EQ(c.dims("blk.0.ffn_down.weight"), (std::vector<uint64_t>{kFf, kWidth}));
  EXPECT_EQ(c.number("llama.vocab_size"), kVocab);
  EXPECT_EQ(c.number("llama.rope.dimension_count"), kHeadDim);
  EXPECT_EQ(*c.header.get_string("general.name"), "Made Model");
  expect_runs(c);
}

// transformers 5: three files, rope_parameters, dtype; the tied matrix is stored twice.
TEST(Convert, ReadsWhatTransformers5Saves) {
  MadeModel m = llama("BF16");
  m.config["tie_word_embeddings"] = true;
  m.config["dtype"] = "bfloat16";
  m.config["rope_parameters"] = {
      {"rope_type", "llama3"},   {"rope_theta", 500000.0},
      {"factor", 8.0},           {"low_freq_factor", 1.0},
      {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 64}};
  const Converted c = convert_made(m, 3);
  EXPECT_EQ(c.header.find_tensor("output.weight"), nullptr);
  EXPECT_EQ(c.real("llama.rope.freq_base"), 500000);
  const Floats factors = c.values("rope_freqs.weight");
  ASSERT_EQ(factors.size(), kHeadDim / 2);
  EXPECT_EQ(factors.front(), 1);
  EXPECT_EQ(factors.back(), 8);
  expect_runs(c);
  const auto same = try_convert(m.folder(3), {std::nullopt, "A name"});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->number("general.file_type"), 32u);  // the weights' own type
  EXPECT_EQ(*same->header.get_string("general.name"), "A name");
}

// Names may stand without "model.", or below a model that sees.
TEST(Convert, FindsNamesBelowOtherParts) {
  for (const char* start : {"", "language_model.model.", "model.language_model."}) {
    MadeModel m = llama();
    for (MadeTensor& tensor : m.tensors)
      if (tensor.name.starts_with("model.")) tensor.name = start + tensor.name.substr(6);
    EXPECT_FALSE(convert_made(m).bytes.empty()) << start;
  }
}

TEST(Convert, Mistral) {
  MadeModel m = llama();
  m.config["architectures"] = {"MistralForCausalLM"};
  m.config["sliding_window"] = nullptr;
  EXPECT_EQ(convert_made(m).number("llama.context_length"), 128u);
  // A window that no key can say: within it, all is the same.
  m.config["sliding_window"] = 32;
  const Converted c = convert_made(m);
  EXPECT_EQ(c.number("llama.context_length"), 32u);
  ASSERT_EQ(c.remarks.size(), 1u);
}

TEST(Convert, Qwen2AndQwen3) {
  MadeModel m = llama();
  m.config["architectures"] = {"Qwen2ForCausalLM"};
  m.config["use_sliding_window"] = false;
  m.config["sliding_window"] = 64;
  m.config["max_window_layers"] = 1;
  for (uint64_t i = 0; i < kLayers; ++i)
    for (const char* part : {"q", "k", "v"})
      m.add(concat(layer(i), "self_attn.", part, "_proj.bias"),
            {*part == 'q' ? kWidth : kKvHeads * kHeadDim});
  const Converted two = convert_made(m);
  EXPECT_EQ(two.values("blk.1.attn_q.weight"), m.values(layer(1) + "self_attn.q_proj.weight"));
  EXPECT_EQ(two.values("blk.1.attn_k.bias"), m.values(layer(1) + "self_attn.k_proj.bias"));
  expect_runs(two);
  m.config["use_sliding_window"] = true;
  expect_refused(m, Code::unsupported_model, "use_sliding_window");
  // A switch that is on for no layer.
  m.config["max_window_layers"] = kLayers;
  EXPECT_FALSE(convert_made(m).bytes.empty());
  m.config["max_window_layers"] = 1;
  m.config["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_FALSE(convert_made(m).bytes.empty());
  m.config["layer_types"] = {"full_attention", "sliding_attention"};
  expect_refused(m, Code::unsupported_model, "layer_types");

  MadeModel n = qwen3();
  n.config["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32}};
  const Converted three = convert_made(n);
  EXPECT_EQ(three.values("blk.1.attn_k_norm.weight"),
            n.values(layer(1) + "self_attn.k_norm.weight"));
  EXPECT_EQ(three.real("qwen3.rope.scaling.factor"), 4);
  EXPECT_EQ(three.header.find("qwen3.rope.scaling.attn_factor"), nullptr);
  EXPECT_EQ(three.number("qwen3.rope.scaling.original_context_length"), 32u);
  expect_runs(three);
}

// A config's attention factor is the whole one; readers of GGUF multiply theirs with YaRN's own.
TEST(Convert, FactorsOfRope) {
  MadeModel yarn = llama();
  yarn.config["rope_scaling"] = {{"rope_type", "yarn"},
                                 {"factor", 4.0},
                                 {"attention_factor", 1.5},
                                 {"original_max_position_embeddings", nullptr}};
  const Converted c = convert_made(yarn);
  EXPECT_NEAR(c.real("llama.rope.scaling.attn_factor"), 1.5 / (1 + 0.1 * std::log(4)), 1e-6);
  EXPECT_EQ(c.number("llama.rope.scaling.original_context_length"), 128u);
  yarn.config["rope_scaling"]["beta_fast"] = 16;
  expect_refused(yarn, Code::unsupported_model, "beta_fast");

  MadeModel longer = llama();
  const Floats longs(kHeadDim / 2, 2.0f), shorts(kHeadDim / 2, 1.5f);
  longer.config["rope_scaling"] = {{"type", "longrope"},
                                   {"long_factor", longs},
                                   {"short_factor", shorts},
                                   {"original_max_position_embeddings", 32}};
  const Converted d = convert_made(longer);
  EXPECT_EQ(d.values("rope_factors_long.weight"), longs);
  EXPECT_EQ(d.values("rope_factors_short.weight"), shorts);
  EXPECT_NEAR(d.real("llama.rope.scaling.attn_factor"), std::sqrt(1 + std::log(4) / std::log(32)),
              1e-6);
  expect_runs(d);
  longer.config["rope_scaling"]["long_factor"] = {1.0};
  expect_refused(longer, Code::bad_file, "long_factor");
}

constexpr uint64_t kExperts = 4;

// Experts, a matrix each or all in one tensor.
TEST(Convert, Experts) {
  const auto mixture = [](const char* class_name, const std::string& where, bool fused) {
    const bool mixtral = class_name == std::string("MixtralForCausalLM");
    MadeModel m = mixtral ? llama() : qwen3();
    m.config["architectures"] = {class_name};
    m.config[mixtral ? "num_local_experts" : "num_experts"] = kExperts;
    m.config["num_experts_per_tok"] = 2;
    m.config["norm_topk_prob"] = !mixtral;
    if (!mixtral) m.config["moe_intermediate_size"] = kFf;
    for (uint64_t i = 0; i < kLayers; ++i) {
      for (const char* part : {"gate", "up", "down"})
        m.remove(concat(layer(i), "mlp.", part, "_proj.weight"));
      const std::string at = layer(i) + where;
      m.add(at + "gate.weight", {kExperts, kWidth});
      if (fused) {
        m.add(at + "experts.gate_up_proj", {kExperts, 2 * kFf, kWidth});
        m.add(at + "experts.down_proj", {kExperts, kWidth, kFf});
      }
      for (uint64_t e = 0; e < kExperts && !fused; ++e) {
        const std::string expert = concat(at, "experts.", e, ".");
        m.add(expert + (mixtral ? "w1" : "gate_proj") + ".weight", {kFf, kWidth});
        m.add(expert + (mixtral ? "w3" : "up_proj") + ".weight", {kFf, kWidth});
        m.add(expert + (mixtral ? "w2" : "down_proj") + ".weight", {kWidth, kFf});
      }
    }
    return m;
  };
  MadeModel m = mixture("MixtralForCausalLM", "block_sparse_moe.", false);
  const Converted mixtral = convert_made(m);
  Floats up;
  for (uint64_t e = 0; e < kExperts; ++e)
    for (const float value :
         m.values(concat(layer(1), "block_sparse_moe.experts.", e, ".w3.weight")))
      up.push_back(value);
  EXPECT_EQ(mixtral.values("blk.1.ffn_up_exps.weight"), up);
  EXPECT_EQ(mixtral.dims("blk.1.ffn_down_exps.weight"),
            (std::vector<uint64_t>{kFf, kWidth, kExperts}));
  EXPECT_EQ(mixtral.number("llama.expert_used_count"), 2u);
  expect_runs(mixtral);
  expect_runs(convert_made(mixture("Qwen3MoeForCausalLM", "mlp.", false)));

  MadeModel f = mixture("Qwen3MoeForCausalLM", "mlp.", true);
  const Converted fused = convert_made(f);
  const Floats& both = f.values(layer(1) + "mlp.experts.gate_up_proj");
  Floats gate, ups;
  for (uint64_t row = 0; row < kExperts * 2 * kFf; ++row)
    for (uint64_t i = 0; i < kWidth; ++i)
      (row % (2 * kFf) < kFf ? gate : ups).push_back(both[row * kWidth + i]);
  EXPECT_EQ(fused.values("blk.1.ffn_gate_exps.weight"), gate);
  EXPECT_EQ(fused.values("blk.1.ffn_up_exps.weight"), ups);
  EXPECT_EQ(fused.values("blk.1.ffn_down_exps.weight"),
            f.values(layer(1) + "mlp.experts.down_proj"));
  EXPECT_EQ(fused.number("qwen3moe.expert_feed_forward_length"), kFf);
  expect_runs(fused);
  f.config["norm_topk_prob"] = false;
  expect_refused(f, Code::unsupported_model, "norm_topk_prob");
  // What transformers takes where the config says nothing.
  f.config.erase("norm_topk_prob");
  expect_refused(f, Code::unsupported_model, "norm_topk_prob");
  m.config.erase("rms_norm_eps");
  const Converted plain = convert_made(m);
  EXPECT_EQ(plain.real("llama.attention.layer_norm_rms_epsilon"), 1e-5f);
  EXPECT_EQ(plain.real("llama.rope.freq_base"), 1e6);
}

TEST(Convert, Gpt2) {
  MadeModel m;
  m.config = {{"architectures", {"GPT2LMHeadModel"}},
              {"n_embd", kWidth},
              {"n_head", kHeads},
              {"n_layer", kLayers},
              {"n_positions", 64},
              {"n_ctx", 64},
              {"vocab_size", kVocab},
              {"activation_function", "gelu_new"},
              {"layer_norm_epsilon", 1e-5}};
  m.add("transformer.wte.weight", {kVocab, kWidth});
  m.add("transformer.wpe.weight", {64, kWidth});
  const auto linear = [&](const std::string& name, uint64_t in, uint64_t out) {
    m.add(name + ".weight", {in, out});
    m.add(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    m.add(name + ".weight", {kWidth});
    m.add(name + ".bias", {kWidth});
  };
  for (uint64_t i = 0; i < kLayers; ++i) {
    const std::string at = concat("transformer.h.", i, ".");
    norm(at + "ln_1");
    norm(at + "ln_2");
    linear(at + "attn.c_attn", kWidth, 3 * kWidth);
    linear(at + "attn.c_proj", kWidth, kWidth);
    linear(at + "mlp.c_fc", kWidth, 4 * kWidth);
    linear(at + "mlp.c_proj", 4 * kWidth, kWidth);
    m.add(at + "attn.bias", {1, 1, 64, 64});
    m.add(at + "attn.masked_bias", {});
  }
  norm("transformer.ln_f");
  const Converted c = convert_made(m);
  const Floats& source = m.values("transformer.h.1.mlp.c_fc.weight");
  Floats up(source.size());
  for (uint64_t in = 0; in < kWidth; ++in)
    for (uint64_t out = 0; out < 4 * kWidth; ++out)
      up[out * kWidth + in] = source[in * 4 * kWidth + out];
  EXPECT_EQ(c.values("blk.1.ffn_up.weight"), up);
  EXPECT_EQ(c.dims("blk.1.ffn_up.weight"), (std::vector<uint64_t>{kWidth, 4 * kWidth}));
  EXPECT_EQ(c.values("blk.1.attn_qkv.bias"), m.values("transformer.h.1.attn.c_attn.bias"));
  expect_runs(c);
  // A matrix that is made in several pieces.
  constexpr uint64_t kInner = 20'000;
  m.config["n_inner"] = kInner;
  m.config["n_layer"] = 1;
  std::erase_if(m.tensors,
                [](const MadeTensor& t) { return t.name.starts_with("transformer.h.1"); });
  const std::string mlp = "transformer.h.0.mlp.";
  for (const char* part : {"c_fc.weight", "c_fc.bias", "c_proj.weight"}) m.remove(mlp + part);
  m.add(mlp + "c_fc.weight", {kWidth, kInner}, "F16");
  m.add(mlp + "c_fc.bias", {kInner});
  m.add(mlp + "c_proj.weight", {kInner, kWidth}, "F16");
  const Floats wide = convert_made(m).values("blk.0.ffn_up.weight");
  const Floats& from = m.values("transformer.h.0.mlp.c_fc.weight");
  ASSERT_EQ(wide.size(), from.size());
  size_t wrong = 0;
  const float *to = wide.data(), *source_row = from.data();
  for (uint64_t in = 0; in < kWidth; ++in, source_row += kInner)
    for (uint64_t out = 0; out < kInner; ++out)
      wrong += to[out * kWidth + in] != source_row[out] ? 1 : 0;
  EXPECT_EQ(wrong, 0u);

  m.config["activation_function"] = "relu";
  expect_refused(m, Code::unsupported_model, "activation_function relu");
  m.config["activation_function"] = "gelu_new";
  MadeTensor& narrow = m.tensor("transformer.h.0.attn.c_proj.weight");
  narrow.type = "F8_E4M3";
  narrow.bytes = std::string(kWidth * kWidth, '\x38');
  m.config["quantization_config"] = {{"quant_method", "fp8"}};
  m.add(narrow.name + "_scale", {1});
  expect_refused(m, Code::unsupported_model, "stored transposed");
}

TEST(Convert, Lfm2) {
  MadeModel m;
  m.config = {{"architectures", {"Lfm2ForCausalLM"}},
              {"hidden_size", kWidth},
              {"block_ff_dim", 144},
              {"block_auto_adjust_ff_dim", true},
              {"block_ffn_dim_multiplier", 1.0},
              {"block_multiple_of", 32},
              {"num_hidden_layers", kLayers},
              {"num_attention_heads", kHeads},
              {"num_key_value_heads", kKvHeads},
              {"conv_L_cache", 3},
              {"conv_bias", false},
              {"norm_eps", 1e-5},
              {"vocab_size", kVocab},
              {"max_position_embeddings", 128},
              {"layer_types", {"conv", "full_attention"}},
              {"rope_theta", 1000000.0}};
  m.add("model.embed_tokens.weight", {kVocab, kWidth});
  m.add(layer(0) + "conv.in_proj.weight", {3 * kWidth, kWidth});
  m.add(layer(0) + "conv.conv.weight", {kWidth, 1, 3});
  m.add(layer(0) + "conv.out_proj.weight", {kWidth, kWidth});
  m.add(layer(1) + "self_attn.q_proj.weight", {kWidth, kWidth});
  m.add(layer(1) + "self_attn.k_proj.weight", {kKvHeads * kHeadDim, kWidth});
  m.add(layer(1) + "self_attn.v_proj.weight", {kKvHeads * kHeadDim, kWidth});
  m.add(layer(1) + "self_attn.out_proj.weight", {kWidth, kWidth});
  m.add(layer(1) + "self_attn.q_layernorm.weight", {kHeadDim});
  m.add(layer(1) + "self_attn.k_layernorm.weight", {kHeadDim});
  for (uint64_t i = 0; i < kLayers; ++i) {
    m.add(layer(i) + "operator_norm.weight", {kWidth});
    m.add(layer(i) + "ffn_norm.weight", {kWidth});
    m.add(layer(i) + "feed_forward.w1.weight", {96, kWidth});
    m.add(layer(i) + "feed_forward.w3.weight", {96, kWidth});
    m.add(layer(i) + "feed_forward.w2.weight", {kWidth, 96});
  }
  m.add("model.embedding_norm.weight", {kWidth});
  const Converted c = convert_made(m);
  EXPECT_EQ(c.values("blk.0.shortconv.conv.weight"), m.values(layer(0) + "conv.conv.weight"));
  EXPECT_EQ(c.dims("blk.0.shortconv.conv.weight"), (std::vector<uint64_t>{3, kWidth}));
  EXPECT_EQ(c.values("blk.1.ffn_up.weight"), m.values(layer(1) + "feed_forward.w3.weight"));
  EXPECT_EQ(c.values("token_embd_norm.weight"), m.values("model.embedding_norm.weight"));
  EXPECT_EQ(c.number("lfm2.feed_forward_length"), 96u);
  const MetadataValue* kv = c.header.find("lfm2.attention.head_count_kv");
  ASSERT_TRUE(kv != nullptr && kv->count == 2);
  EXPECT_EQ(kv->as_u64(0), 0u);
  EXPECT_EQ(kv->as_u64(1), kKvHeads);
  expect_runs(c);
  m.config["conv_bias"] = true;
  expect_refused(m, Code::unsupported_model, "conv_bias");
}

// Three value heads to each of two key heads: their order changes.
TEST(Convert, Qwen35) {
  constexpr uint64_t kDim = 16, kKeys = 2, kEach = 3, kValues = kKeys * kEach, kTaps = 4;
  constexpr uint64_t kChannels = 2 * kKeys * kDim + kValues * kDim;
  MadeModel m;
  m.config = llama_config("Qwen3_5ForCausalLM", "qwen3_5_text");
  m.config.update({{"head_dim", kHeadDim},
                   {"linear_num_key_heads", kKeys},
                   {"linear_num_value_heads", kValues},
                   {"linear_key_head_dim", kDim},
                   {"linear_value_head_dim", kDim},
                   {"linear_conv_kernel_dim", kTaps},
                   {"layer_types", {"linear_attention", "full_attention"}},
                   {"attn_output_gate", true},
                   {"mtp_num_hidden_layers", 1},
                   {"rope_parameters",
                    {{"rope_type", "default"},
                     {"rope_theta", 1e7},
                     {"mrope_interleaved", true},
                     {"mrope_section", {1, 1, 0}},
                     {"partial_rotary_factor", 0.25}}}});
  m.add("model.embed_tokens.weight", {kVocab, kWidth});
  const std::string net = layer(0) + "linear_attn.";
  m.add(net + "in_proj_qkv.weight", {kChannels, kWidth});
  m.add(net + "in_proj_z.weight", {kValues * kDim, kWidth});
  m.add(net + "in_proj_a.weight", {kValues, kWidth});
  m.add(net + "in_proj_b.weight", {kValues, kWidth});
  m.add(net + "conv1d.weight", {kChannels, 1, kTaps});
  m.add(net + "A_log", {kValues});
  m.add(net + "dt_bias", {kValues});
  m.add(net + "norm.weight", {kDim});
  m.add(net + "out_proj.weight", {kWidth, kValues * kDim});
  const std::string at = layer(1) + "self_attn.";
  m.add(at + "q_proj.weight", {2 * kHeads * kHeadDim, kWidth});
  m.add(at + "k_proj.weight", {kKvHeads * kHeadDim, kWidth});
  m.add(at + "v_proj.weight", {kKvHeads * kHeadDim, kWidth});
  m.add(at + "o_proj.weight", {kWidth, kHeads * kHeadDim});
  m.add(at + "q_norm.weight", {kHeadDim});
  m.add(at + "k_norm.weight", {kHeadDim});
  for (uint64_t i = 0; i < kLayers; ++i) {
    m.add(layer(i) + "input_layernorm.weight", {kWidth});
    m.add(layer(i) + "post_attention_layernorm.weight", {kWidth});
    add_mlp(m, layer(i));
  }
  m.add("model.norm.weight", {kWidth});
  m.add("lm_head.weight", {kVocab, kWidth});
  m.add("mtp.fc.weight", {kWidth, 2 * kWidth});
  const Converted c = convert_made(m);

  // Rows of v, in blocks of `size`: [key][each] becomes [each][key].
  const auto tiled = [](const Floats& rows, uint64_t before, uint64_t size) {
    Floats out(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(before));
    for (uint64_t e = 0; e < kEach; ++e)
      for (uint64_t k = 0; k < kKeys; ++k)
        for (uint64_t i = 0; i < size; ++i)
          out.push_back(rows[before + (k * kEach + e) * size + i]);
    return out;
  };
  EXPECT_EQ(c.values("blk.0.attn_qkv.weight"),
            tiled(m.values(net + "in_proj_qkv.weight"), 2 * kKeys * kDim * kWidth, kDim * kWidth));
  EXPECT_EQ(c.values("blk.0.attn_gate.weight"),
            tiled(m.values(net + "in_proj_z.weight"), 0, kDim * kWidth));
  EXPECT_EQ(c.values("blk.0.ssm_alpha.weight"),
            tiled(m.values(net + "in_proj_a.weight"), 0, kWidth));
  EXPECT_EQ(c.values("blk.0.ssm_beta.weight"),
            tiled(m.values(net + "in_proj_b.weight"), 0, kWidth));
  EXPECT_EQ(c.values("blk.0.ssm_conv1d.weight"),
            tiled(m.values(net + "conv1d.weight"), 2 * kKeys * kDim * kTaps, kDim * kTaps));
  EXPECT_EQ(c.values("blk.0.ssm_dt.bias"), tiled(m.values(net + "dt_bias"), 0, 1));
  EXPECT_EQ(c.values("blk.0.ssm_norm.weight"), m.values(net + "norm.weight"));
  const Floats logs = tiled(m.values(net + "A_log"), 0, 1), a = c.values("blk.0.ssm_a");
  ASSERT_EQ(a.size(), kValues);
  for (size_t i = 0; i < kValues; ++i) EXPECT_NEAR(a[i], -std::exp(logs[i]), 1e-6);
  const Floats& out = m.values(net + "out_proj.weight");
  Floats out_tiled;
  for (uint64_t row = 0; row < kWidth; ++row)
    for (const float value :
         tiled(Floats(out.begin() + static_cast<ptrdiff_t>(row * kValues * kDim),
                      out.begin() + static_cast<ptrdiff_t>((row + 1) * kValues * kDim)),
               0, kDim))
      out_tiled.push_back(value);
  EXPECT_EQ(c.values("blk.0.ssm_out.weight"), out_tiled);
  EXPECT_EQ(c.values("blk.1.attn_q_norm.weight"), plus_one(m.values(at + "q_norm.weight")));
  EXPECT_EQ(c.values("blk.1.post_attention_norm.weight"),
            plus_one(m.values(layer(1) + "post_attention_layernorm.weight")));
  EXPECT_EQ(c.number("qwen35.rope.dimension_count"), 4u);
  EXPECT_EQ(c.number("qwen35.ssm.inner_size"), kValues * kDim);
  EXPECT_EQ(c.number("qwen35.block_count"), kLayers);
  ASSERT_EQ(c.remarks.size(), 1u);
  expect_runs(c);
}

}  // namespace
}  // namespace sluice
