// Tests of several sessions of one model: each gets the bits that it would get alone.
#include <algorithm>

#include "support/engine_fixture.h"

namespace sluice {
namespace {

// Options that draw tokens at random, because each session has its own sampler.
GenerateOptions seeded(uint64_t seed, int64_t max_tokens) {
  GenerateOptions options = greedy(max_tokens);
  options.temperature = 1;
  options.seed = seed;
  return options;
}

std::unique_ptr<Engine> two_threads(const std::string& file) {
  LoadOptions options;
  options.threads = 2;
  options.context_size = 1024;
  return load_bytes(file, options);
}

std::string logits_of(Session& session, std::span<const TokenId> ids, int64_t batch = 0) {
  EXPECT_TRUE(session.start_logits(ids, batch).has_value());
  finish_run(session);
  return logits_hash(session.logits());
}

// A run that is stepped by hand.
struct Stepped {
  explicit Stepped(Session& of) : session(of) {}

  Session& session;
  std::vector<TokenId> ids;
  bool done = false;

  void step() {
    if (done) return;
    const auto event = session.step();
    ASSERT_TRUE(event.has_value()) << event.error().message;
    if (event->kind == Event::Kind::token) ids.push_back(event->id);
    done = event->kind == Event::Kind::done;
  }
};

class Sessions : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine_ = two_threads(build_tiny_model(tiny_model_named(GetParam())));
    ASSERT_NE(engine_, nullptr);
    alone_ = two_threads(build_tiny_model(tiny_model_named(GetParam())));
    ASSERT_NE(alone_, nullptr);
  }
  std::vector<TokenId> ids(size_t n, uint32_t seed) const {
    return some_ids(n, engine_->tokenizer().vocab_size(), seed);
  }
  // The same run without another session.
  std::vector<TokenId> alone(const std::vector<TokenId>& prompt, const GenerateOptions& options) {
    alone_->session().reset();
    return generate(*alone_, prompt, options).ids();
  }
  std::string logits_alone(const std::vector<TokenId>& prompt) { return hash_of(*alone_, prompt); }

  std::unique_ptr<Engine> engine_, alone_;
};

// Prompts of several blocks, so that slices of two passes alternate within a layer.
TEST_P(Sessions, TakeTurnsByTheSlice) {
  Session other(*engine_);
  const std::vector<TokenId> a = ids(600, 1), b = ids(301, 2);
  ASSERT_TRUE(engine_->session().start(a, seeded(7, 12)).has_value());
  ASSERT_TRUE(other.start(b, seeded(8, 30)).has_value());
  Stepped first(engine_->session()), second(other);
  while (!first.done || !second.done) {
    first.step();
    second.step();
    if (HasFailure()) return;
  }
  EXPECT_EQ(first.ids, alone(a, seeded(7, 12)));
  EXPECT_EQ(second.ids, alone(b, seeded(8, 30)));
  EXPECT_EQ(logits_of(other, b, 7), logits_alone(b));
}

TEST_P(Sessions, ACloneGoesAnotherWayInTheMiddleOfAChunk) {
  Session first(*engine_);
  const std::vector<TokenId> prompt = ids(270, 3);
  generate(first, prompt, seeded(1, 10));
  std::vector<TokenId> so_far(first.tokens().begin(), first.tokens().end());
  ASSERT_GE(so_far.size(), 279u);  // the last token has no state yet
  const auto clone = first.clone();
  ASSERT_TRUE(clone.has_value());
  EXPECT_EQ((*clone)->tokens().size(), so_far.size());
  // Two chunks, shared in equal parts. Of windows and of states, which are large in delta nets, the
  // session keeps fewer than the plan has room for.
  const uint64_t shared = engine_->memory_plan().kv / (1024 / kKvChunk);
  EXPECT_LE((*clone)->held_bytes(), shared);
  EXPECT_GE((*clone)->held_bytes(),
            shared / (std::string_view(GetParam()).starts_with("qwen35") ? 4 : 2));

  std::vector<TokenId> a = so_far, b = so_far;
  for (const TokenId id : ids(20, 4)) a.push_back(id);
  for (const TokenId id : ids(300, 5)) b.push_back(id);
  ASSERT_TRUE(first.start(a, seeded(2, 8)).has_value());
  ASSERT_TRUE((*clone)->start(b, seeded(3, 8)).has_value());
  Stepped one(first), two(**clone);
  while (!one.done || !two.done) {
    two.step();
    one.step();
    if (HasFailure()) return;
  }
  EXPECT_EQ(one.ids, alone(a, seeded(2, 8)));
  EXPECT_EQ(two.ids, alone(b, seeded(3, 8)));
  // Nothing of the past was computed again.
  EXPECT_EQ((*clone)->stats().reused_tokens, static_cast<int64_t>(so_far.size()));
}

