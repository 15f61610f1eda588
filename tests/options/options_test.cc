// Tests of options: their JSON and their ranges.
#include <gtest/gtest.h>
#include <pthread.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/format.h"
#include "options/rows.h"
#include "sample/raw_logits.h"

namespace sluice {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string load_error(std::string_view json) {
  const auto options = load_options_from_json(json);
  if (options) return "";
  EXPECT_EQ(options.error().code, Code::invalid_argument);
  return options.error().message;
}

std::string generate_error(std::string_view json) {
  const auto options = generate_options_from_json(json);
  if (options) return "";
  EXPECT_EQ(options.error().code, Code::invalid_argument);
  return options.error().message;
}

TEST(LoadOptionsJson, EmptyMeansDefaults) {
  for (const char* text : {"", "{}", " { } "}) {
    const auto options = load_options_from_json(text);
    ASSERT_TRUE(options.has_value()) << text;
    EXPECT_EQ(options->threads, 0);
    EXPECT_FALSE(options->tune_threads);
    EXPECT_EQ(options->context_size, 0u);
    EXPECT_EQ(options->kv_type, "f16");
    EXPECT_EQ(options->memory_budget, 0u);
    EXPECT_EQ(options->kernels, "");
  }
}

TEST(LoadOptionsJson, TakesEveryOption) {
  const auto options = load_options_from_json(
      R"({"threads":3,"tuneThreads":true,"contextSize":2e3,"kvType":"q8_0","memoryBudget":4294967296,)"
      R"("kernels":"generic"})");
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->threads, 3);
  EXPECT_TRUE(options->tune_threads);
  EXPECT_EQ(options->context_size, 2000u);
  EXPECT_EQ(options->kv_type, "q8_0");
  EXPECT_EQ(options->memory_budget, uint64_t{1} << 32);
  EXPECT_EQ(options->kernels, "generic");
}

TEST(LoadOptionsJson, RefusesWithTheReason) {
  EXPECT_NE(load_error("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(load_error("{} x").find("not valid JSON"), std::string::npos);
  EXPECT_NE(load_error(R"({"threads":1e999})").find("not valid JSON"), std::string::npos);
  EXPECT_NE(load_error("\"\xff\"").find("not valid Unicode"), std::string::npos);
  EXPECT_NE(load_error("[]").find("an object, found array"), std::string::npos);
  EXPECT_NE(load_error(R"({"thread":1})").find("unknown option 'thread'"), std::string::npos);
  EXPECT_NE(load_error(R"({"threads":-1})").find("threads must be"), std::string::npos);
  EXPECT_NE(load_error(R"({"threads":65})").find("from 1 to 64, found 65"), std::string::npos);
  EXPECT_NE(load_error(R"({"threads":1.5})").find("found 1.5"), std::string::npos);
  EXPECT_NE(load_error(R"({"threads":"2"})").find("found string"), std::string::npos);
  EXPECT_NE(load_error(R"({"threads":null})").find("NaN"), std::string::npos);
  EXPECT_NE(load_error(R"({"tuneThreads":1})").find("true or false"), std::string::npos);
  EXPECT_NE(load_error(R"({"contextSize":1048577})").find("found 1048577"), std::string::npos);
  EXPECT_EQ(load_error(R"({"kernels":"\ud800"})").find("kernels holds text that is not"), 0u);
  EXPECT_NE(load_error(R"({"memoryBudget":1e300})").find("memoryBudget"), std::string::npos);
  EXPECT_NE(load_error(R"({"memoryBudget":18446744073709551615})").find("memoryBudget"),
            std::string::npos);
  EXPECT_NE(load_error(R"({"kvType":"f64"})").find("kvType is 'f64'; expected f32, f16 or q8_0"),
            std::string::npos);
  EXPECT_NE(load_error(R"({"kernels":[]})").find("kernels must be a string"), std::string::npos);
  EXPECT_NE(load_error(std::string(140000, ' ')).find("140000 bytes"), std::string::npos);
  const std::string deep = std::string(60000, '[') + std::string(60000, ']');
  EXPECT_NE(load_error(deep).find("an object, found array"), std::string::npos);
  EXPECT_NE(load_error(deep.substr(1)).find("not valid JSON"), std::string::npos);
}

// A page's stack is small: nothing that reads options may recurse into their values.
TEST(GenerateOptionsJson, DeepValuesAreRefusedOnASmallStack) {
  const auto refused = [](void*) -> void* {
    const std::string deep = std::string(60000, '[') + std::string(60000, ']');
    for (const char* name : {"stop", "maxTokens", "logitBias", "none"}) {
      const auto options =
          generate_options_from_json("{\"" + std::string(name) + "\":" + deep + "}");
      EXPECT_EQ(options.error().code, Code::invalid_argument) << name;
    }
    return nullptr;
  };
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t{1} << 20), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &small, refused, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
}

TEST(LoadOptionsJson, TheLastOfOneNameCounts) {
  const auto options = load_options_from_json(R"({"threads":99,"kvType":"f32","threads":3})");
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->threads, 3);
}

