// Good GGUF files that are not models that can run: their numbers, tensors or vocabularies are
// wrong.
#include <cmath>
#include <limits>

#include "base/format.h"
#include "hazard_cases.h"
#include "tiny_models.h"

namespace sluice {
namespace {

using Level = Hazard::Level;

constexpr uint64_t kMax64 = ~uint64_t{0};

void configuration(Cases cases) {
  const auto u32 = [&](std::string_view key, uint32_t value, std::string says) {
    cases.model(concat(key, "_", value), std::move(says),
                [&](GgufBuilder& f) { f.kv_u32(concat("llama.", key), value); });
  };
  u32("block_count", 0, "block_count is 0");
  u32("block_count", 2, "blk.1.");
  u32("block_count", 513, "block_count is 513");
  u32("block_count", 0x80000000u, "block_count is 2147483648");
  u32("embedding_length", 0, "embedding_length is 0");
  u32("embedding_length", 64, "token_embd.weight");
  u32("embedding_length", 0xffffffffu, "embedding_length is 4294967295");
  u32("context_length", 0, "context_length is 0");
  u32("feed_forward_length", 0, "feed_forward_length is 0");
  u32("feed_forward_length", 96, "blk.0.ffn_");
  u32("attention.head_count", 0, "attention.head_count is 0");
  u32("attention.head_count", 3, "3 ");
  u32("attention.head_count", 0xffffffffu, "attention.head_count is 4294967295");
  u32("attention.head_count_kv", 0, "attention.head_count_kv is 0");
  u32("attention.head_count_kv", 3, "3 ");
  u32("attention.key_length", 0, "attention.key_length is 0");
  u32("attention.key_length", 0x40000000u, "attention.key_length is 1073741824");
  u32("rope.dimension_count", 18, "rope.dimension_count is 18");
  u32("rope.dimension_count", 15, "rope.dimension_count is 15");

  const auto f32 = [&](std::string name, std::string_view key, float value) {
    cases.model(std::move(name), std::string(key),
                [&](GgufBuilder& f) { f.kv_f32(concat("llama.", key), value); });
  };
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  f32("eps_nan", "attention.layer_norm_rms_epsilon", nan);
  f32("eps_negative", "attention.layer_norm_rms_epsilon", -1e-5f);
  f32("eps_infinite", "attention.layer_norm_rms_epsilon", infinity);
  f32("freq_base_nan", "rope.freq_base", nan);
  f32("freq_base_0", "rope.freq_base", 0);
  f32("freq_base_negative", "rope.freq_base", -10000);
  f32("scale_nan", "rope.scaling.factor", nan);
  u32("expert_count", 1025, "expert_count is 1025");
  cases.model("experts", "llama.expert_used_count",
              [](GgufBuilder& f) { f.kv_u32("llama.expert_count", 8); });

  cases.model("block_count_as_string", "llama.block_count",
              [](GgufBuilder& f) { f.kv_string("llama.block_count", "1"); });
  cases.model("block_count_negative", "llama.block_count",
              [](GgufBuilder& f) { f.kv_i32("llama.block_count", -1); });
  cases.model("block_count_missing", "llama.block_count",
              [](GgufBuilder& f) { f.remove("llama.block_count"); });
  cases.model("feed_forward_length_of_two_layers", "feed_forward_length", [](GgufBuilder& f) {
    f.kv_array<uint32_t>("llama.feed_forward_length", ValueType::u32, {64, 64});
  });
  cases.model("architecture_missing", "general.architecture",
              [](GgufBuilder& f) { f.remove("general.architecture"); });
  cases.model("architecture_as_number", "general.architecture",
              [](GgufBuilder& f) { f.kv_u32("general.architecture", 1); });
  GgufBuilder nothing;
  cases.add("nothing_in_it", nothing.build(), "general.architecture");

  cases.level(Level::model, Code::unsupported_model);
  cases.model("architecture_unknown", "mamba",
              [](GgufBuilder& f) { f.kv_string("general.architecture", "mamba"); });
  cases.model("architecture_not_printable", "\"?[31m?\"",
              [](GgufBuilder& f) { f.kv_string("general.architecture", "\x1b[31m\xff"); });
  cases.model("tensor_unknown", "blk.0.attn_q_lora.weight", [](GgufBuilder& f) {
    f.tensor("blk.0.attn_q_lora.weight", Type::F32, {32}, std::string(128, 'x'));
  });
}

// Ways of scaling RoPE, each with a number that makes no sense.
void rope(Cases cases) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const auto scaled = [&](std::string_view name, std::string_view type, std::string_view key,
                          float value, std::string_view says) {
    cases.model(concat("rope_", type, "_", name), concat("llama.rope.", key, says),
                [&](GgufBuilder& f) {
                  f.kv_string("llama.rope.scaling.type", type);
                  f.kv_f32("llama.rope.scaling.factor", 4);
                  f.kv_f32(concat("llama.rope.", key), value);
                });
  };
  scaled("factor_negative", "linear", "scaling.factor", -1, " is -1; a positive number");
  scaled("factor_negative", "yarn", "scaling.factor", -1, " is -1; a positive number");
  scaled("factor_below_1", "yarn", "scaling.factor", 0.5f, " is 0.5; YaRN needs 1 or more");
  scaled("factor_nan", "yarn", "scaling.factor", nan, " is not a finite number");
  scaled("factor_infinite", "longrope", "scaling.factor", infinity, " is not a finite number");
  scaled("base_1", "yarn", "freq_base", 1, " is 1; YaRN needs a number above 1");
  for (const std::string_view type : {"none", "yarn", "longrope"}) {
    scaled("magnitude_nan", type, "scaling.attn_factor", nan, " is not a finite number");
    scaled("magnitude_0", type, "scaling.attn_factor", 0, " is 0; expected a number above 0");
    scaled("magnitude_negative", type, "scaling.attn_factor", -1, " is -1; expected a number");
    scaled("magnitude_absurd", type, "scaling.attn_factor", 1e30f,
           " is 1.0000000150474662e+30; expected");
  }
  cases.model("rope_type_as_number", "'llama.rope.scaling.type' is u32 1; expected a string",
              [](GgufBuilder& f) { f.kv_u32("llama.rope.scaling.type", 1); });
  const auto original = [&](std::string name, std::string_view type, uint64_t tokens,
                            std::string says) {
    cases.model(std::move(name), concat("rope.scaling.original_context_length is ", tokens, says),
                [&](GgufBuilder& f) {
                  f.kv_string("llama.rope.scaling.type", type);
                  f.kv_u64("llama.rope.scaling.original_context_length", tokens);
                  if (type == "yarn") return;
                  for (const char* which : {"short", "long"}) {
                    f.tensor(concat("rope_factors_", which, ".weight"), Type::F32, {8},
                             bytes_of(std::vector<float>(8, 1)));
                  }
                });
  };
  original("rope_yarn_original_0", "yarn", 0, "; YaRN needs 1 or more");
  original("rope_longrope_original_0", "longrope", 0, "; the context from which on");
  original("rope_factors_original_0", "linear", 0, "; the context from which on");
  original("rope_original_2_64_minus_1", "longrope", kMax64, "; expected 0 to 4294967296");

