// Sessions of models with recurrent states: as those with windows (histories.h), and from where
// they go on.
#include "histories.h"
#include "reply/format.h"

namespace sluice {
namespace {

// `window`: of the layer that attends; 0: none.
std::string recurrent_model(uint32_t window) {
  TinyModel tiny = tiny_model_named("lfm2-q8_0");
  tiny.window = window;
  return build_tiny_model(tiny);
}

TEST(SessionRecurrent, NumbersAreThoseOfANewSession) {
  const Setting settings[] = {{"f32", 2, 0, 0, false, true},
                              {"f16", 1, 0, kDefaultMarks, false, true},
                              {"q8_0", 2, 100, 20'000, false, true},
                              {"f16", 2, 300, kDefaultMarks, false, true}};
  uint32_t seed = 31;
  for (const Setting& setting : settings)
    play(recurrent_model(setting.window), setting, seed++, 60);
}

TEST(SessionRecurrent, NumbersAreTheSameUnderTheLeastBudget) {
  const Setting settings[] = {{"f16", 2, 0, kDefaultMarks, true, true},
                              {"q8_0", 1, 50, 10'000, true, true}};
  uint32_t seed = 41;
  for (const Setting& setting : settings)
    play(recurrent_model(setting.window), setting, seed++, 40);
}

// Delta nets, whose states are matrices.
TEST(SessionRecurrent, NumbersOfDeltaNetsAreThoseOfANewSession) {
  const Setting settings[] = {{"f32", 2, 0, 0, false, true},
                              {"f16", 1, 0, kDefaultMarks, false, true},
                              {"q8_0", 2, 0, 200'000, true, true}};
  uint32_t seed = 61;
  for (const Setting& setting : settings) {
    const char* name = setting.least ? "qwen35-odd-f32" : "qwen35-q8_0";
    play(build_tiny_model(tiny_model_named(name)), setting, seed++, 30);
  }
}

// Models of which other layers attend, if they are there.
TEST(SessionRecurrent, NumbersOfSharedModelsAreThoseOfANewSession) {
  uint32_t seed = 51;
  for (const char* name :
       {"lfm2-f32", "lfm2-win-f32", "lfm2-q4_0", "qwen35-f32", "qwen35-mtp-f32"}) {
    const std::string path =
        std::string(SLUICE_ROOT) + "/../shared/models/tiny/tiny-" + name + ".gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no " << path;
    play(read_file(path), {"f16", 2, 0, 100'000, false, true}, seed++, 20);
  }
}

class Conversation : public testing::TestWithParam<bool> {
 protected:
  void begin(uint64_t snapshot_memory) {
    LoadOptions options = with("", 2);
    options.context_size = kContext;
    options.snapshot_memory = snapshot_memory;
    engine_ = load_bytes(recurrent_model(GetParam() ? 100 : 0), options);
    session_ = std::make_unique<Session>(*engine_);
  }
  int64_t reused_by(std::span<const TokenId> prompt, int64_t tokens) {
    const auto reusable = static_cast<int64_t>(session_->reusable(prompt));
    const Generated found = generate(*session_, prompt, greedy(tokens));
    const int64_t reused = session_->stats().reused_tokens;
    EXPECT_EQ(reused, reusable);
    Session afresh(*engine_);
    EXPECT_EQ(found.ids(), generate(afresh, prompt, greedy(tokens)).ids());
    return reused;
  }
  static std::vector<TokenId> then(std::span<const TokenId> text, size_t n, uint32_t seed) {
    std::vector<TokenId> all(text.begin(), text.end());
    std::ranges::copy(some_ids(n, 512, seed), std::back_inserter(all));
    return all;
  }
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_P(Conversation, GoesOnFromItsLastPrompts) {
  begin(0);
  const std::vector<TokenId> first = some_ids(700, 512);
  EXPECT_EQ(reused_by(first, 300), 0);
  EXPECT_EQ(reused_by(first, 300), 699);  // the same prompt again
  const std::vector<TokenId> answered = session_->written();
  const std::vector<TokenId> second = then(answered, 600, 2);
  EXPECT_EQ(reused_by(second, 300), 999);   // all; the answer's last token wasn't computed
  EXPECT_EQ(reused_by(second, 300), 1599);  // the answer again
  // Saved and brought back, the same.
  for (int time = 0; time < 2; ++time) {
    session_ = restored(*engine_, saved(*engine_, *session_));
    EXPECT_EQ(reused_by(second, 200), 1599);
  }
  // Another second message, which begins as the one before did: from the first prompt.
  EXPECT_EQ(reused_by(then(std::span(second).first(1010), 500, 3), 300), 699);
  EXPECT_EQ(reused_by(then(session_->written(), 300, 4), 300), 1809);
  EXPECT_EQ(reused_by(then(answered, 20, 5), 10), 0);  // two prompts back: not kept
}

TEST_P(Conversation, GoesOnAfterAChangeFarBackFromTheNearestMark) {
  begin(64 << 20);
  const std::vector<TokenId> text = some_ids(2600, 512);
  EXPECT_EQ(reused_by(std::span(text).first(2000), 0), 0);
  EXPECT_EQ(reused_by(text, 100), 2000);
  const auto changed_at = [&](size_t n) {
    return static_cast<int64_t>(session_->reusable(then(std::span(text).first(n), 9, 7)));
  };
  for (const size_t n : {2590, 2400, 1990, 1500, 900}) {
    const int64_t reusable = changed_at(n);
    EXPECT_EQ(reusable % 256, 0) << n;
    EXPECT_GE(reusable, 2600 - 256 - 3 * (2600 - static_cast<int64_t>(n))) << n;
    EXPECT_LE(reusable, static_cast<int64_t>(n));
  }
  EXPECT_GT(changed_at(900), 0);
  const int64_t expected = changed_at(1500);
  EXPECT_EQ(reused_by(then(std::span(text).first(1500), 50, 8), 20), expected);
}

INSTANTIATE_TEST_SUITE_P(SessionRecurrent, Conversation, testing::Bool(),
                         [](const auto& each) { return each.param ? "windows" : "all"; });

// In a chat's next prompt the last reply has lost what asked for it, and its reasoning: what is the
// same ends with the last message before it.
TEST(SessionRecurrent, AChatGoesOnFromItsLastMessage) {
  LoadOptions options = with("", 2);
  options.context_size = kContext;
  for (const char* name : {"lfm2-q8_0", "qwen35-q8_0", "gemma4-f32"}) {
    for (const int64_t n : {100, 350}) {
      SCOPED_TRACE(testing::Message() << name << ", messages of " << n);
      const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), options);
      ASSERT_NE(engine, nullptr);
      const bool recurrent = !std::string_view(name).starts_with("gemma");
      const TokenId end = engine->tokenizer().eos();
      const auto said = [&](std::vector<TokenId> chat, uint32_t seed) {
        for (const TokenId id : some_ids(static_cast<size_t>(n), 400, seed))
          chat.push_back(id == end ? 401 : id);
        chat.push_back(end);
        return chat;
      };
      auto session = std::make_unique<Session>(*engine);
      Session afresh(*engine);
      std::vector<TokenId> chat = said({}, 1);
      const auto reply = [&](Session& to) {
        std::vector<TokenId> prompt = chat;
        for (const TokenId id : {402, 403, 404, 405}) prompt.push_back(id);
        EXPECT_TRUE(to.start_reply(prompt, greedy(60), ReplyFormat()).has_value());
        const std::vector<TokenId> ids = finish_run(to).ids();
        EXPECT_LE(to.held_bytes(), engine->memory_plan().session);
        return ids;
      };
      const auto last = static_cast<int64_t>(recurrent ? 1 : 0);  // token of what is the same
      EXPECT_EQ(reply(*session), reply(afresh));
      for (uint32_t turn = 2; turn < 5; ++turn) {
        const auto same = static_cast<int64_t>(chat.size());
        chat = said(said(chat, 10 * turn), turn);
        if (turn == 4) session = restored(*engine, saved(*engine, *session));
        ASSERT_NE(session, nullptr);
        afresh.reset();
        EXPECT_EQ(reply(*session), reply(afresh));
        EXPECT_EQ(session->stats().reused_tokens, same - last);
      }
      // Another last message; and the same reply again.
      const auto before = static_cast<int64_t>(chat.size()) - 2 * (n + 1);
      chat.resize(chat.size() - static_cast<size_t>(n) / 2);
      chat.push_back(end);
      afresh.reset();
      EXPECT_EQ(reply(*session), reply(afresh));
      EXPECT_GE(session->stats().reused_tokens, before - last);
      EXPECT_EQ(reply(*session), reply(afresh));
      EXPECT_GE(session->stats().reused_tokens, static_cast<int64_t>(chat.size()) - last);
    }
  }
}

// A prompt of few tokens, and its answer in one pass for each.
TEST(SessionRecurrent, ShortPromptsAreAnsweredAgain) {
  LoadOptions options = with("", 2);
  options.context_size = kContext;
  const auto engine = load_bytes(recurrent_model(0), options);
  for (const size_t n : {1, 2, 3}) {
    Session session(*engine);
    const std::vector<TokenId> prompt = some_ids(n, 512);
    const std::vector<TokenId> expected = generate(session, prompt, greedy(20)).ids();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(generate(session, prompt, greedy(20)).ids(), expected);
      EXPECT_EQ(session.stats().reused_tokens, static_cast<int64_t>(n) - 1);
    }
  }
}

}  // namespace
}  // namespace sluice
