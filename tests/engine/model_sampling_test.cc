// Tests of what a file recommends for sampling: which values count, and what goes before them.
#include "engine/model_sampling.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/inspect.h"
#include "api/json.h"
#include "make/gguf_builder.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

ModelSampling read(const GgufBuilder& file) {
  const auto header = parse_gguf(as_bytes(file.header()));
  EXPECT_TRUE(header.has_value());
  return header ? read_model_sampling(*header) : ModelSampling();
}

TEST(ModelSampling, IsTheUsualWithoutKeys) {
  const ModelSampling sampling = read(GgufBuilder().kv_string("general.sampling.sequence", "kp"));
  EXPECT_TRUE(sampling.given.empty());
  EXPECT_TRUE(sampling.notes.empty());
  EXPECT_EQ(sampling.defaults.temperature, GenerateOptions().temperature);
  EXPECT_EQ(sampling.defaults.top_k, GenerateOptions().top_k);
}

TEST(ModelSampling, TakesEveryKeyOfAnOption) {
  GgufBuilder file;
  file.kv_f32("general.sampling.temp", 0.6f)
      .kv_i32("general.sampling.top_k", 20)
      .kv_f32("general.sampling.top_p", 0.9f)
      .kv_f32("general.sampling.min_p", 0)
      .kv_f32("general.sampling.xtc_probability", 0.5f)
      .kv_f32("general.sampling.xtc_threshold", 0.2f)
      .kv_i32("general.sampling.penalty_last_n", -1)
      .kv_f32("general.sampling.penalty_repeat", 1.05f)
      .kv_i32("general.sampling.mirostat", 2);
  const ModelSampling sampling = read(file);
  EXPECT_TRUE(sampling.notes.empty());
  EXPECT_EQ(sampling.given.size(), 8u);
  const GenerateOptions& o = sampling.defaults;
  EXPECT_EQ(o.temperature, 0.6f);
  EXPECT_EQ(o.top_k, 20);
  EXPECT_EQ(o.top_p, 0.9f);
  EXPECT_EQ(o.min_p, 0.f);
  EXPECT_EQ(o.xtc_probability, 0.5f);
  EXPECT_EQ(o.xtc_threshold, 0.2f);
  EXPECT_EQ(o.repeat_last_n, -1);
  EXPECT_EQ(o.repeat_penalty, 1.05f);
}

TEST(ModelSampling, NumbersMayHaveAnyType) {
  const ModelSampling sampling = read(GgufBuilder()
                                          .kv_u32("general.sampling.temp", 1)
                                          .kv_f32("general.sampling.top_k", -1)
                                          .kv_u64("general.sampling.penalty_last_n", 32));
  EXPECT_EQ(sampling.given.size(), 3u);
  EXPECT_EQ(sampling.defaults.temperature, 1.f);
  EXPECT_EQ(sampling.defaults.top_k, 0);  // other engines take -1 for all
  EXPECT_EQ(sampling.defaults.repeat_last_n, 32);
}

TEST(ModelSampling, WhatNoOptionMayBeIsLeftOutWithANote) {
  GgufBuilder file;
  file.kv_f32("general.sampling.temp", std::numeric_limits<float>::quiet_NaN())
      .kv_f32("general.sampling.top_k", 2.5f)
      .kv_f32("general.sampling.top_p", 1.5f)
      .kv_string("general.sampling.min_p", "0.1")
      .kv_f32("general.sampling.xtc_probability", std::numeric_limits<float>::infinity())
      .kv_bool("general.sampling.xtc_threshold", true)
      .kv_u64("general.sampling.penalty_last_n", UINT64_MAX)
      .kv_array("general.sampling.penalty_repeat", ValueType::f32, std::vector<float>{1});
  const ModelSampling sampling = read(file);
  EXPECT_TRUE(sampling.given.empty());
  ASSERT_EQ(sampling.notes.size(), 8u);
  EXPECT_EQ(note_code_name(sampling.notes[2].code), "sampling_value_unusable");
  EXPECT_EQ(sampling.notes[2].message,
            "general.sampling.top_p is 1.5; expected a number from 0 to 1: left out");
  EXPECT_EQ(sampling.defaults.top_p, GenerateOptions().top_p);
  EXPECT_EQ(sampling.defaults.repeat_last_n, GenerateOptions().repeat_last_n);
}

TEST(ModelSampling, WhatIsGivenGoesBefore) {
  GenerateOptions model;
  model.temperature = 0.6f;
  model.top_k = 20;
  const auto options = generate_options_from_json(R"({"temperature":0,"minP":0.2})", model);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->temperature, 0.f);
  EXPECT_EQ(options->min_p, 0.2f);
  EXPECT_EQ(options->top_k, 20);
  EXPECT_EQ(options->top_p, GenerateOptions().top_p);
}

TEST(ModelSampling, AnEngineAndAHeaderTell) {
  GgufBuilder file = tiny_model_file(tiny_model_named("qwen2-q8_0"));
  file.kv_f32("general.sampling.temp", 0.6f).kv_f32("general.sampling.top_p", 7);
  const std::string bytes = file.build();
  const auto engine = load_bytes(bytes, small());
  const Notes notes = engine->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].code, NoteCode::sampling_value_unusable);
  const auto json = nlohmann::json::parse(inspect_json(engine->header(), small(), bytes.size()));
  EXPECT_EQ(json["sampling"], nlohmann::json({{"temperature", 0.6}}));
  EXPECT_EQ(json["notes"].size(), 1u);
  const std::string usual = inspect_json(tiny_engine()->header(), small(), 0);
  EXPECT_FALSE(nlohmann::json::parse(usual).contains("sampling"));
}

}  // namespace
}  // namespace sluice
