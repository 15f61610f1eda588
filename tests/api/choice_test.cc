// Tests of views of choices under a run's options, and of their JSON.
#include "api/choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/engine_fixture.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json read_choice(const Result<std::string>& text) {
  EXPECT_TRUE(text.has_value());
  Json json = Json::parse(text.value_or(""), nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text.value_or("");
  return json;
}

std::string error_of(const Result<std::string>& result) {
  if (result) return "";
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  return result.error().message;
}

const std::vector<TokenId> kPrompt = {1, 17, 300, 42};

RawLogits some_raw() {
  return {.log_sum = std::log(2), .best = {{3, 0.f}, {1, std::log(0.5f)}, {4, std::log(0.25f)}}};
}

TEST(ChoiceJson, IsAsTheContractSays) {
  ChoiceView view;
  view.steps = {{ChoiceStep::top_k, 40, 0.75}, {ChoiceStep::min_p, 2, 0.5}};
  view.candidates = {{7, -0.5f, -0.25f, -1, 1},
                     {3, -2, -std::numeric_limits<float>::infinity(), 0, 0}};
  view.nucleus = 2;
  view.mass = 0.5;
  view.place = 0.1;
  view.taken = 7;
  EXPECT_EQ(choice_json(view), R"({"enough":true,"steps":[{"step":"topK","left":40,"mass":0.75},)"
                               R"({"step":"minP","left":2,"mass":0.5}],)"
                               R"("candidates":[[7,-0.5,-0.25,-1,1.0],[3,-2.0,null,0,0.0]],)"
                               R"("nucleus":2,"mass":0.5,"place":0.1,"taken":7})");
  view.place.reset();
  EXPECT_TRUE(read_choice(choice_json(view))["place"].is_null());
  view.enough = false;
  EXPECT_EQ(choice_json(view), R"({"enough":false})");
}

TEST(ChoiceJson, OfKeptLogits) {
  GenerateOptions options;
  options.temperature = 0;
  Json json = read_choice(choice_json(nullptr, 6, some_raw(), {}, options, 2));
  EXPECT_EQ(json["taken"], 3);
  EXPECT_EQ(json["candidates"].size(), 2u);
  EXPECT_EQ(json["steps"], Json::parse(R"([{"step":"temperature","left":1,"mass":0.5}])"));
  options.logit_bias = {{3, -100.f}};
  EXPECT_EQ(read_choice(choice_json(nullptr, 6, some_raw(), {}, options, 2))["taken"], 1);
  options.logit_bias = {{5, 2.f}};
  EXPECT_EQ(read_choice(choice_json(nullptr, 6, some_raw(), {}, options, 2)),
            Json::parse(R"({"enough":false})"));
  // Presence counts the answer alone.
  options = {};
  options.temperature = 0;
  options.presence_penalty = 2;
  const std::vector<TokenId> before = {3};
  EXPECT_EQ(read_choice(choice_json(nullptr, 6, some_raw(), {.before = before, .prompt_tokens = 1},
                                    options, 2))["taken"],
            3);
  EXPECT_EQ(
      read_choice(choice_json(nullptr, 6, some_raw(), {.before = before}, options, 2))["taken"], 1);
}

TEST(ChoiceJson, RefusesWhatNoRunHas) {
  GenerateOptions options;
  const std::vector<float> logits(4);
  const std::vector<TokenId> strange = {0, 6}, negative = {-1};
  RawLogits raw = some_raw();
  EXPECT_NE(error_of(choice_json(nullptr, 4, raw, {}, options, 2)).find("the token 4"),
            std::string::npos);
  EXPECT_NE(
      error_of(choice_json(nullptr, 6, raw, {.before = strange}, options, 2)).find("the text"),
      std::string::npos);
  EXPECT_NE(error_of(choice_json(nullptr, logits, {.before = negative}, options, 2)).find("-1"),
            std::string::npos);
  EXPECT_NE(error_of(choice_json(nullptr, 0, raw, {}, options, 2)).find("vocabulary"),
            std::string::npos);
  EXPECT_NE(error_of(choice_json(nullptr, std::vector<float>{}, {}, options, 2)).find("vocabulary"),
            std::string::npos);
  raw.best.emplace_back(3, 1.f);
  EXPECT_NE(error_of(choice_json(nullptr, 6, raw, {}, options, 2)).find("twice"),
            std::string::npos);
  options.top_p = 2;
  EXPECT_NE(error_of(choice_json(nullptr, 6, some_raw(), {}, options, 2)).find("topP"),
            std::string::npos);
}

// Breakers are texts: without the tokens' bytes nobody knows where they stand.
TEST(ChoiceJson, WithoutATokenizerDryNeedsToHaveNoBreakers) {
  GenerateOptions options;
  options.top_k = 2;
  options.dry_multiplier = 1;
  EXPECT_FALSE(
      read_choice(choice_json(nullptr, 6, some_raw(), {}, options, 2))["enough"].get<bool>());
  options.dry_sequence_breakers = {};
  EXPECT_TRUE(
      read_choice(choice_json(nullptr, 6, some_raw(), {}, options, 2))["enough"].get<bool>());
}

// The view of what a run kept takes the token that the run took.
TEST(ChoiceJson, TakesWhatTheRunTook) {
  const auto engine = tiny_engine();
  const Tokenizer& tokenizer = engine->tokenizer();
  std::vector<GenerateOptions> all(6);
  all[1].temperature = 0;
  all[2].top_k = 100;
  all[2].typical_p = 0.9f;
  all[2].xtc_probability = 0.5f;
  all[2].xtc_threshold = 0.01f;
  all[3].repeat_penalty = 1.3f;
  all[3].frequency_penalty = 0.5f;
  all[3].presence_penalty = 0.25f;
  all[4].dry_multiplier = 2;
  all[4].dry_allowed_length = 1;
  all[4].temperature = 2;
  all[5].top_k = 0;
  int enough = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    GenerateOptions& options = all[i];
    options.max_tokens = 24;
    options.ignore_eos = true;
    options.seed = 3;
    options.trace = kMostRawLogits;
    const Generated got = generate(*engine, kPrompt, options);
    ASSERT_EQ(got.tokens.size(), 24u);
    std::vector<TokenId> before = kPrompt;
    for (const Event& event : got.tokens) {
      const ChoicePlace place = {before, kPrompt.size(), event.raw->draws};
      const Json kept = read_choice(choice_json(&tokenizer, 512, *event.raw, place, options, 512));
      hash_of(*engine, before);
      const Json full =
          read_choice(choice_json(&tokenizer, engine->session().logits(), place, options, 512));
      EXPECT_EQ(full["taken"], event.id) << i;
      EXPECT_EQ(full["candidates"].size(), 512u);
      EXPECT_EQ(static_cast<float>(full["candidates"][0][1].get<double>()),
                top_logprobs(engine->session().logits(), 1)[0].second);
      if (kept["enough"].get<bool>()) {
        ++enough;
        EXPECT_EQ(kept["taken"], event.id) << i;
        EXPECT_EQ(kept["place"], full["place"]) << i;
        EXPECT_EQ(kept["nucleus"], full["nucleus"]) << i;
        for (size_t c = 0; c < kept["candidates"].size(); ++c) {
          EXPECT_EQ(kept["candidates"][c][0], full["candidates"][c][0]) << i;
          EXPECT_EQ(kept["candidates"][c][4], full["candidates"][c][4]) << i;
        }
      }
      before.push_back(event.id);
    }
  }
  EXPECT_EQ(enough, 5 * 24);  // all but where top-k is off
}

}  // namespace
}  // namespace sluice
