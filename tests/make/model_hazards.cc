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

// What only one family demands of its file.
class FamilyCases {
 public:
  FamilyCases(Cases& cases, std::string_view model)
      : cases_(cases), file_(tiny_model_file(tiny_model_named(model))) {}

  template <typename Change>
  void add(std::string_view name, std::string says, Change&& change) {
    GgufBuilder file = file_;
    change(file);
    cases_.add(concat(architecture(), "_", name), file.build(), std::move(says));
  }
  void f32(std::string_view name, std::string_view key, float value, std::string_view says) {
    const std::string whole = concat(architecture(), ".", key);
    add(name, concat(whole, says), [&](GgufBuilder& f) { f.kv_f32(whole, value); });
  }
  void without(std::string_view key) {
    const std::string whole = concat(architecture(), ".", key);
    add(concat("without_", key), whole, [&](GgufBuilder& f) { f.remove(whole); });
  }
  void without_tensor(std::string_view name) {
    add(concat("without_", name), concat("has no tensor ", name),
        [&](GgufBuilder& f) { f.remove_tensor(name); });
  }

 private:
  std::string architecture() const {
    return file_.entries[0].value.substr(8);  // general.architecture, after its length
  }
  Cases& cases_;
  const GgufBuilder file_;
};

void gpt2(Cases cases) {
  FamilyCases family(cases, "gpt2-odd-f32");
  const float nan = std::nanf("");
  family.without("attention.layer_norm_epsilon");
  family.f32("eps_nan", "attention.layer_norm_epsilon", nan, " is not a finite number");
  family.f32("eps_1", "attention.layer_norm_epsilon", 1, " is 1; expected 0 to below 1");
  for (const char* name : {"position_embd.weight", "output_norm.bias", "blk.1.attn_norm.bias",
                           "blk.0.attn_qkv.bias", "blk.1.ffn_down.bias"}) {
    family.without_tensor(name);
  }
  family.add("more_positions_than_rows",
             "position_embd.weight has the shape [40, 512], but the header's numbers ask for [40, "
             "1024]",
             [](GgufBuilder& f) { f.kv_u32("gpt2.context_length", 1024); });
  family.add("rows_of_qkv", "blk.0.attn_qkv.weight has the shape [40, 119], but the header's",
             [](GgufBuilder& f) { f.find_tensor("blk.0.attn_qkv.weight").dims[1] = 119; });
  family.add("bias_of_qkv", "blk.1.attn_qkv.bias has the shape [119], but the header's",
             [](GgufBuilder& f) { f.find_tensor("blk.1.attn_qkv.bias").dims[0] = 119; });
  family.add("fewer_kv_heads", "attn_qkv.weight has the shape [40, 120], but the header's",
             [](GgufBuilder& f) { f.kv_u32("gpt2.attention.head_count_kv", 1); });
  cases.level(Level::model, Code::unsupported_model);
  family.add("with_a_gate", "blk.0.ffn_gate.weight", [](GgufBuilder& f) {
    f.tensor("blk.0.ffn_gate.weight", Type::F32, {40, 52}, std::string(4 * 40 * 52, '\0'));
  });
}

void gemma3(Cases cases) {
  FamilyCases family(cases, "gemma3-q8_0");
  const float nan = std::nanf("");
  family.without("attention.layer_norm_rms_epsilon");
  family.f32("base_nan", "rope.freq_base_swa", nan, " is not a finite number");
  family.f32("base_0", "rope.freq_base_swa", 0, " is 0; a number above 0");
  family.f32("cap_nan", "final_logit_softcapping", nan, " is not a finite number");
  family.f32("cap_negative", "final_logit_softcapping", -30, " is -30; expected 0");
  family.f32("cap_tiny", "final_logit_softcapping", 1e-30f, " is 1.0000000031710769e-30; expected");
  family.f32("cap_absurd", "final_logit_softcapping", 1e30f,
             " is 1.0000000150474662e+30; expected");
  family.add("window_2_31", "attention.sliding_window is 21474",
             [](GgufBuilder& f) { f.kv_u32("gemma3.attention.sliding_window", 1u << 31); });
  family.add("window_negative", "gemma3.attention.sliding_window",
             [](GgufBuilder& f) { f.kv_i32("gemma3.attention.sliding_window", -1); });
  const auto pattern = [&](std::string_view name, std::string says, std::vector<uint8_t> layers) {
    family.add(name, "gemma3.attention.sliding_window_pattern " + says, [&](GgufBuilder& f) {
      f.kv_array("gemma3.attention.sliding_window_pattern", ValueType::u8, layers);
    });
  };
  pattern("pattern_too_short", "has 6 entries, but the model has 7", {1, 1, 1, 1, 1, 0});
  pattern("pattern_too_long", "has 8 entries, but the model has 7", {1, 1, 1, 1, 1, 0, 1, 1});
  pattern("pattern_empty", "has 0 entries", {});
  pattern("pattern_of_other_numbers", "is no array of true", {1, 1, 1, 2, 1, 0, 1});
  family.add("pattern_of_texts", "sliding_window_pattern is no array of true", [](GgufBuilder& f) {
    f.kv_strings("gemma3.attention.sliding_window_pattern", std::vector<std::string>(7, "true"));
  });
  for (const uint32_t n : {0u, 1u << 21}) {
    family.add(concat("pattern_", n), concat("sliding_window_pattern is ", n, "; expected 1 to"),
               [&](GgufBuilder& f) { f.kv_u32("gemma3.attention.sliding_window_pattern", n); });
  }
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.6.attn_k_norm.weight",
                           "blk.3.post_attention_norm.weight", "blk.5.post_ffw_norm.weight"}) {
    family.without_tensor(name);
  }
  family.add("shape_of_head_norm", "blk.2.attn_k_norm.weight has the shape [15]",
             [](GgufBuilder& f) { f.find_tensor("blk.2.attn_k_norm.weight").dims[0] = 15; });
}

