// The types that llama-quantize gives the tensors of models: all of its plans in ../shared, if that
// is there, and what each rule does.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.h"
#include "files/gguf_writer.h"
#include "files/quantize/name_pattern.h"
#include "files/quantize/quantize.h"
#include "files/quantize_answers.h"
#include "make/gguf_builder.h"
#include "quant/quant.h"

namespace sluice {
namespace {

using nlohmann::json;

const char* type_name(Type type) { return file_type(static_cast<uint32_t>(type)).name; }

void add_tensor(Gguf& gguf, const std::string& name, const std::vector<uint64_t>& dims,
                Type type = Type::F32) {
  TensorInfo& tensor = gguf.tensors.emplace_back();
  tensor.name = name;
  tensor.type = static_cast<uint32_t>(type);
  tensor.n_dims = static_cast<uint32_t>(dims.size());
  std::ranges::copy(dims, tensor.dims);
}

struct Shape {
  std::string architecture = "llama";
  uint32_t layers = 32, heads = 32, kv_heads = 32, experts = 0;
};

Gguf model_of(const Shape& shape) {
  Gguf gguf;
  set_value(gguf, "general.architecture", text_value(shape.architecture));
  const auto set = [&](std::string_view key, uint32_t value) {
    set_value(gguf, concat(shape.architecture, ".", key), u32_value(value));
  };
  set("block_count", shape.layers);
  set("attention.head_count", shape.heads);
  set("attention.head_count_kv", shape.kv_heads);
  if (shape.experts > 0) set("expert_count", shape.experts);
  return gguf;
}

// A model with these tensors in each layer, 256 columns wide.
Gguf model_with(const Shape& shape, const std::vector<std::string>& kinds) {
  Gguf gguf = model_of(shape);
  add_tensor(gguf, "token_embd.weight", {256, 100});
  add_tensor(gguf, "output.weight", {256, 100});
  for (uint32_t i = 0; i < shape.layers; ++i)
    for (const std::string& kind : kinds)
      add_tensor(gguf, concat("blk.", i, ".", kind), {256, 256});
  EXPECT_TRUE(place_tensors(gguf));
  return gguf;
}

// The types of the tensors whose names end so, in the new file's order: "Q4_K Q6_K".
std::string types_of(const Gguf& source, const QuantizePlan& plan, std::string_view ending) {
  std::string out;
  for (const QuantizePlan::Tensor& tensor : plan.tensors)
    if (source.tensors[tensor.source].name.ends_with(ending))
      out += concat(out.empty() ? "" : " ", type_name(tensor.to));
  return out;
}

std::string planned(const Gguf& source, const QuantizeOptions& options, std::string_view ending) {
  const auto plan = plan_quantization(source, options);
  return plan ? types_of(source, *plan, ending) : plan.error().message;
}

// --- llama-quantize's own plans ------------------------------------------------------------------

std::vector<uint64_t> dims_of(const json& dims) { return dims.get<std::vector<uint64_t>>(); }

// Compares the plan with llama-quantize's for one mix. Returns how many differ.
int differences(const Gguf& source, const std::string& type, const Importance* importance,
                const json& expected) {
  const auto plan = plan_quantization(source, {.type = type, .importance = importance});
  if (!plan) {
    ADD_FAILURE() << type << ": " << plan.error().message;
    return 1;
  }
  int wrong = 0;
  for (const QuantizePlan::Tensor& tensor : plan->tensors) {
    const std::string& name = source.tensors[tensor.source].name;
    const bool in_layer = name.starts_with("blk.");
    const size_t dot = in_layer ? name.find('.', 4) : 0;
    const std::string rest = in_layer ? name.substr(dot + 1) : name;
    const std::string kind = rest.substr(0, rest.rfind('.'));
    std::string wanted = "F32";
    if (expected.contains(kind) && expected[kind].is_string()) {
      wanted = expected[kind].get<std::string>();
    } else if (expected.contains(kind)) {
      const int layer = std::stoi(name.substr(4));
      for (const auto& [each, layers] : expected[kind].items())
        for (const json& one : layers)
          if (one.get<int>() == layer) wanted = each;
    }
    if (wanted == type_name(tensor.to)) continue;
    ++wrong;
    ADD_FAILURE() << type << (importance != nullptr ? " with importance" : "") << ": " << name
                  << " is " << type_name(tensor.to) << " and not " << wanted;
  }
  return wrong;
}

TEST(QuantizePlan, AreThoseOfLlamaQuantize) {
  if (!quantize_answers().is_object()) GTEST_SKIP() << "no ../shared/models/quantize.json";
  const Importance importance;
  int plans = 0, wrong = 0;
  for (const auto& [name, model] : quantize_answers()["plans"].items()) {
    Shape shape{model["architecture"].get<std::string>(), model["layers"].get<uint32_t>(),
                model["heads"].get<uint32_t>(), model["kv_heads"].get<uint32_t>(),
                model["experts"].get<uint32_t>()};
    Gguf source = model_of(shape);
    for (const auto& [kind, dims] : model["tensors"].items())
      add_tensor(source, kind + ".weight", dims_of(dims));
    for (uint32_t i = 0; i < shape.layers; ++i)
      for (const auto& [kind, dims] : model["tensors_a_layer"].items())
        add_tensor(source, concat("blk.", i, ".", kind, ".weight"), dims_of(dims));
    ASSERT_TRUE(place_tensors(source));
    const json& other = model["mix_with_imatrix_where_it_differs"];
    for (const auto& [type, expected] : model["mix"].items()) {
      SCOPED_TRACE(name);
      if (expected.contains("error")) {
        EXPECT_FALSE(plan_quantization(source, {.type = type})) << type;
        plans += 2;
        continue;
      }
      wrong += differences(source, type, nullptr, expected);
      wrong +=
          differences(source, type, &importance, other.contains(type) ? other[type] : expected);
      plans += 2;
      ASSERT_LT(wrong, 20);
    }
  }
  EXPECT_EQ(plans, 704);
}

// --- the rules -----------------------------------------------------------------------------------

TEST(QuantizePlan, GivesMoreBitsToSomeLayers) {
  const Gguf source = model_with({.layers = 8}, {"attn_v.weight", "ffn_down.weight"});
  EXPECT_EQ(planned(source, {.type = "q4_k"}, "attn_v.weight"),
            "Q6_K Q4_K Q4_K Q6_K Q4_K Q4_K Q6_K Q6_K");
  EXPECT_EQ(planned(source, {.type = "Q4_K_S"}, "attn_v.weight"),
            "Q5_K Q5_K Q5_K Q5_K Q4_K Q4_K Q4_K Q4_K");
  EXPECT_EQ(planned(source, {.type = "Q4_K_S"}, "ffn_down.weight"),
            "Q5_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K");
  EXPECT_EQ(planned(source, {.type = "Q4_K_M", .pure = true}, "attn_v.weight"),
            "Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K Q4_K");
  EXPECT_EQ(planned(source, {.type = "Q4_K_M"}, "output.weight"), "Q6_K");
  EXPECT_EQ(planned(source, {.type = "Q4_K_M", .pure = true}, "token_embd.weight"), "Q4_K");
  EXPECT_EQ(planned(source, {.type = "F16"}, "output.weight"), "F16");
}

// Of models that count as 70B.
TEST(QuantizePlan, GivesMoreBitsToSmallValues) {
  const auto first_of = [](const char* architecture, uint32_t layers, uint32_t kv_heads) {
    const Gguf source = model_with({architecture, layers, 32, kv_heads, 0}, {"attn_v.weight"});
    return planned(source, {.type = "Q3_K_S"}, "blk.0.attn_v.weight");
  };
  EXPECT_EQ(first_of("llama", 80, 8), "Q5_K");
  EXPECT_EQ(first_of("llama", 80, 32), "Q3_K");
  EXPECT_EQ(first_of("llama", 64, 8), "Q3_K");
  EXPECT_EQ(first_of("qwen2", 80, 32), "Q5_K");
  EXPECT_EQ(first_of("qwen3", 80, 8), "Q3_K");
}

TEST(QuantizePlan, ListsTensorsAsTheNewFileHasThem) {
  Gguf source = model_of({});
  for (const char* name : {"blk.10.attn_q.weight", "blk.2.attn_v.weight", "output_norm.weight",
                           "blk.2.attn_q.weight", "a.weight"})
    add_tensor(source, name, {256, 256, 1, 1});
  ASSERT_TRUE(place_tensors(source));
  const auto plan = plan_quantization(source, {.type = "Q8_0"});
  ASSERT_TRUE(plan);
  std::vector<std::string> names;
  for (const TensorInfo& tensor : plan->files[0].tensors) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.n_dims, 2u);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"a.weight", "output_norm.weight", "blk.2.attn_q.weight",
                                      "blk.2.attn_v.weight", "blk.10.attn_q.weight"}));
}

