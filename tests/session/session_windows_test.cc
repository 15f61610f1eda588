// Sessions of models with windows: whatever came before, and from wherever a run goes on, it
// computes the same numbers as a new session does.
#include "histories.h"

namespace sluice {
namespace {

std::string windowed_model(uint32_t window) {
  TinyModel tiny = tiny_model_named("gemma3-wide-f32");
  tiny.window = window;
  return build_tiny_model(tiny);
}

TEST(SessionWindows, NumbersAreThoseOfANewSession) {
  const Setting settings[] = {{"f32", 2, 10, 0},
                              {"f16", 1, 100, 200'000},
                              {"q8_0", 2, 261, kDefaultMarks},
                              {"f16", 2, 300, 0}};
  uint32_t seed = 1;
  for (const Setting& setting : settings) play(windowed_model(setting.window), setting, seed++, 40);
}

// A conversation, as a program has it.
TEST(SessionWindows, AConversationGoesOnFromItsLastPrompts) {
  LoadOptions options = with("", 2);
  options.context_size = kContext;
  options.snapshot_memory = 0;
  const auto engine = load_bytes(windowed_model(100), options);
  auto session = std::make_unique<Session>(*engine);
  const auto reused_by = [&](std::span<const TokenId> prompt, int64_t tokens) {
    const Generated found = generate(*session, prompt, greedy(tokens));
    const int64_t reused = session->stats().reused_tokens;
    Session afresh(*engine);
    EXPECT_EQ(found.ids(), generate(afresh, prompt, greedy(tokens)).ids());
    return reused;
  };
  const auto then = [](std::vector<TokenId> text, size_t n, uint32_t seed) {
    std::ranges::copy(some_ids(n, 512, seed), std::back_inserter(text));
    return text;
  };
  const std::vector<TokenId> first = some_ids(700, 512);
  EXPECT_EQ(reused_by(first, 300), 0);
  const std::vector<TokenId> answered = session->written();
  std::vector<TokenId> second = then(answered, 600, 2);
  EXPECT_EQ(reused_by(second, 300), 999);   // all; the answer's last token wasn't computed
  EXPECT_EQ(reused_by(second, 300), 1599);  // the answer again
  // Saved and brought back, the same.
  for (int time = 0; time < 2; ++time) {
    session = restored(*engine, saved(*engine, *session));
    EXPECT_EQ(reused_by(second, 200), 1599);
  }
  // Another second message, which begins as the one before did.
  second = then(std::vector<TokenId>(second.begin(), second.begin() + 1010), 500, 3);
  EXPECT_EQ(reused_by(second, 300), 768);  // the first prompt, and what is in its last chunk
  EXPECT_EQ(reused_by(then(session->written(), 300, 4), 300), 1809);
  EXPECT_EQ(reused_by(then(answered, 20, 5), 10), 0);  // two prompts back: not kept
}

// What chooses between sessions: one may share more of a prompt than another and compute more.
TEST(SessionWindows, ReusableIsWhatARunReuses) {
  LoadOptions options = with("", 2);
  options.context_size = kContext;
  options.snapshot_memory = 0;
  const auto engine = load_bytes(windowed_model(100), options);
  Session session(*engine);
  EXPECT_EQ(session.reusable({}), 0U);
  const std::vector<TokenId> text = some_ids(2000, 512);
  EXPECT_EQ(session.reusable(text), 0U);
  for (const size_t n : {1200, 1600, 2000}) generate(session, std::span(text).first(n), greedy(1));
  ASSERT_EQ(session.tokens().size(), 2000U);

  const auto other_after = [&](size_t n) {
    std::vector<TokenId> prompt(text.begin(), text.begin() + static_cast<ptrdiff_t>(n));
    prompt.push_back((text[n] + 1) % 512);
    prompt.push_back(1);
    return prompt;
  };
  // The last prompt and the one before can be gone on from; what lies further back can't.
  const std::pair<std::vector<TokenId>, size_t> expected[] = {
      {{}, 0}, {{text[0]}, 0}, {text, 1999}, {other_after(1600), 1600}, {other_after(1000), 0},
  };
  for (const auto& [prompt, reusable] : expected) {
    SCOPED_TRACE(prompt.size());
    EXPECT_EQ(session.reusable(prompt), reusable);
    if (prompt.empty()) continue;
    const auto copy = session.clone();
    ASSERT_TRUE(copy.has_value());
    EXPECT_EQ((*copy)->reusable(prompt), reusable);
    ASSERT_TRUE((*copy)->start(prompt, greedy(1)).has_value());
    EXPECT_EQ((*copy)->stats().reused_tokens, static_cast<int64_t>(reusable));
  }
}

// Models with other layers, if they are there: of one every third sees all, of the other each.
class SharedModel : public testing::TestWithParam<const char*> {};

TEST_P(SharedModel, NumbersAreThoseOfANewSession) {
  const std::string path =
      std::string(SLUICE_ROOT) + "/../shared/models/tiny/tiny-gemma3-" + GetParam() + "-f32.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no " << path;
  play(read_file(path), {"f16", 2, 0, 500'000}, 21, 30);
}

INSTANTIATE_TEST_SUITE_P(SessionWindows, SharedModel, testing::Values("x", "full"));

TEST(SessionWindows, NumbersAreTheSameUnderTheLeastBudget) {
  const Setting settings[] = {{"f16", 2, 100, 0, true}, {"q8_0", 1, 261, 200'000, true}};
  uint32_t seed = 11;
  for (const Setting& setting : settings) play(windowed_model(setting.window), setting, seed++, 40);
}

}  // namespace
}  // namespace sluice