TEST_P(Sessions, GoOnFromWhereTheyAreCut) {
  Session session(*engine_);
  const std::vector<TokenId> prompt = ids(260, 6);
  generate(session, prompt, greedy(5));
  for (const size_t n : {size_t{258}, size_t{256}, size_t{100}, size_t{0}}) {
    session.truncate(n);
    EXPECT_EQ(session.tokens().size(), n);
    std::vector<TokenId> next(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(n));
    for (const TokenId id : ids(9, 7)) next.push_back(id);
    EXPECT_EQ(generate(session, next, seeded(4, 6)).ids(), alone(next, seeded(4, 6)));
    // A recurrent state has none but that of a multiple of 256 to go on from.
    const std::string_view model = GetParam();
    const bool recurrent = model.starts_with("lfm2") || model.starts_with("qwen35");
    EXPECT_EQ(session.stats().reused_tokens, static_cast<int64_t>(recurrent ? n / 256 * 256 : n));
    generate(session, prompt, greedy(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Sessions,
                         testing::Values("llama-q8_0", "qwen2-q4_0", "gemma3-f32", "lfm2-f32",
                                         "qwen35-f32", "gemma4-f32", "qwen3moe-q8_0"),
                         [](const auto& each) { return test_name(each.param); });

TEST(Session, IsBusyAlone) {
  const auto engine = tiny_engine();
  ASSERT_NE(engine, nullptr);
  Session other(*engine);
  const std::vector<TokenId> prompt = {3, 4, 5};
  ASSERT_TRUE(engine->session().start(prompt, greedy(4)).has_value());
  EXPECT_EQ(engine->session().start(prompt, greedy(4)).error().code, Code::busy);
  EXPECT_EQ(engine->session().start(prompt, greedy(4)).error().code, Code::busy);
  EXPECT_EQ(engine->session().clone().error().code, Code::busy);
  EXPECT_FALSE(other.running());
  EXPECT_EQ(generate(other, prompt, greedy(4)).ids().size(), 4u);
  EXPECT_TRUE(engine->session().running());
  EXPECT_EQ(finish_run(*engine).ids().size(), 4u);
}

TEST(Session, ThatIsCutWhileItRunsEnds) {
  const auto engine = tiny_engine();
  ASSERT_NE(engine, nullptr);
  Session session(*engine);
  const std::vector<TokenId> prompt = {3, 4, 5, 6};
  ASSERT_TRUE(session.start(prompt, greedy(50)).has_value());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(session.step().has_value());
  session.truncate(2);
  EXPECT_FALSE(session.running());
  EXPECT_EQ(session.tokens().size(), 2u);
  EXPECT_EQ(session.step()->kind, Event::Kind::done);
  EXPECT_EQ(generate(session, prompt, greedy(3)).ids(), generate(*engine, prompt, greedy(3)).ids());
}

TEST(Session, ThatGoesGivesItsMemoryBack) {
  const auto engine = tiny_engine();
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> prompt = {3, 4, 5, 6};
  generate(*engine, prompt, greedy(3));
  const uint64_t before = engine->stats().resident_bytes;
  {
    Session session(*engine);
    generate(session, prompt, greedy(3));
    EXPECT_EQ(engine->stats().resident_bytes, before + session.held_bytes());
    const auto clone = session.clone();
    ASSERT_TRUE(clone.has_value());
    // Each of the two counts half of the shared chunk.
    EXPECT_EQ(engine->stats().resident_bytes,
              before + session.held_bytes() + (*clone)->held_bytes());
    EXPECT_LT((*clone)->held_bytes(), engine->session().held_bytes());
  }
  EXPECT_EQ(engine->stats().resident_bytes, before);
}

}  // namespace
}  // namespace sluice