void gemma4(Cases cases) {
  FamilyCases family(cases, "gemma4-f32");
  const float nan = std::nanf("");
  const std::string a = "gemma4.";
  family.without("attention.layer_norm_rms_epsilon");
  family.without("attention.key_length_swa");
  family.without("attention.sliding_window");
  family.without("attention.sliding_window_pattern");
  family.f32("base_nan", "rope.freq_base_swa", nan, " is not a finite number");
  family.f32("base_0", "rope.freq_base_swa", 0, " is 0; a number above 0");
  family.f32("cap_negative", "final_logit_softcapping", -30, " is -30; expected 0");
  const auto number = [&](std::string_view name, std::string_view key, uint32_t value,
                          std::string says) {
    family.add(name, std::move(says), [&](GgufBuilder& f) { f.kv_u32(concat(a, key), value); });
  };
  number("window_0", "attention.sliding_window", 0, "attention.sliding_window is 0; expected 1");
  number("window_2_31", "attention.sliding_window", 1u << 31, "sliding_window is 21474");
  number("pattern_a_number", "attention.sliding_window_pattern", 3,
         "sliding_window_pattern is no array");
  const auto pattern = [&](std::string_view name, std::string says, std::vector<uint8_t> layers) {
    family.add(name, "gemma4.attention." + says, [&](GgufBuilder& f) {
      f.kv_array("gemma4.attention.sliding_window_pattern", ValueType::boolean, layers);
    });
  };
  pattern("pattern_too_short", "sliding_window_pattern has 6 entries, but the model has 7",
          {1, 1, 0, 1, 1, 0});
  pattern("pattern_too_long", "sliding_window_pattern has 8 entries", {1, 1, 0, 1, 1, 0, 1, 1});
  // Layers without one of their kind before them, or with one of other heads.
  pattern("no_local_layer_to_share", "shared_kv_layers is 4, but layer 3 has none",
          {0, 0, 0, 1, 1, 0, 1});
  pattern("shared_of_other_heads", "shared_kv_layers is 4, but layer 3 has 2 key heads of 16",
          {1, 1, 1, 1, 1, 0, 1});
  family.add("no_global_layer_to_share", "shared_kv_layers is 4, but layer 5 has none",
             [&](GgufBuilder& f) {
               const std::vector<uint8_t> layers = {1, 1, 1, 1, 1, 0, 1};
               f.kv_array(a + "attention.sliding_window_pattern", ValueType::boolean, layers)
                   .kv_u32(a + "attention.head_count_kv", 2);
             });
  for (const uint32_t n : {7u, 8u, 0xffffffffu}) {
    number(concat("shared_", n), "attention.shared_kv_layers", n,
           concat("shared_kv_layers is ", n, "; expected 0 to 6"));
  }
  number("shared_all_but_one", "attention.shared_kv_layers", 6,
         "shared_kv_layers is 6, but layer 2 has none before layer 1");
  const auto kv_heads = [&](std::string_view name, std::string says, std::vector<int32_t> heads) {
    family.add(name, std::move(says), [&](GgufBuilder& f) {
      f.kv_array("gemma4.attention.head_count_kv", ValueType::i32, heads);
    });
  };
  kv_heads("kv_heads_too_few", "head_count_kv has 6 entries", {2, 2, 1, 2, 2, 1});
  kv_heads("kv_heads_of_a_shared_layer", "layer 5 has 2 key heads of 32 elements, and layer 2",
           {2, 2, 1, 2, 2, 2, 2});
  number("fewer_shared", "attention.shared_kv_layers", 3, "no tensor blk.3.attn_k.weight");
  const auto head_dim = [&](std::string_view name, std::string_view end, uint32_t n,
                            std::string says) {
    family.add(name, std::move(says), [&](GgufBuilder& f) {
      f.kv_u32(concat(a, "attention.key_length", end), n)
          .kv_u32(concat(a, "attention.value_length", end), n);
    });
  };
  head_dim("head_dim_odd", "_swa", 15, "a head has 15 elements");
  head_dim("head_dim_wide", "_swa", 2048, "key_length_swa is 2048");
  head_dim("other_local_head_dim", "_swa", 32, "has the shape");
  head_dim("other_head_dim", "", 64, "blk.2.attn_q.weight has the shape");
  head_dim("smaller_head_dim", "", 16, "rope.dimension_count is 32; expected 1 to 16");
  number("turned_beyond_the_head", "rope.dimension_count_swa", 18,
         "rope.dimension_count_swa is 18; expected 1 to 16");
  number("turned_odd", "rope.dimension_count_swa", 15, "rope.dimension_count_swa is 15; an even");
  number("fewer_turned", "rope.dimension_count", 16,
         "rope_freqs.weight has the shape [16], but the header's numbers ask for [8]");
  number("input_too_wide", "embedding_length_per_layer_input", 0x7fffffff,
         "embedding_length_per_layer_input is 2147483647; expected 0 to 149796");
  number("other_input_width", "embedding_length_per_layer_input", 16,
         "per_layer_token_embd.weight has the shape [224, 512], but the header's");
  number("input_width_of_no_tensor", "embedding_length_per_layer_input", 149796,
         "per_layer_token_embd.weight has the shape");
  for (const char* name :
       {"rope_freqs.weight", "per_layer_token_embd.weight", "per_layer_model_proj.weight",
        "per_layer_proj_norm.weight", "blk.4.inp_gate.weight", "blk.0.proj.weight",
        "blk.6.post_norm.weight", "blk.2.attn_k.weight", "blk.2.attn_k_norm.weight",
        "blk.3.attn_q_norm.weight", "blk.3.post_attention_norm.weight",
        "blk.5.post_ffw_norm.weight"}) {
    family.without_tensor(name);
  }
  family.add("rows_of_inputs", "per_layer_token_embd.weight has the shape [224, 511]",
             [](GgufBuilder& f) { f.find_tensor("per_layer_token_embd.weight").dims[1] = 511; });
  family.add("scale_of_two", "blk.0.layer_output_scale.weight has the shape [2]",
             [](GgufBuilder& f) {
               f.tensor("blk.0.layer_output_scale.weight", Type::F32, {2}, std::string(8, '\0'));
             });
  family.add("factor_nan", "rope_freqs.weight has a number that is NaN or infinite",
             [&](GgufBuilder& f) {
               f.find_tensor("rope_freqs.weight").data.replace(4, 4, bytes_of(nan));
             });
  family.add("widths_too_few", "feed_forward_length has 6 entries", [](GgufBuilder& f) {
    f.kv_array("gemma4.feed_forward_length", ValueType::i32, std::vector<int32_t>(6, 96));
  });
  cases.level(Level::model, Code::unsupported_model);
  number("value_length", "attention.value_length_swa", 8, "keys have 16 elements a head and");
  number("no_inputs", "embedding_length_per_layer_input", 0, "per_layer_token_embd.weight");
  family.add("mixture", "the model is a mixture of experts of the architecture gemma4",
             [](GgufBuilder& f) {
               f.kv_u32("gemma4.expert_count", 8).kv_u32("gemma4.expert_used_count", 2);
               f.tensor("blk.0.ffn_gate_inp.weight", Type::F32, {64, 8},
                        std::string(size_t{4} * 64 * 8, '\0'));
             });
  family.add("experts_without_a_router", "the model is a mixture of 8 experts",
             [](GgufBuilder& f) { f.kv_u32("gemma4.expert_count", 8); });
  family.add("draft_head", "gemma4-assistant",
             [](GgufBuilder& f) { f.kv_string("general.architecture", "gemma4-assistant"); });
}

