// Files of encoders that are wrong for their family.
#include <cmath>

#include "hazard_cases.h"

namespace sluice {
namespace {

using Level = Hazard::Level;

void numbers(FamilyCases& family, const std::string& a, const char* epsilon) {
  family.without(epsilon);
  family.f32("eps_nan", epsilon, std::nanf(""), " is not a finite number");
  family.f32("eps_1", epsilon, 1, " is 1; expected 0 to below 1");
  family.add("no_heads", "attention.head_count is 0",
             [&](GgufBuilder& f) { f.kv_u32(a + "attention.head_count", 0); });
  family.add("wide", "embedding_length is 4294967295",
             [&](GgufBuilder& f) { f.kv_u32(a + "embedding_length", 0xffffffffu); });
  family.add("pools_by_9", a + "pooling_type is 9; expected 0 to 3",
             [&](GgufBuilder& f) { f.kv_u32(a + "pooling_type", 9); });
  family.add("causal_as_number", a + "attention.causal",
             [&](GgufBuilder& f) { f.kv_u32(a + "attention.causal", 0); });
}

// Rerankers, and layers that don't see as those of the family.
void uses(FamilyCases& family, const std::string& a) {
  family.add("ranks", a + "pooling_type is 4",
             [&](GgufBuilder& f) { f.kv_u32(a + "pooling_type", 4); });
  family.add("with_classes", "the file has the tensor cls.weight: the model ranks texts",
             [](GgufBuilder& f) {
               f.tensor("cls.weight", Type::F32, {64, 1}, std::string(size_t{4} * 64, '\0'));
             });
}

void sees_back(FamilyCases& family, const std::string& a) {
  family.add("sees_back", a + "attention.causal is true: layers see only what was before",
             [&](GgufBuilder& f) { f.kv_bool(a + "attention.causal", true); });
}

void shape(FamilyCases& family, const std::string& tensor, size_t dim, uint64_t n,
           const std::string& says) {
  family.add(concat("shape_of_", tensor), concat(tensor, " has the shape ", says),
             [&](GgufBuilder& f) { f.find_tensor(tensor).dims[dim] = n; });
}

void bert(Cases& cases) {
  FamilyCases family(cases.level(Level::model), "bert-masks-f32");
  const std::string a = "bert.";
  numbers(family, a, "attention.layer_norm_epsilon");
  for (const char* name :
       {"token_embd_norm.weight", "token_embd_norm.bias", "position_embd.weight",
        "blk.0.attn_q.weight", "blk.0.attn_output.weight", "blk.1.attn_output_norm.weight",
        "blk.0.attn_output_norm.bias", "blk.1.ffn_up.weight", "blk.0.ffn_down.weight",
        "blk.1.layer_output_norm.weight", "blk.0.layer_output_norm.bias", "mlm.dense.bias",
        "mlm.norm.weight", "mlm.norm.bias", "mlm.bias"}) {
    family.without_tensor(name);
  }
  shape(family, "position_embd.weight", 1, 511, "[64, 511]");
  shape(family, "token_types.weight", 0, 32, "[32, 2]");
  shape(family, "blk.0.ffn_up.weight", 1, 95, "[64, 95]");
  shape(family, "blk.1.attn_k.bias", 0, 63, "[63]");
  shape(family, "mlm.dense.weight", 1, 63, "[64, 63]");
  shape(family, "mlm.bias", 0, 511, "[511]");
  family.add("more_positions_than_rows", "position_embd.weight has the shape [64, 512], but",
             [](GgufBuilder& f) { f.kv_u32("bert.context_length", 1024); });
  family.add("bias_nan", "mlm.bias has a number that is NaN or infinite", [](GgufBuilder& f) {
    f.find_tensor("mlm.bias").data.replace(400, 4, bytes_of(std::nanf("")));
  });
  cases.level(Level::model, Code::unsupported_model);
  uses(family, a);
  sees_back(family, a);
  family.add("half_a_head", "mlm.dense.bias",
             [](GgufBuilder& f) { f.remove_tensor("mlm.dense.weight"); });
  for (const auto& [other, is] : {std::pair{"jina-bert-v2", "ALiBi"},
                                  {"jina-bert-v3", "adapters"},
                                  {"eurobert", "EuroBERT"},
                                  {"neo-bert", "NeoBERT"},
                                  {"nomic-bert-moe", "mixture of experts"},
                                  {"gemma-embedding2", "gemma-embedding"},
                                  {"t5", "decoder"},
                                  {"t5encoder", "T5"}}) {
    family.add(concat("is_", other), is,
               [&](GgufBuilder& f) { f.kv_string("general.architecture", other); });
  }
}

void nomic(Cases& cases) {
  FamilyCases family(cases.level(Level::model), "nomic-bert-f32");
  const std::string a = "nomic-bert.";
  numbers(family, a, "attention.layer_norm_epsilon");
  family.f32("base_0", "rope.freq_base", 0, " is 0; a number above 0");
  for (const char* name : {"blk.0.attn_qkv.weight", "blk.1.ffn_gate.weight",
                           "blk.0.attn_output_norm.bias", "blk.1.layer_output_norm.weight"}) {
    if (std::string_view(name) == "blk.0.attn_qkv.weight") {
      family.add("without_qkv", "no tensor blk.0.attn_q.weight",
                 [&](GgufBuilder& f) { f.remove_tensor(name); });
      continue;
    }
    family.without_tensor(name);
  }
  shape(family, "blk.1.attn_qkv.weight", 1, 191, "[64, 191]");
  cases.level(Level::model, Code::unsupported_model);
  uses(family, a);
  sees_back(family, a);
  family.add("mixture", "mixture of experts (moe_every_n_layers)",
             [&](GgufBuilder& f) { f.kv_u32(a + "moe_every_n_layers", 2); });
}

void modern(Cases& cases) {
  FamilyCases family(cases.level(Level::model), "modern-bert-f32");
  const std::string a = "modern-bert.";
  numbers(family, a, "attention.layer_norm_epsilon");
  family.f32("base_nan", "rope.freq_base_swa", std::nanf(""), " is not a finite number");
  family.add("window_2_31", "attention.sliding_window is 21474",
             [&](GgufBuilder& f) { f.kv_u32(a + "attention.sliding_window", 1u << 31); });
  family.add("pattern_0", "sliding_window_pattern is 0; expected 1 to",
             [&](GgufBuilder& f) { f.kv_u32(a + "attention.sliding_window_pattern", 0); });
  for (const char* name : {"blk.1.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight",
                           "token_embd_norm.weight", "blk.4.ffn_down.weight"}) {
    family.without_tensor(name);
  }
  shape(family, "blk.2.ffn_down.weight", 0, 95, "[95, 64]");
  family.add("rows_of_up", "no tensor blk.0.ffn_gate.weight",
             [](GgufBuilder& f) { f.find_tensor("blk.0.ffn_up.weight").dims[1] = 96; });
  cases.level(Level::model, Code::unsupported_model);
  uses(family, a);
  sees_back(family, a);
  family.add("activation", "hidden_activation is \"relu\"",
             [&](GgufBuilder& f) { f.kv_string(a + "hidden_activation", "relu"); });
}

void gemma(Cases& cases) {
  FamilyCases family(cases.level(Level::model), "gemma-embedding-f32");
  const std::string a = "gemma-embedding.";
  numbers(family, a, "attention.layer_norm_rms_epsilon");
  family.without("attention.sliding_window");
  for (const auto& [key, value, says] :
       {std::tuple{"dense_2_feat_in", 32u, "dense_2_feat_in is 32; expected 64 to 64"},
        {"dense_2_feat_out", 95u, "dense_2.weight has the shape [64, 96]"},
        {"dense_2_feat_out", 0u, "dense_2_feat_out is 0; expected 1"},
        {"dense_2_feat_out", 0xffffffffu, "dense_2_feat_out is 4294967295"},
        {"dense_3_feat_in", 64u, "dense_3_feat_in is 64; expected 96 to 96"},
        {"dense_3_feat_out", 65u, "dense_3.weight has the shape [96, 64]"}}) {
    family.add(concat(key, "_", value), says, [&](GgufBuilder& f) { f.kv_u32(a + key, value); });
  }
  family.add("dense_3_alone", "dense_3_feat_in is 96; expected 64 to 64",
             [](GgufBuilder& f) { f.remove_tensor("dense_2.weight"); });
  for (const char* name : {"output_norm.weight", "blk.0.attn_q_norm.weight"})
    family.without_tensor(name);
  cases.level(Level::model, Code::unsupported_model);
  uses(family, a);
  sees_back(family, a);
  family.add("dense_4", "dense_4.weight", [](GgufBuilder& f) {
    f.tensor("dense_4.weight", Type::F32, {64, 1}, std::string(size_t{4} * 64, '\0'));
  });
}

void lfm2(Cases& cases) {
  FamilyCases family(cases.level(Level::model), "lfm2-embed-f32");
  family.add("embed_even_tokens", "shortconv.l_cache is 4; an odd number is expected",
             [](GgufBuilder& f) { f.kv_u32("lfm2.shortconv.l_cache", 4); });
  family.add("embed_other_tokens", "shortconv.conv.weight has the shape [3, 64], but",
             [](GgufBuilder& f) { f.kv_u32("lfm2.shortconv.l_cache", 5); });
  for (const uint32_t n : {0u, 31u, 0xffffffffu}) {
    family.add(concat("embed_length_out_", n), concat("embedding_length_out is ", n),
               [&](GgufBuilder& f) { f.kv_u32("lfm2.embedding_length_out", n); });
  }
  shape(family, "dense_2.bias", 0, 31, "[31]");
  shape(family, "dense_2.weight", 0, 32, "[32, 32]");
  cases.level(Level::model, Code::unsupported_model);
  uses(family, "lfm2.");
}

// Text models whose layers would see both ways.
void others(Cases& cases) {
  for (const char* name : {"llama-f32", "qwen3-q8_0", "gemma3-q8_0", "qwen35-odd-f32"}) {
    FamilyCases family(cases.level(Level::model, Code::unsupported_model), name);
    const std::string a = tiny_model_named(name).architecture + ".";
    family.add("sees_both_ways", a + "attention.causal is false: layers see both ways",
               [&](GgufBuilder& f) { f.kv_bool(a + "attention.causal", false); });
  }
}

}  // namespace

void add_encoder_hazards(Cases& cases) {
  bert(cases);
  nomic(cases);
  modern(cases);
  gemma(cases);
  lfm2(cases);
  others(cases);
}

}  // namespace sluice