  const auto factors = [&](std::string name, std::string says, std::vector<float> of_short,
                           std::vector<float> of_long) {
    cases.model(std::move(name), std::move(says), [&](GgufBuilder& f) {
      f.kv_string("llama.rope.scaling.type", "longrope");
      if (!of_short.empty()) {
        f.tensor("rope_factors_short.weight", Type::F32, {of_short.size()}, bytes_of(of_short));
      }
      if (!of_long.empty())
        f.tensor("rope_factors_long.weight", Type::F32, {of_long.size()}, bytes_of(of_long));
    });
  };
  const std::vector<float> good(8, 1), bad = {1, 1, 1, 1, 1, 1, 1, nan};
  factors("rope_factors_without_long", "has no tensor rope_factors_long.weight", good, {});
  factors("rope_factors_without_short", "has no tensor rope_factors_short.weight", {}, good);
  factors("rope_factors_too_few", "rope_factors_long.weight has the shape [7]", good,
          {1, 2, 3, 4, 5, 6, 7});
  factors("rope_factors_too_many", "rope_factors_short.weight has the shape [16]",
          std::vector<float>(16, 1), good);
  factors("rope_factors_nan", "rope_factors_long.weight has a number that is NaN", good, bad);

  cases.level(Level::model, Code::unsupported_model);
  for (const std::string_view type : {"dynamic", "YARN", "longrope2"}) {
    cases.model(concat("rope_scaling_", type), concat("by the method \"", type, "\""),
                [&](GgufBuilder& f) { f.kv_string("llama.rope.scaling.type", type); });
  }
  cases.model("rope_factors_of_both_kinds", "rope_freqs.weight", [&](GgufBuilder& f) {
    for (const char* name :
         {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"})
      f.tensor(name, Type::F32, {8}, bytes_of(good));
  });
}

void weights(Cases cases) {
  for (const char* name : {"token_embd.weight", "blk.0.attn_norm.weight", "blk.0.ffn_down.weight",
                           "output_norm.weight"}) {
    cases.model(concat("without_", name), name, [&](GgufBuilder& f) { f.remove_tensor(name); });
  }
  cases.model("shape_of_q", "blk.0.attn_q.weight has the shape [32, 31]", [](GgufBuilder& f) {
    f.find_tensor("blk.0.attn_q.weight").dims = {32, 31};
  });
  cases.model("shape_transposed", "blk.0.ffn_down.weight has the shape [32, 64]",
              [](GgufBuilder& f) {
                f.find_tensor("blk.0.ffn_down.weight").dims = {32, 64};
              });
  cases.model("shape_of_norm", "output_norm.weight has the shape [16, 2]", [](GgufBuilder& f) {
    f.find_tensor("output_norm.weight").dims = {16, 2};
  });
  cases.model("rows_of_embedding", "vocab", [](GgufBuilder& f) {
    f.find_tensor("token_embd.weight").dims = {32, 299};
    f.find_tensor("output.weight").dims = {32, 299};
  });

  // Numbers that are not finite: instruction sets would give different results. One in each kind of
  // tensor, in the first row, the last whole strip or the rows after it.
  const auto not_finite = [&](std::string_view what, std::string_view tensor, uint64_t row,
                              uint64_t rows, std::string bits, size_t place) {
    cases.model(concat(what, "_of_", tensor, "_row_", row),
                concat("tensor ", tensor, " has a number that is NaN or infinite in row ", row,
                       " (of ", rows),
                [&](GgufBuilder& f) {
                  auto& t = f.find_tensor(tensor);
                  const size_t row_bytes = t.data.size() / rows;
                  t.data.replace(row * row_bytes + place * bits.size(), bits.size(), bits);
                });
  };
  const std::string nan = bytes_of(std::nanf(""));
  const std::string infinity = bytes_of(-std::numeric_limits<float>::infinity());
  not_finite("nan", "token_embd.weight", 0, kTinyVocab, nan, 31);
  not_finite("nan", "output.weight", kTinyVocab - 1, kTinyVocab, nan, 0);
  not_finite("infinity", "output.weight", 287, kTinyVocab, infinity, 5);
  not_finite("infinity", "blk.0.attn_norm.weight", 0, 1, infinity, 31);
  not_finite("nan", "output_norm.weight", 0, 1, nan, 0);
  cases.model("weights_scale_nan",
              "blk.0.ffn_gate.weight has a scale that is NaN or infinite in row 63",
              [](GgufBuilder& f) {
                std::string data(64 * 34, '\0');
                data.replace(63 * 34, 2, bytes_of<uint16_t>(0x7e00));
                f.tensor("blk.0.ffn_gate.weight", Type::Q8_0, {32, 64}, data);
              });
  cases.model("norm_in_f16_infinite", "output_norm.weight has a number that is NaN or infinite",
              [](GgufBuilder& f) {
                std::vector<uint16_t> ones(32, 0x3c00);
                ones[31] = 0xfc00;
                f.tensor("output_norm.weight", Type::F16, {32}, bytes_of(ones));
              });

  // Types of other engines that we don't compute: their sizes are known, and they are refused by
  // name.
  cases.level(Level::model, Code::unsupported_type);
  for (uint32_t type = 0; file_type(type).name; ++type) {
    const FileType known = file_type(type);
    if (known.block == 0 || find_traits(type)) continue;
    cases.model(concat("type_", known.name), concat("type ", known.name), [&](GgufBuilder& f) {
      f.tensor("output.weight", type, {256, 300},
               std::string(256 / known.block * known.block_bytes * 300, '\0'));
    });
  }
  cases.model("norm_quantized", "output_norm.weight", [](GgufBuilder& f) {
    f.tensor("output_norm.weight", Type::Q8_0, {32}, std::string(34, '\0'));
  });
}

void vocabulary(Cases cases) {
  cases.model("tokens_missing", "tokenizer.ggml.tokens",
              [](GgufBuilder& f) { f.remove("tokenizer.ggml.tokens"); });
  cases.model("tokens_as_numbers", "tokenizer.ggml.tokens", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.tokens", ValueType::u32, std::vector<uint32_t>(kTinyVocab));
  });
  cases.model("tokens_none", "tokens",
              [](GgufBuilder& f) { f.kv_strings("tokenizer.ggml.tokens", {}); });
  cases.model("scores_too_few", "scores", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.scores", ValueType::f32, std::vector<float>(kTinyVocab - 1));
  });
  cases.model("scores_as_strings", "scores", [](GgufBuilder& f) {
    f.kv_strings("tokenizer.ggml.scores", std::vector<std::string>(kTinyVocab, "0.5"));
  });
  cases.model("token_types_too_few", "token_type", [](GgufBuilder& f) {
    f.kv_array("tokenizer.ggml.token_type", ValueType::i32,
               std::vector<int32_t>(kTinyVocab - 1, 1));
  });

  const auto vocabulary_with = [](size_t id, std::string text) {
    return [id, text](GgufBuilder& f) {
      std::vector<std::string> tokens = tiny_tokens();
      tokens[id] = text;
      f.kv_strings("tokenizer.ggml.tokens", tokens);
    };
  };
  // Token 3 has the type "byte".
  cases.model("byte_token_negative", "<0x-1>", vocabulary_with(3, "<0x-1>"));
  cases.model("byte_token_no_number", "<0xZZ>", vocabulary_with(3, "<0xZZ>"));
  cases.model("byte_token_too_long", "<0x100>", vocabulary_with(3, "<0x100>"));

  cases.level(Level::model, Code::unsupported_model);
  cases.model("tokenizer_unknown", "t5",
              [](GgufBuilder& f) { f.kv_string("tokenizer.ggml.model", "t5"); });
}

}  // namespace

void add_model_hazards(Cases& cases) {
  configuration(cases.level(Level::model));
  rope(cases);
  weights(cases);
  vocabulary(cases);
}

}  // namespace sluice