void lfm2(Cases cases) {
  FamilyCases family(cases, "lfm2-odd-f32");
  family.without("attention.layer_norm_rms_epsilon");
  family.without("shortconv.l_cache");
  for (const uint32_t n : {0u, 1u, 65u, 0xffffffffu}) {
    family.add(concat("conv_tokens_", n), concat("shortconv.l_cache is ", n, "; expected 2 to 64"),
               [&](GgufBuilder& f) { f.kv_u32("lfm2.shortconv.l_cache", n); });
  }
  family.add("other_conv_tokens",
             "shortconv.conv.weight has the shape [5, 40], but the header's numbers ask for [4, 40",
             [](GgufBuilder& f) { f.kv_u32("lfm2.shortconv.l_cache", 4); });
  const auto kv_heads = [&](std::string_view name, std::string says, std::vector<int32_t> heads) {
    family.add(name, std::move(says), [&](GgufBuilder& f) {
      f.kv_array("lfm2.attention.head_count_kv", ValueType::i32, heads);
    });
  };
  kv_heads("kv_heads_too_few", "head_count_kv has 6 entries", {0, 0, 1, 0, 0, 1});
  kv_heads("kv_heads_negative", "head_count_kv is not an array of integers",
           {0, 0, 1, 0, 0, -1, 0});
  kv_heads("kv_heads_do_not_divide", "5 query heads over 2 key heads", {0, 0, 1, 0, 0, 2, 0});
  kv_heads("kv_heads_of_a_convolution", "no tensor blk.0.attn_", {1, 0, 1, 0, 0, 1, 0});
  kv_heads("no_kv_heads_of_attention", "no tensor blk.2.shortconv.", {0, 0, 0, 0, 0, 1, 0});
  family.add("window_2_31", "attention.sliding_window is 21474",
             [](GgufBuilder& f) { f.kv_u32("lfm2.attention.sliding_window", 1u << 31); });
  for (const char* name :
       {"blk.0.shortconv.conv.weight", "blk.1.shortconv.in_proj.weight",
        "blk.3.shortconv.out_proj.weight", "blk.2.attn_q_norm.weight", "token_embd_norm.weight"}) {
    family.without_tensor(name);
  }
  family.add("rows_of_in_proj", "blk.1.shortconv.in_proj.weight has the shape [40, 119]",
             [](GgufBuilder& f) { f.find_tensor("blk.1.shortconv.in_proj.weight").dims[1] = 119; });
  family.add("kernel_transposed", "blk.0.shortconv.conv.weight has the shape [40, 5]",
             [](GgufBuilder& f) {
               f.find_tensor("blk.0.shortconv.conv.weight").dims = {40, 5};
             });
  family.add(
      "kernel_nan", "blk.0.shortconv.conv.weight has a number that is NaN or infinite",
      [](GgufBuilder& f) {
        f.find_tensor("blk.0.shortconv.conv.weight").data.replace(400, 4, bytes_of(std::nanf("")));
      });
  family.add("causal_as_number", "lfm2.attention.causal",
             [](GgufBuilder& f) { f.kv_u32("lfm2.attention.causal", 0); });
  cases.level(Level::model, Code::unsupported_type);
  family.add("kernel_quantized", "blk.0.shortconv.conv.weight", [](GgufBuilder& f) {
    f.kv_u32("lfm2.shortconv.l_cache", 32);
    f.tensor("blk.0.shortconv.conv.weight", Type::Q8_0, {32, 40}, std::string(34 * 40, '\0'));
  });
  cases.level(Level::model, Code::unsupported_model);
  family.add("both_ways", "lfm2.attention.causal is false", [](GgufBuilder& f) {
    f.kv_raw("lfm2.attention.causal", static_cast<uint32_t>(ValueType::boolean),
             std::string(1, '\0'));
  });
}

