// Tests of the text that an engine writes: stop strings, characters, log-probabilities.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

constexpr std::string_view kPrompt = "Once upon a time";
const std::vector<TokenId> kTextIds = {5, 80, 17};

TEST(Text, StopStringsEndItBeforeThemAndAreNeverHalfPrinted) {
  const auto engine = stories();
  ASSERT_NE(engine, nullptr);
  const Generated whole = generate(*engine, kPrompt, greedy(40));
  ASSERT_GT(whole.text.size(), 90u);
  for (size_t at = 0; at < 80; at += 5) {
    for (const size_t length : {1, 2, 5, 12}) {
      GenerateOptions options = greedy(40);
      options.stop = {"never there", whole.text.substr(at, length)};
      const std::string expected = whole.text.substr(0, whole.text.find(options.stop[1]));
      const Generated got = generate(*engine, kPrompt, options);
      EXPECT_EQ(got.finish, Finish::stop);
      EXPECT_EQ(got.text, expected) << "stop: " << options.stop[1];
      std::string so_far;
      for (const Event& event : got.tokens) {
        so_far += event.text;
        EXPECT_TRUE(expected.starts_with(so_far)) << so_far;
      }
    }
  }
}

TEST(Text, TheEarliestStopStringCounts) {
  const auto engine = stories();
  ASSERT_NE(engine, nullptr);
  const std::string text = generate(*engine, kPrompt, greedy(40)).text;
  GenerateOptions options = greedy(40);
  options.stop = {text.substr(50, 8), text.substr(20, 8), text.substr(22, 9)};
  const size_t first = std::min(
      {text.find(options.stop[0]), text.find(options.stop[1]), text.find(options.stop[2])});
  EXPECT_EQ(generate(*engine, kPrompt, options).text, text.substr(0, first));
}

TEST(Text, BeginningsOfStopStringsAreGivenBackInTheEnd) {
  const auto engine = stories();
  ASSERT_NE(engine, nullptr);
  const Generated whole = generate(*engine, kPrompt, greedy(30));
  for (const size_t length : {1, 3, 9, 40}) {
    GenerateOptions options = greedy(30);
    options.stop = {whole.text.substr(whole.text.size() - length) + "\x01"};
    const Generated got = generate(*engine, kPrompt, options);
    EXPECT_EQ(got.finish, Finish::length);
    EXPECT_EQ(got.text, whole.text);
    EXPECT_EQ(got.ids(), whole.ids());
  }
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    if (!c.valid) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

// Random models write random bytes.
TEST(Text, IsNeverHalfACharacter) {
  for (const char* name : {"llama-q8_0", "qwen2-f32", "llama-freqs-f32"}) {
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), small());
    ASSERT_NE(engine, nullptr);
    GenerateOptions options = greedy(200);
    options.temperature = 3;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    const Generated got = generate(*engine, kTextIds, options);
    ASSERT_EQ(got.tokens.size(), 200u);
    size_t longer = 0;
    for (const Event& event : got.tokens) {
      EXPECT_TRUE(is_utf8(event.text)) << name;
      longer += event.text.size() > 1;
    }
    EXPECT_GT(longer, 20u);
    // The same as all bytes detokenized at once, with invalid UTF-8 replaced.
    std::vector<TokenId> ids = kTextIds;
    const size_t prompt = engine->tokenizer().decode(ids).size();
    for (const Event& event : got.tokens) ids.push_back(event.id);
    const std::string bytes = engine->tokenizer().decode(ids).substr(prompt);
    EXPECT_EQ(got.text, utf8_sanitize(bytes)) << name;
  }
}

TEST(Text, EventsCarryTheBestTokens) {
  const auto engine = tiny_engine();
  GenerateOptions options = greedy(6);
  options.top_logprobs = 100;
  const Generated got = generate(*engine, kTextIds, options);
  std::vector<TokenId> so_far = kTextIds;
  for (const Event& event : got.tokens) {
    ASSERT_EQ(event.top.size(), 100u);
    EXPECT_EQ(event.top[0].first, event.id);
    EXPECT_EQ(event.top[0].second, event.logprob);
    EXPECT_TRUE(std::is_sorted(event.top.begin(), event.top.end(),
                               [](const auto& a, const auto& b) { return a.second > b.second; }));
    hash_of(*engine, so_far);
    EXPECT_EQ(top_logprobs(engine->session().logits(), 100), event.top);
    so_far.push_back(event.id);
  }
  const auto all = top_logprobs(engine->session().logits(), 1000);
  ASSERT_EQ(all.size(), 512u);
  double sum = 0;
  for (const auto& [id, logprob] : all) sum += std::exp(static_cast<double>(logprob));
  EXPECT_NEAR(sum, 1, 1e-5);
  options.top_logprobs = 0;
  EXPECT_TRUE(generate(*engine, kTextIds, options).tokens[0].top.empty());
}