TEST(QuantizePlan, WritesItsKeysLast) {
  Gguf source = model_of({});
  set_value(source, "general.file_type", u32_value(1));
  set_value(source, "split.count", u32_value(1));
  set_value(source, "last", text_value("x"));
  ASSERT_TRUE(place_tensors(source));
  Importance importance;
  importance.datasets = {std::string(200, 'd'), "b"};
  importance.matrices.resize(3);
  importance.chunk_count = 7;
  const auto plan = plan_quantization(
      source, {.type = "Q4_K_M", .importance = &importance, .importance_file = "i.gguf"});
  ASSERT_TRUE(plan);
  std::vector<std::string> keys;
  for (const auto& [key, value] : plan->files[0].metadata) keys.push_back(key);
  ASSERT_EQ(keys.size(), 11u);
  EXPECT_EQ(std::vector<std::string>(keys.begin() + 4, keys.end()),
            (std::vector<std::string>{"last", "general.quantization_version", "general.file_type",
                                      "quantize.imatrix.file", "quantize.imatrix.dataset",
                                      "quantize.imatrix.entries_count",
                                      "quantize.imatrix.chunks_count"}));
  EXPECT_EQ(*plan->files[0].get_u64("general.file_type"), 15u);
  EXPECT_EQ(*plan->files[0].get_string("quantize.imatrix.file"), "i.gguf");
  EXPECT_EQ((*plan->files[0].get_string("quantize.imatrix.dataset"))->size(), 127u);
  EXPECT_EQ(*plan->files[0].get_u64("quantize.imatrix.entries_count"), 3u);
}

