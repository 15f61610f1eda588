// Conversions: types of weights and of files, and what must be refused.
#include "files/convert/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "files/made_conversion.h"

namespace sluice {
namespace {

using nlohmann::ordered_json;

// --- types ---------------------------------------------------------------------------------------

// All types of source give the same numbers, and so do all numbers of threads.
TEST(Convert, SourcesOfAllTypes) {
  const Converted f32 = convert_made(llama("F32"));
  for (const char* type : {"F64", "F16", "BF16"}) {
    const Converted other = convert_made(llama(type));
    EXPECT_EQ(other.bytes, f32.bytes) << type;
  }
  for (const Type type : {Type::Q8_0, Type::F16}) {
    const auto one = try_convert(llama().folder(), {type, ""}, 1);
    const auto three = try_convert(llama().folder(2), {type, ""}, 3);
    ASSERT_TRUE(one && three);
    for (const TensorInfo& tensor : one->header.tensors)
      EXPECT_EQ(one->values(tensor.name), three->values(tensor.name)) << tensor.name;
  }
}

// Matrices that are made in several pieces, plain and in another order of rows.
TEST(Convert, LargeMatrices) {
  constexpr uint64_t kMany = 1250, kRows = kMany * kHeadDim;  // 1.28 million numbers
  MadeModel m = llama();
  m.config.update(
      {{"num_attention_heads", kMany}, {"head_dim", kHeadDim}, {"num_hidden_layers", 1}});
  std::erase_if(m.tensors, [](const MadeTensor& t) { return t.name.starts_with(layer(1)); });
  const std::string at = layer(0) + "self_attn.";
  m.remove(at + "q_proj.weight");
  m.remove(at + "o_proj.weight");
  m.add(at + "q_proj.weight", {kRows, kWidth}, "BF16");
  m.add(at + "o_proj.weight", {kWidth, kRows}, "BF16");
  const Converted c = convert_made(m);
  EXPECT_TRUE(c.values("blk.0.attn_q.weight") ==
              paired(m.values(at + "q_proj.weight"), kMany, kWidth));
  EXPECT_TRUE(c.values("blk.0.attn_output.weight") == m.values(at + "o_proj.weight"));
  const auto one = try_convert(m.folder(), {Type::F32, ""}, 1);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->bytes == c.bytes);
}

TEST(Convert, NamesAreMadeOfTheFolders) {
  for (const auto& [folder_name, name] :
       {std::pair{"gemma-3-270m-it", "Gemma 3 270m It"}, std::pair{"SmolLM2-135M", "SmolLM2 135M"},
        std::pair{"phi-v1.5", "Phi v1.5"}, std::pair{"a_b", "A_B"}}) {
    MemoryFolder folder = llama().folder();
    folder.folder_name = folder_name;
    const auto plan = plan_conversion(folder, {});
    ASSERT_TRUE(plan);
    EXPECT_EQ(*plan->header().get_string("general.name"), name);
    EXPECT_EQ(plan->type(), Type::F16);
  }
}

TEST(Convert, TypesOfTensors) {
  MadeModel m = llama();
  m.config["intermediate_size"] = 40;  // rows that are no whole blocks
  for (uint64_t i = 0; i < kLayers; ++i) {
    for (const char* part : {"gate", "up", "down"})
      m.remove(concat(layer(i), "mlp.", part, "_proj.weight"));
    add_mlp(m, layer(i), "F32", 40);
  }
  const auto c = try_convert(m.folder(), {Type::Q8_0, ""});
  ASSERT_TRUE(c) << c.error().message;
  const auto type = [&](const char* name) {
    return static_cast<Type>(c->header.find_tensor(name)->type);
  };
  EXPECT_EQ(type("blk.0.ffn_up.weight"), Type::Q8_0);
  EXPECT_EQ(type("blk.0.ffn_down.weight"), Type::F16);
  EXPECT_EQ(type("blk.0.attn_norm.weight"), Type::F32);
  EXPECT_EQ(c->number("general.file_type"), 7u);
  EXPECT_EQ(*convert_type_named("q8_0"), std::optional(Type::Q8_0));
  EXPECT_EQ(*convert_type_named("auto"), std::optional<Type>());
  EXPECT_FALSE(convert_type_named("Q4_0"));
}

// Numbers of 8 bits with a scale for each block of a matrix, or for each row.
TEST(Convert, Fp8) {
  MadeModel m = llama();
  const std::string name = layer(0) + "mlp.up_proj.weight";  // [96, 64]
  std::string bytes;
  for (uint64_t i = 0; i < kFf * kWidth; ++i) bytes += static_cast<char>(i % 0x7f | (i & 1) << 7);
  m.tensor(name).bytes = bytes;
  m.tensor(name).type = "F8_E4M3";
  const auto value = [&](uint64_t i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const int exponent = byte >> 3 & 15, fraction = byte & 7;
    const double size =
        exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    return static_cast<float>(byte >= 0x80 ? -size : size);
  };
  Floats plain;
  for (uint64_t i = 0; i < kFf * kWidth; ++i) plain.push_back(value(i));
  EXPECT_EQ(convert_made(m).values("blk.0.ffn_up.weight"), plain);

  m.config["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {40, 48}}};
  expect_refused(m, Code::bad_file, "has no scales");
  m.add(name + "_scale_inv", {3, 2});
  Floats scales = m.values(name + "_scale_inv"), blocks;
  for (uint64_t i = 0; i < kFf * kWidth; ++i)
    blocks.push_back(value(i) * scales[i / kWidth / 40 * 2 + i % kWidth / 48]);
  EXPECT_EQ(convert_made(m).values("blk.0.ffn_up.weight"), blocks);
  m.config["quantization_config"]["weight_block_size"] = {128, 128};
  expect_refused(m, Code::bad_file, "the scales");

  m.remove(name + "_scale_inv");
  m.config["quantization_config"] = {{"quant_method", "compressed-tensors"},
                                     {"format", "float-quantized"}};
  m.add(name + "_scale", {kFf, 1});
  m.add(layer(0) + "mlp.up_proj.input_scale", {1});
  scales = m.values(name + "_scale");
  Floats rows;
  for (uint64_t i = 0; i < kFf * kWidth; ++i) rows.push_back(value(i) * scales[i / kWidth]);
  EXPECT_EQ(convert_made(m).values("blk.0.ffn_up.weight"), rows);
}

// One tensor is made of all experts, with one shape of scales.
TEST(ConvertRefuses, ExpertsWhoseScalesDiffer) {
  MadeModel experts = llama();
  experts.config["architectures"] = {"MixtralForCausalLM"};
  experts.config["num_local_experts"] = 2;
  experts.config["num_experts_per_tok"] = 1;
  for (uint64_t i = 0; i < kLayers; ++i) {
    const std::string at = layer(i) + "block_sparse_moe.";
    for (const char* part : {"gate", "up", "down"})
      experts.remove(concat(layer(i), "mlp.", part, "_proj.weight"));
    experts.add(at + "gate.weight", {2, kWidth});
    for (const char* expert : {"experts.0.", "experts.1."}) {
      experts.add(at + expert + "w1.weight", {kFf, kWidth});
      experts.add(at + expert + "w3.weight", {kFf, kWidth});
      experts.add(at + expert + "w2.weight", {kWidth, kFf});
    }
  }
  const std::string at = layer(1) + "block_sparse_moe.experts.";
  experts.config["quantization_config"] = {{"quant_method", "fp8"}};
  for (const char* expert : {"0", "1"}) {
    MadeTensor& narrow = experts.tensor(at + expert + ".w1.weight");
    narrow.type = "F8_E4M3";
    narrow.bytes = std::string(kFf * kWidth, '\x38');  // ones
  }
  experts.add(at + "0.w1.weight_scale_inv", {1});
  experts.add(at + "1.w1.weight_scale_inv", {1});
  expect_runs(convert_made(experts));
  experts.remove(at + "1.w1.weight_scale_inv");
  experts.add(at + "1.w1.weight_scale_inv", {kFf, 1});
  expect_refused(experts, Code::unsupported_model, "those of the expert before it have another");
}

// --- what must be refused ------------------------------------------------------------------------

TEST(ConvertRefuses, Classes) {
  MadeModel m = llama();
  m.config["architectures"] = {"FalconForCausalLM"};
  expect_refused(m, Code::unsupported_model, "FalconForCausalLM");
  m.config.erase("architectures");
  expect_refused(m, Code::bad_file, "architectures");
}

TEST(ConvertRefuses, TensorsThatDontFit) {
  MadeModel more = llama();
  more.add(layer(0) + "self_attn.q_proj.lora_A", {4, kWidth});
  expect_refused(more, Code::unsupported_model, "lora_A");
  MadeModel missing = llama();
  missing.remove(layer(1) + "mlp.up_proj.weight");
  expect_refused(missing, Code::bad_file, "no tensor layers.1.mlp.up_proj.weight");
  MadeModel no_head = llama();
  no_head.remove("lm_head.weight");
  expect_refused(no_head, Code::bad_file, "lm_head.weight");
  MadeModel shape = llama();
  shape.tensor(layer(1) + "mlp.up_proj.weight").shape = {kWidth, kFf};
  expect_refused(shape, Code::bad_file,
                 "has the shape [64, 96]; by config.json it would be [96, 64]");
  MadeModel twice = llama();
  twice.add("norm.weight", {kWidth});
  expect_refused(twice, Code::bad_file, "two tensors for norm.weight");
  MadeModel type = llama();
  type.tensor(layer(0) + "mlp.up_proj.weight").type = "I32";
  expect_refused(type, Code::unsupported_type, "I32");
}

TEST(ConvertRefuses, WhatAConfigSays) {
  const auto refused = [](const char* key, const ordered_json& value, Code code,
                          std::string_view reason) {
    MadeModel m = llama();
    m.config[key] = value;
    SCOPED_TRACE(key);
    expect_refused(m, code, reason);
  };
  const auto unsupported = [&](const char* key, const ordered_json& value) {
    refused(key, value, Code::unsupported_model, key);
  };
  unsupported("hidden_act", "relu");
  unsupported("a_new_key", 7);
  unsupported("partial_rotary_factor", 0.5);
  for (const char* method : {"gptq", "awq", "bitsandbytes"})
    refused("quantization_config", {{"quant_method", method}}, Code::unsupported_model, method);
  refused("quantization_config",
          {{"quant_method", "compressed-tensors"}, {"format", "pack-quantized"}},
          Code::unsupported_model, "pack-quantized");
  refused("rope_scaling", {{"rope_type", "wavy"}}, Code::unsupported_model, "wavy");
  refused("rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}, {"twist", 3}},
          Code::unsupported_model, "twist");
  refused("rope_scaling", {{"rope_type", "linear"}}, Code::bad_file, "factor");
  refused("rope_scaling", 7, Code::bad_file, "no object");
  refused("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}, {"attention_factor", -1.0}},
          Code::bad_file, "attention_factor");
  refused("rope_scaling",
          {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 1e11}},
          Code::bad_file, "original_max_position_embeddings");
  for (const double epsilon : {-1e-5, 1e300})
    refused("rms_norm_eps", epsilon, Code::bad_file, "layer_norm_rms_epsilon the value");
  unsupported("layer_types", {"full_attention", "sliding_attention"});
  const auto damaged = [&](const char* key, const ordered_json& value) {
    refused(key, value, Code::bad_file, key);
  };
  damaged("num_attention_heads", 0);
  damaged("num_attention_heads", "4");
  damaged("num_attention_heads", -4);
  damaged("num_attention_heads", 4.5);
  damaged("num_hidden_layers", 100'000);
  damaged("hidden_size", uint64_t{1} << 40);
  damaged("rms_norm_eps", "1e-5");
  damaged("tie_word_embeddings", "yes");
  damaged("layer_types", {"full_attention"});
  damaged("vocab_size", nullptr);
  refused("num_key_value_heads", 3, Code::bad_file, "multiple");
  refused("num_attention_heads", 7, Code::bad_file, "no multiple");
  // Keys that mean nothing here, and those that say that something isn't there.
  MadeModel m = llama();
  m.config.update({{"use_cache", true},
                   {"a_new_key", nullptr},
                   {"another", false},
                   {"third", 0},
                   {"resid_pdrop", 0.1},
                   {"_name_or_path", "x"},
                   {"id2label", {{"0", "a"}}}});
  EXPECT_FALSE(convert_made(m).bytes.empty());
}

TEST(ConvertRefuses, HostileConfigs) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{"), std::string("7"),
        "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}",
        std::string("{\"architectures\":[7]}"), std::string("{\"architectures\":{}}")}) {
    MemoryFolder folder = llama().folder();
    folder.files["config.json"] = text;
    const auto out = try_convert(folder);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::bad_file) << out.error().message;
  }
  MemoryFolder folder = llama().folder();
  folder.files.erase("config.json");
  EXPECT_FALSE(try_convert(folder));
  folder = llama().folder();
  folder.files.erase("tokenizer.json");
  EXPECT_EQ(try_convert(folder).error().code, Code::unsupported_model);
}