TEST(GenerateOptionsJson, TheLastOfOneIdCountsInTheFirstPlace) {
  const auto options = generate_options_from_json(R"({"logitBias":{"5":1,"7":2,"5":3}})");
  ASSERT_TRUE(options.has_value());
  const std::vector<std::pair<TokenId, float>> expected = {{5, 3.f}, {7, 2.f}};
  EXPECT_EQ(options->logit_bias, expected);
}

TEST(GenerateOptionsJson, EmptyMeansDefaults) {
  const auto options = generate_options_from_json("");
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->temperature, 0.8f);
  EXPECT_EQ(options->top_k, 40);
  EXPECT_EQ(options->top_p, 0.95f);
  EXPECT_EQ(options->min_p, 0.05f);
  EXPECT_EQ(options->repeat_penalty, 1.f);
  EXPECT_FALSE(options->seed.has_value());
  EXPECT_EQ(options->max_tokens, -1);
  EXPECT_TRUE(options->stop.empty());
}

TEST(GenerateOptionsJson, TakesEveryOption) {
  const auto options = generate_options_from_json(
      R"({"maxTokens":5,"temperature":0,"topK":1,"topP":0.5,"minP":0.25,"repeatPenalty":1.5,)"
      R"("seed":18446744073709551615,"stop":["a","\u00e9"],"ignoreEos":true,"special":true,)"
      R"("topLogprobs":7,"trace":256})");
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->max_tokens, 5);
  EXPECT_EQ(options->temperature, 0.f);
  EXPECT_EQ(options->top_k, 1);
  EXPECT_EQ(options->top_p, 0.5f);
  EXPECT_EQ(options->min_p, 0.25f);
  EXPECT_EQ(options->repeat_penalty, 1.5f);
  EXPECT_EQ(options->seed, UINT64_MAX);
  EXPECT_EQ(options->stop, (std::vector<std::string>{"a", "é"}));
  EXPECT_TRUE(options->ignore_eos);
  EXPECT_TRUE(options->special);
  EXPECT_EQ(options->top_logprobs, 7);
  EXPECT_EQ(options->trace, kMostRawLogits);
}

TEST(GenerateOptionsJson, TakesEverySampler) {
  const auto options = generate_options_from_json(
      R"({"topNSigma":1.5,"typicalP":0.9,"xtcProbability":0.5,"xtcThreshold":0.2,"repeatLastN":-1,)"
      R"("presencePenalty":-2,"frequencyPenalty":2,"logitBias":{"7":-100,"0":1.5},)"
      R"("dryMultiplier":0.8,"dryBase":2,"dryAllowedLength":3,"dryPenaltyLastN":0,)"
      R"("drySequenceBreakers":[]})");
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->top_n_sigma, 1.5f);
  EXPECT_EQ(options->typical_p, 0.9f);
  EXPECT_EQ(options->xtc_probability, 0.5f);
  EXPECT_EQ(options->xtc_threshold, 0.2f);
  EXPECT_EQ(options->repeat_last_n, -1);
  EXPECT_EQ(options->presence_penalty, -2.f);
  EXPECT_EQ(options->frequency_penalty, 2.f);
  EXPECT_EQ(options->logit_bias, (std::vector<std::pair<TokenId, float>>{{7, -100.f}, {0, 1.5f}}));
  EXPECT_EQ(options->dry_multiplier, 0.8f);
  EXPECT_EQ(options->dry_base, 2.f);
  EXPECT_EQ(options->dry_allowed_length, 3);
  EXPECT_EQ(options->dry_penalty_last_n, 0);
  EXPECT_TRUE(options->dry_sequence_breakers.empty());
  EXPECT_EQ(GenerateOptions().dry_sequence_breakers,
            (std::vector<std::string>{"\n", ":", "\"", "*"}));
}