TEST(QuantizePlan, LeavesSmallAndOtherTensors) {
  Gguf source = model_of({});
  for (const char* name :
       {"blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "position_embd.weight",
        "token_types.weight", "blk.0.ssm_conv1d.weight", "blk.0.shortconv.conv.weight",
        "per_layer_model_proj.weight", "blk.0.attn_rel_b.weight", "blk.0.attn_q.bias"})
    add_tensor(source, name, {256, 256});
  add_tensor(source, "row.weight", {256, 1});
  add_tensor(source, "output.weight", {256, 10});
  ASSERT_TRUE(place_tensors(source));
  const auto plan = plan_quantization(source, {.type = "Q8_0", .leave_output = true});
  ASSERT_TRUE(plan);
  for (const QuantizePlan::Tensor& tensor : plan->tensors)
    EXPECT_EQ(tensor.to, Type::F32) << source.tensors[tensor.source].name;
  EXPECT_EQ(planned(source, {.type = "Q8_0"}, "output.weight"), "Q8_0");
}

TEST(QuantizePlan, TakesAnotherTypeWhereRowsAreNoWholeBlocks) {
  const auto with_columns = [](uint64_t columns, const char* type) {
    Gguf source = model_of({});
    add_tensor(source, "blk.0.attn_q.weight", {columns, 4});
    EXPECT_TRUE(place_tensors(source));
    const auto plan = plan_quantization(source, {.type = type});
    return plan ? concat(type_name(plan->tensors[0].to),
                         plan->tensors[0].instead_of ? " instead" : "")
                : std::string(code_name(plan.error().code));
  };
  EXPECT_EQ(with_columns(64, "Q4_K_S"), "Q5_0 instead");
  EXPECT_EQ(with_columns(64, "Q5_K_S"), "Q5_1 instead");
  EXPECT_EQ(with_columns(64, "Q6_K"), "Q8_0 instead");
  EXPECT_EQ(with_columns(64, "Q3_K_S"), "Q4_0 instead");
  EXPECT_EQ(with_columns(64, "TQ1_0"), "Q4_0 instead");
  EXPECT_EQ(with_columns(64, "IQ4_XS"), "IQ4_NL instead");
  EXPECT_EQ(with_columns(48, "IQ4_XS"), "F16 instead");
  EXPECT_EQ(with_columns(48, "Q8_0"), "F16 instead");
  EXPECT_EQ(with_columns(64, "Q8_0"), "Q8_0");
  EXPECT_EQ(with_columns(64, "Q1_0"), "unsupported_type");
}

