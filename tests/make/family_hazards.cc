// Files that are wrong for their family.
#include <cmath>
#include <limits>

#include "base/format.h"
#include "hazard_cases.h"
#include "tiny_models.h"

namespace sluice {
namespace {

using Level = Hazard::Level;

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

}  // namespace

void add_family_hazards(Cases& cases) {
  add_encoder_hazards(cases);
  gpt2(cases.level(Level::model));
  gemma3(cases);
  gemma4(cases);
  lfm2(cases);
  qwen35(cases);
}

}  // namespace sluice