void qwen35(Cases cases) {
  FamilyCases family(cases, "qwen35-odd-f32");
  const auto u32 = [&](std::string_view key, uint32_t value, std::string says) {
    family.add(concat(key, "_", value), std::move(says),
               [&](GgufBuilder& f) { f.kv_u32(concat("qwen35.", key), value); });
  };
  const auto out_of_bounds = [&](std::string_view key, uint32_t value) {
    u32(key, value, concat("qwen35.", key, " is ", value, "; expected"));
  };
  for (const char* key :
       {"attention.layer_norm_rms_epsilon", "rope.dimension_sections", "ssm.conv_kernel",
        "ssm.state_size", "ssm.group_count", "ssm.time_step_rank", "ssm.inner_size"})
    family.without(key);
  for (const uint32_t n : {0u, 1u, 9u, 0xffffffffu}) out_of_bounds("ssm.conv_kernel", n);
  for (const char* key : {"ssm.state_size", "ssm.group_count", "ssm.time_step_rank",
                          "ssm.inner_size", "full_attention_interval"}) {
    for (const uint32_t n : {0u, 0xffffffffu}) out_of_bounds(key, n);
  }
  u32("ssm.inner_size", 145, "ssm.inner_size is 145, but 3 value heads have 48 elements each");
  u32("ssm.state_size", 64, "ssm.inner_size is 144, but 3 value heads have 64 elements each");
  u32("ssm.time_step_rank", 1u << 20, "but 1048576 value heads have 48 elements each");
  u32("ssm.group_count", 2, "3 value heads share 2 key heads");
  u32("ssm.group_count", 4, "3 value heads share 4 key heads");
  u32("ssm.conv_kernel", 5, "ssm_conv1d.weight has the shape [4, 240], but");
  out_of_bounds("nextn_predict_layers", 5);
  family.add("state_of_2_44_floats", "blk.0.attn_qkv.weight has the shape", [](GgufBuilder& f) {
    f.kv_u32("qwen35.ssm.state_size", 256).kv_u32("qwen35.ssm.time_step_rank", 4096);
    f.kv_u32("qwen35.ssm.inner_size", 1u << 20);
  });
  const auto recurrent = [&](std::string_view name, std::string says, ValueType type,
                             std::vector<uint8_t> layers) {
    family.add(name, std::move(says), [&](GgufBuilder& f) {
      f.kv_array("qwen35.attention.recurrent_layers", type, layers);
    });
  };
  const std::string no_array = "recurrent_layers is no array of true and false, one for each of 5";
  recurrent("recurrent_layers_too_few", no_array, ValueType::boolean, {1, 0, 1, 0});
  recurrent("recurrent_layers_too_many", no_array, ValueType::boolean, {1, 0, 1, 0, 0, 0});
  recurrent("recurrent_layers_as_numbers", no_array, ValueType::u8, {1, 0, 1, 0, 0});
  recurrent("recurrent_layers_swapped", "blk.0.attn_qkv.weight has the shape", ValueType::boolean,
            {0, 1, 1, 0, 0});
  family.add("recurrent_layers_as_number", no_array,
             [](GgufBuilder& f) { f.kv_u32("qwen35.attention.recurrent_layers", 1); });
  family.add("three_sections", "rope.dimension_sections is wrong; an array of 4",
             [](GgufBuilder& f) {
               f.kv_array<int32_t>("qwen35.rope.dimension_sections", ValueType::i32, {1, 1, 1});
             });
  for (const char* name :
       {"blk.0.attn_gate.weight", "blk.0.ssm_a", "blk.2.ssm_dt.bias", "blk.0.ssm_conv1d.weight",
        "blk.2.ssm_norm.weight", "blk.2.ssm_out.weight", "blk.1.attn_q_norm.weight",
        "blk.3.post_attention_norm.weight"})
    family.without_tensor(name);
  family.add("rows_without_gates", "blk.1.attn_q.weight has the shape [40, 96], but",
             [](GgufBuilder& f) { f.find_tensor("blk.1.attn_q.weight").dims[1] = 96; });
  family.add("decay_nan", "blk.0.ssm_a has a number that is NaN or infinite", [](GgufBuilder& f) {
    f.find_tensor("blk.0.ssm_a").data.replace(4, 4, bytes_of(std::nanf("")));
  });
  cases.level(Level::model, Code::unsupported_model);
  for (const uint32_t size : {24u, 272u}) {
    family.add(concat("heads_of_", size), concat("ssm.state_size is ", size, "; Sluice computes"),
               [&](GgufBuilder& f) {
                 f.kv_u32("qwen35.ssm.state_size", size).kv_u32("qwen35.ssm.inner_size", 3 * size);
               });
  }
  u32("attention.key_length", 32, "keys have 32 elements a head and values 24");
  u32("nextn_predict_layers", 0, "blk.4.nextn.");
  for (const char* other : {"qwen35moe", "qwen3next"}) {
    family.add(other, concat("architecture is \"", other, "\""),
               [&](GgufBuilder& f) { f.kv_string("general.architecture", other); });
  }
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
  cases.model("tokenizer_unknown", "bert",
              [](GgufBuilder& f) { f.kv_string("tokenizer.ggml.model", "bert"); });
}

}  // namespace

void add_model_hazards(Cases& cases) {
  configuration(cases.level(Level::model));
  rope(cases);
  weights(cases);
  gpt2(cases);
  gemma3(cases);
  gemma4(cases);
  lfm2(cases);
  qwen35(cases);
  vocabulary(cases);
}

}  // namespace sluice