TEST(ConvertRefuses, WeightsThatAreNoNumbers) {
  MadeModel m = llama();
  MadeTensor& tensor = m.tensor(layer(0) + "mlp.up_proj.weight");
  tensor.bytes.replace(400, 4, bytes_of(INFINITY));
  expect_refused(m, Code::bad_file, "blk.0.ffn_up.weight");
}

TEST(Convert, StopsWhenAsked) {
  MemoryFolder folder = llama().folder();
  const auto plan = plan_conversion(folder, {Type::F32, ""});
  ASSERT_TRUE(plan);
  Pool pool(1);
  MemorySink sink;
  std::vector<uint64_t> done;
  const auto status = convert(*plan, pool, sink, [&](const FileProgress& progress) {
    EXPECT_EQ(progress.total, plan->header().file_bytes());
    done.push_back(progress.done);
    return done.size() < 3;
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::aborted);
  EXPECT_EQ(done.size(), 3u);
}

TEST(Convert, SamplingIsKept) {
  MemoryFolder folder = llama().folder();
  folder.files["generation_config.json"] =
      R"({"top_k":20,"top_p":0.5,"min_p":0.25,"temperature":0.75,"repetition_penalty":1.5,"x":[1]})";
  const auto c = try_convert(folder);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->header.find("general.sampling.top_k")->type, ValueType::i32);
  EXPECT_EQ(c->real("general.sampling.top_p"), 0.5);
  EXPECT_EQ(c->real("general.sampling.min_p"), 0.25);
  EXPECT_EQ(c->real("general.sampling.temp"), 0.75);
  EXPECT_EQ(c->real("general.sampling.penalty_repeat"), 1.5);
}

}  // namespace
}  // namespace sluice