TEST(GenerateOptionsJson, RefusesWrongBiases) {
  const auto says = [](std::string_view json, std::string_view words) {
    EXPECT_NE(generate_error(json).find(words), std::string::npos) << generate_error(json);
  };
  says(R"({"logitBias":[1]})",
       "logitBias must be an object of token ids and numbers from -100 to "
       "100, found array");
  says(R"({"logitBias":{"x":1}})", "found the token id 'x'");
  says(R"({"logitBias":{"-1":1}})", "found the token id '-1'");
  says(R"({"logitBias":{"1.5":1}})", "found the token id '1.5'");
  says(R"({"logitBias":{"99999999999":1}})", "found the token id '99999999999'");
  says(R"({"logitBias":{"1":"2"}})", "found string");
  says(R"({"logitBias":{"1":null}})", "NaN");
  says(R"({"logitBias":{"1":100.5}})", "found 100.5");
  std::string many;
  for (int id = 0; id < 1025; ++id) many += concat(id == 0 ? "" : ",", "\"", id, "\":1");
  says(concat(R"({"logitBias":{)", many, "}}"), "logitBias has 1025 tokens; at most 1024");
  says(R"({"drySequenceBreakers":[""]})", "a text of drySequenceBreakers has 0 bytes");
  says(R"({"presencePenalty":2.5})", "a number from -2 to 2, found 2.5");
  says(R"({"repeatLastN":-2})", "from -1 to 2147483647, found -2");
  GenerateOptions options;
  options.logit_bias = {{1, kNan}};
  EXPECT_FALSE(check_options(options).has_value());
  options.logit_bias = {{-5, 1.f}};
  EXPECT_FALSE(check_options(options).has_value());
}

TEST(GenerateOptionsJson, OneStopMayStandAlone) {
  const auto options = generate_options_from_json(R"({"stop":"END"})");
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->stop, std::vector<std::string>{"END"});
}

TEST(GenerateOptionsJson, RefusesWithTheReason) {
  EXPECT_NE(generate_error(R"({"temperature":null})").find("NaN"), std::string::npos);
  EXPECT_NE(generate_error(R"({"temperature":1e300})").find("temperature"), std::string::npos);
  EXPECT_NE(generate_error(R"({"temperature":-1})").find("temperature"), std::string::npos);
  EXPECT_NE(generate_error(R"({"topP":2})").find("top"), std::string::npos);
  EXPECT_NE(generate_error(R"({"topK":-1})").find("topK"), std::string::npos);
  EXPECT_NE(generate_error(R"({"maxTokens":-2})").find("maxTokens"), std::string::npos);
  EXPECT_NE(generate_error(R"({"seed":-1})").find("seed"), std::string::npos);
  EXPECT_NE(generate_error(R"({"stop":[""]})").find("must have 1 to 1024"), std::string::npos);
  // Half of a surrogate pair, which JavaScript strings may contain, and bytes that are not UTF-8.
  for (const char* text : {R"({"seed":1,"stop":["ok","\ud800"]})", R"({"stop":"a\udc00\ud83d"})",
                           R"({"stop":["\ud83d\n"]})", "{\"stop\":[\"\xff\"]}"}) {
    EXPECT_EQ(generate_error(text).find("stop holds text that is not valid Unicode"), 0u)
        << generate_error(text);
  }
  EXPECT_EQ(generate_error(R"({"\ud800":1})").find("the options hold text"), 0u);
  EXPECT_EQ(generate_error(R"({"stop":"\ud83d\ude00 \\ud800"})"), "");
  EXPECT_EQ(generate_error(R"({"stop":["a"],"logitBias":{"\ud800":1}})").find("logitBias holds"),
            0u);
  EXPECT_EQ(generate_error(R"({"logitBias":{"1":1},"\ud800":1})").find("the options hold"), 0u);
  EXPECT_NE(generate_error(R"({"stop":"a)").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(generate_error(R"({"topP":1.0000001})")
                .find("topP must be a number from 0 to 1, found 1.0000001"),
            0u);
  EXPECT_NE(generate_error(R"({"stop":[1]})").find("stop must be a string"), std::string::npos);
  EXPECT_NE(generate_error(R"({"stop":{}})").find("list of strings"), std::string::npos);
  EXPECT_NE(generate_error(R"({"ignoreEos":1})").find("true or false"), std::string::npos);
  EXPECT_NE(generate_error(R"({"topLogprobs":101})").find("0 to 100"), std::string::npos);
  EXPECT_NE(generate_error(R"({"trace":257})").find("0 to 256"), std::string::npos);
  EXPECT_NE(generate_error(R"({"max_tokens":1})").find("unknown option"), std::string::npos);
}