// What each token was chosen from, against the logits of the same position, computed anew.
TEST(Text, EventsCarryWhatTheyWereChosenFrom) {
  const auto engine = tiny_engine();
  GenerateOptions options;
  options.max_tokens = 6;
  options.seed = 5;
  options.trace = 20;
  for (const float xtc : {0.f, 0.5f}) {  // it draws another number for each token
    options.xtc_probability = xtc;
    const Generated got = generate(*engine, kTextIds, options);
    ASSERT_EQ(got.tokens.size(), 6u);
    std::vector<TokenId> so_far = kTextIds;
    uint64_t draws = 0;
    for (const Event& event : got.tokens) {
      ASSERT_TRUE(event.raw.has_value());
      EXPECT_EQ(event.raw->draws, draws);
      draws += xtc > 0 ? 2 : 1;
      hash_of(*engine, so_far);
      const std::span<const float> logits = engine->session().logits();
      double sum = 0, entropy = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      for (const float logit : logits) {
        const double p = std::exp(static_cast<double>(logit)) / sum;
        entropy -= p * std::log(p);
      }
      EXPECT_NEAR(event.raw->log_sum, std::log(sum), 1e-5);
      EXPECT_NEAR(event.raw->entropy, entropy, 1e-5);
      ASSERT_EQ(event.raw->best.size(), 20u);
      const auto top = top_logprobs(logits, 20);
      for (size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(event.raw->best[i].first, top[i].first);
        EXPECT_EQ(event.raw->best[i].second, logits[static_cast<size_t>(top[i].first)]);
      }
      EXPECT_EQ(event.logprob, static_cast<float>(static_cast<double>(
                                   logits[static_cast<size_t>(event.id)] - event.raw->log_sum)));
      so_far.push_back(event.id);
    }
  }
  options.trace = 0;
  for (const Event& event : generate(*engine, kTextIds, options).tokens)
    EXPECT_FALSE(event.raw.has_value());
}

TEST(Text, SpecialTokensCountOnlyWhereAsked) {
  const auto engine = tiny_engine();
  GenerateOptions options = greedy(0);
  generate(*engine, std::string_view("<|im_end|>"), options);
  EXPECT_GT(engine->stats().prompt_tokens, 1);
  options.special = true;
  generate(*engine, std::string_view("<|im_end|>"), options);
  EXPECT_EQ(engine->stats().prompt_tokens, 1);
}

TEST(Text, SuppressedTokensAreNeverWritten) {
  const auto plain = tiny_engine();
  GenerateOptions options = greedy(12);
  options.top_logprobs = 3;
  const Generated usual = generate(*plain, std::span(kTextIds), options);
  ASSERT_EQ(usual.tokens.size(), 12u);
  const TokenId first = usual.tokens[0].id;
  GgufBuilder file = tiny_model_file(tiny_model_named("qwen2-q8_0"));
  file.kv_array("tokenizer.ggml.suppress_tokens", ValueType::i32, std::vector<int32_t>{first});
  const auto engine = load_bytes(file.build(), small());
  const Generated other = generate(*engine, std::span(kTextIds), options);
  ASSERT_EQ(other.tokens.size(), 12u);
  for (const Event& event : other.tokens) EXPECT_NE(event.id, first);
  // The second best was taken. Log-probabilities stay those of the raw logits.
  EXPECT_EQ(other.tokens[0].id, usual.tokens[0].top[1].first);
  EXPECT_EQ(other.tokens[0].top, usual.tokens[0].top);
  EXPECT_EQ(other.tokens[0].logprob, usual.tokens[0].top[1].second);
  options.temperature = 3;
  options.top_k = 2;
  options.seed = 1;
  for (const Event& event : generate(*engine, std::span(kTextIds), options).tokens)
    EXPECT_NE(event.id, first);
}

}  // namespace
}  // namespace sluice