TEST(QuantizePlan, LetsTensorsHaveTheirOwnTypes) {
  const Gguf source = model_with({.layers = 8}, {"attn_v.weight", "ffn_down.weight"});
  QuantizeOptions options{.type = "Q4_K_M"};
  options.tensor_types = {*parse_tensor_type("BLK\\.[01]\\.attn_v=q8_0"),
                          *parse_tensor_type("attn_v=F16")};
  EXPECT_EQ(planned(source, options, "attn_v.weight"), "Q8_0 Q8_0 F16 F16 F16 F16 F16 F16");
  // As in llama-quantize, the mix counts only the tensors whose type it chooses.
  options.tensor_types = {*parse_tensor_type("blk.0.attn_v=q8_0")};
  EXPECT_EQ(planned(source, options, "attn_v.weight"), "Q8_0 Q6_K Q4_K Q4_K Q6_K Q4_K Q4_K Q6_K");
  // A rule without effect is a mistake.
  const auto refusal = [&](const char* type, const char* rule) {
    QuantizeOptions wrong{.type = type};
    wrong.tensor_types = {*parse_tensor_type(rule)};
    const auto plan = plan_quantization(source, wrong);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_EQ(refusal("Q4_K_M", "attn_v=Q8_0"), "");
  EXPECT_NE(refusal("Q4_K_M", "atn_v=Q8_0").find("'atn_v' fits no tensor"), std::string::npos);
  EXPECT_NE(refusal("F16", "attn_v=Q8_0").find("with F16 all tensors"), std::string::npos);
  for (const char* wrong : {"attn_v", "=q8_0", "attn_v=", "attn_v=q9", "attn_v=I32", "a(=q8_0"})
    EXPECT_EQ(parse_tensor_type(wrong).error().code, Code::invalid_argument) << wrong;
  options.type = "Q9";
  EXPECT_EQ(plan_quantization(source, options).error().code, Code::invalid_argument);
}

TEST(QuantizePlan, RefusesLayersThatAModelOfExpertsLacks) {
  Gguf source = model_of({.layers = 2, .experts = 4});
  add_tensor(source, "blk.2.ffn_down_exps.weight", {256, 256, 4});
  ASSERT_TRUE(place_tensors(source));
  EXPECT_EQ(plan_quantization(source, {.type = "Q4_K_M"}).error().code, Code::bad_file);
}

// What can be planned, but not done.
TEST(QuantizePlan, SaysWhatCantBeDone) {
  Gguf source = model_with({.layers = 1}, {"attn_q.weight"});
  const auto code = [&](const QuantizeOptions& options) {
    const auto plan = plan_quantization(source, options);
    EXPECT_TRUE(plan);
    const Status can = check_quantization(source, *plan, options);
    return can ? std::string("it can") : std::string(code_name(can.error().code));
  };
  EXPECT_EQ(code({.type = "Q8_0"}), "it can");
  EXPECT_EQ(code({.type = "IQ2_XS"}), "unsupported_type");
  Importance importance;
  importance.matrices = {{"blk.0.attn_q.weight", 128, 1, std::vector<float>(128, 1.0f), {1}}};
  EXPECT_EQ(code({.type = "Q8_0", .importance = &importance}), "bad_file");
  for (TensorInfo& tensor : source.tensors) tensor.type = static_cast<uint32_t>(Type::Q8_0);
  ASSERT_TRUE(place_tensors(source));
  EXPECT_EQ(code({.type = "F16"}), "invalid_argument");
  EXPECT_EQ(code({.type = "F16", .allow_requantize = true}), "it can");
  EXPECT_EQ(code({.type = "Q8_0"}), "it can");
  for (TensorInfo& tensor : source.tensors) tensor.type = static_cast<uint32_t>(Type::IQ1_S);
  ASSERT_TRUE(place_tensors(source));
  EXPECT_EQ(code({.type = "F16", .allow_requantize = true}), "unsupported_type");
}

// --- patterns ------------------------------------------------------------------------------------

bool found(std::string_view pattern, std::string_view name) {
  const auto compiled = NamePattern::compile(pattern);
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled && compiled->found_in(name);
}

TEST(NamePattern, IsSearchedInTheName) {
  EXPECT_TRUE(found("attn_v", "blk.0.attn_v.weight"));
  EXPECT_FALSE(found("attn_v", "blk.0.attn_q.weight"));
  EXPECT_TRUE(found("", "a"));
  EXPECT_TRUE(found("^blk\\.(0|1[01]|2)\\.", "blk.11.attn_v.weight"));
  EXPECT_FALSE(found("^blk\\.(0|1[01]|2)\\.", "blk.12.attn_v.weight"));
  EXPECT_TRUE(found("\\.([0-9]|1[01257]|31)\\.attn_v", "blk.31.attn_v.weight"));
  EXPECT_TRUE(found("weight$", "a.weight"));
  EXPECT_FALSE(found("^weight", "a.weight"));
  EXPECT_TRUE(found("blk.\\d+.ffn_(up|down)(_exps)?\\.", "blk.3.ffn_down_exps.weight"));
  EXPECT_TRUE(found("a.*d.+f", "abcdef"));
  EXPECT_FALSE(found("a.*d.+f", "abcdf"));
  EXPECT_TRUE(found("^a{2,3}$", "aaa"));
  EXPECT_FALSE(found("^a{2,3}$", "aaaa"));
  EXPECT_FALSE(found("^a{2}$", "a"));
  EXPECT_TRUE(found("^(ab){2,}c$", "abababc"));
  EXPECT_TRUE(found("^(?:a|b)*?c$", "abbac"));
  EXPECT_TRUE(found("[^.a-y]", "a.z"));
  EXPECT_FALSE(found("[^.a-z]", "a.z"));
  EXPECT_TRUE(found("^[\\d\\]-]+$", "1]-"));
  EXPECT_TRUE(found("\\battn\\b", "blk.attn.x"));
  EXPECT_FALSE(found("\\battn\\b", "attn_v"));
  EXPECT_TRUE(found("\\Bn_v", "attn_v"));
  EXPECT_TRUE(found("(|a)+$", "b"));
  EXPECT_TRUE(found("^(a*)*$", "aaaa"));
}

TEST(NamePattern, RefusesWhatIsNoPattern) {
  for (const char* wrong : {"(", ")", "a)", "[a", "*", "a**", "a{2", "a{3,2}", "a{,2}", "\\", "\\1",
                            "(?=a)", "[b-a]", "[[:digit:]]", "a{10000}", "(a|*)", "^*b|+"})
    EXPECT_FALSE(NamePattern::compile(wrong)) << wrong;
  EXPECT_FALSE(NamePattern::compile(std::string(2000, 'a')));
  EXPECT_FALSE(NamePattern::compile(std::string(500, '(') + std::string(500, ')')));
}

// Searches with backtracking, and repeats of repeats, would take ages here.
TEST(NamePattern, TakesNoTimeForHostilePatterns) {
  EXPECT_FALSE(found("^(a+)+$", std::string(60, 'a') + "b"));
  EXPECT_FALSE(found("^((a*)*)*b", std::string(63, 'a')));
  std::string nested = "a";
  for (int i = 0; i < 40; ++i) nested = "(" + nested + ")*";
  EXPECT_TRUE(found("^" + nested + "$", std::string(63, 'a')));
  EXPECT_FALSE(NamePattern::compile("((((a{99}){99}){99}){99}){99}"));
  EXPECT_FALSE(NamePattern::compile("(((((){99}){99}){99}){99}){99}"));
}

}  // namespace
}  // namespace sluice