// The error of check_options after `change`, or "".
template <typename Options>
std::string complaint(auto change) {
  Options options;
  change(options);
  const Status status = check_options(options);
  if (status) return "";
  EXPECT_EQ(status.error().code, Code::invalid_argument);
  return status.error().message;
}

TEST(CheckOptions, TakesTheDefaultsAndTheEndsOfRanges) {
  EXPECT_TRUE(check_options(LoadOptions()).has_value());
  EXPECT_TRUE(check_options(GenerateOptions()).has_value());
  const auto generate = [](auto change) { return complaint<GenerateOptions>(change); };
  EXPECT_EQ(generate([](auto& o) { o.repeat_penalty = 0.01f; }), "");
  EXPECT_EQ(generate([](auto& o) { o.temperature = 100; }), "");
  EXPECT_EQ(generate([](auto& o) { o.seed = UINT64_MAX; }), "");
  EXPECT_EQ(generate([](auto& o) { o.stop = std::vector<std::string>(64, "a"); }), "");
}

TEST(CheckOptions, NamesTheOptionAndItsRange) {
  const auto generate = [](auto change) { return complaint<GenerateOptions>(change); };
  const auto load = [](auto change) { return complaint<LoadOptions>(change); };
  for (const float bad : {kNan, kInf, -kInf, -1.f, 101.f}) {
    EXPECT_EQ(generate([&](auto& o) { o.temperature = bad; }).find("temperature is "), 0u);
    EXPECT_EQ(generate([&](auto& o) { o.top_p = bad; }).find("topP is "), 0u);
    EXPECT_EQ(generate([&](auto& o) { o.min_p = bad; }).find("minP is "), 0u);
    EXPECT_EQ(generate([&](auto& o) { o.repeat_penalty = bad; }).find("repeatPenalty is "), 0u);
  }
  EXPECT_EQ(generate([](auto& o) { o.repeat_penalty = 0; }),
            "repeatPenalty is 0; expected a number from 0.01 to 100");
  EXPECT_EQ(generate([](auto& o) { o.top_k = -1; }),
            "topK is -1; expected a whole number from 0 to 2147483647");
  EXPECT_NE(generate([](auto& o) { o.stop = {std::string(1025, 'a')}; }).find("has 1025 bytes"),
            std::string::npos);
  EXPECT_NE(
      generate([](auto& o) { o.stop = std::vector<std::string>(65, "a"); }).find("at most 64"),
      std::string::npos);
  EXPECT_EQ(load([](auto& o) { o.threads = 65; }),
            "threads is 65; expected a whole number from 1 to 64");
  for (const char* name : {"", "f64", "f32 f16", " "}) {
    EXPECT_EQ(load([&](auto& o) { o.kv_type = name; }),
              concat("kvType is '", name, "'; expected f32, f16 or q8_0"));
  }
}

}  // namespace
}  // namespace sluice
