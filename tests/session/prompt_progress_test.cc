// Tests of Session::prompt_progress: never backwards, from what was reused to all tokens.
#include <algorithm>

#include "support/engine_fixture.h"
#include "support/planned_engine.h"
#include "support/stream.h"

namespace sluice {
namespace {

// Steps until the first token, or the end of a logits run. Returns the progress after each step.
std::vector<PromptProgress> progress_of(Session& session) {
  std::vector<PromptProgress> seen = {session.prompt_progress()};
  const auto finish = drive(session, [&](const Event& event) {
    seen.push_back(session.prompt_progress());
    return event.kind != Event::Kind::token;
  });
  EXPECT_TRUE(finish.has_value()) << finish.error().message;
  return seen;
}

void expect_rises(const std::vector<PromptProgress>& seen, int64_t from, int64_t to) {
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front().computed, from);
  EXPECT_EQ(seen.back().computed, to);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].total, to);
    EXPECT_EQ(seen[i].reused, from);
    if (i > 0) {
      EXPECT_GE(seen[i].computed, seen[i - 1].computed);
    }
    if (i + 1 < seen.size()) {
      EXPECT_LT(seen[i].computed, to);
    }
    if (seen[i].seconds_left) {
      EXPECT_GE(*seen[i].seconds_left, 0);
    }
  }
}

TEST(PromptProgress, RisesWithEveryBlockOfALayer) {
  const auto engine = tiny_engine(2048);
  ASSERT_NE(engine, nullptr);
  Session session(*engine);
  EXPECT_EQ(session.prompt_progress().total, 0);
  const auto ids = some_ids(900, engine->tokenizer().vocab_size());
  ASSERT_TRUE(session.start(ids, greedy(2)).has_value());
  const auto seen = progress_of(session);
  expect_rises(seen, 0, 900);
  for (size_t i = 2; i + 1 < seen.size(); ++i) EXPECT_GT(seen[i].computed, seen[i - 1].computed);
  EXPECT_GE(seen.size(), static_cast<size_t>(4 * engine->progress().layers_total));
  finish_run(session);
  EXPECT_EQ(session.prompt_progress().total, 0);
}

// A layer's experts come one after the other. A slice computes about as many rows as a block has.
TEST(PromptProgress, RisesWithTheExpertsOfALayer) {
  const TinyModel& model = tiny_model_named("qwen3moe-q8_0");
  const auto engine = load_bytes(build_tiny_model(model), small(1024));
  ASSERT_NE(engine, nullptr);
  Session session(*engine);
  const auto ids = some_ids(900, engine->tokenizer().vocab_size());
  ASSERT_TRUE(session.start(ids, greedy(2)).has_value());
  const auto seen = progress_of(session);
  expect_rises(seen, 0, 900);
  size_t rises = 0;
  for (size_t i = 1; i < seen.size(); ++i) rises += seen[i].computed > seen[i - 1].computed;
  EXPECT_GE(rises, size_t{8 * model.n_layers});
  // As often as blocks go through a layer's first stage, through its experts and its last stage.
  EXPECT_LE(seen.size(), size_t{(4 + 2 * 4 * model.n_used + 4) * model.n_layers} + 8);
}

TEST(PromptProgress, HasATimeLeftOnceALayerIsComputed) {
  const auto engine = tiny_engine(2048);
  ASSERT_NE(engine, nullptr);
  const int64_t n_layers = engine->progress().layers_total;
  ASSERT_TRUE(engine->session()
                  .start(some_ids(900, engine->tokenizer().vocab_size()), greedy(1))
                  .has_value());
  const auto seen = progress_of(engine->session());
  for (const PromptProgress& one : seen) {
    if (one.computed * (n_layers + 1) < 900) {
      EXPECT_FALSE(one.seconds_left.has_value()) << one.computed;
    } else if (one.computed * n_layers >= 900) {
      EXPECT_EQ(one.seconds_left.has_value(), one.computed < 900) << one.computed;
    }
    EXPECT_FALSE(one.waiting);
  }
}

TEST(PromptProgress, BeginsWithTheTokensThatAreReused) {
  const auto engine = tiny_engine(2048);
  ASSERT_NE(engine, nullptr);
  auto ids = some_ids(300, engine->tokenizer().vocab_size());
  generate(*engine, ids, greedy(1));
  for (const TokenId id : some_ids(600, engine->tokenizer().vocab_size(), 5)) ids.push_back(id);
  ASSERT_TRUE(engine->session().start(ids, greedy(1)).has_value());
  expect_rises(progress_of(engine->session()), 300, 900);
  finish_run(*engine);
  // One token is always computed.
  ASSERT_TRUE(engine->session().start(ids, greedy(1)).has_value());
  expect_rises(progress_of(engine->session()), 899, 900);
}

TEST(PromptProgress, CountsTheBatchesOfALogitsRun) {
  const auto engine = tiny_engine(2048);
  ASSERT_NE(engine, nullptr);
  ASSERT_TRUE(engine->session()
                  .start_logits(some_ids(700, engine->tokenizer().vocab_size()), 300)
                  .has_value());
  auto seen = progress_of(engine->session());
  // With the last part of the head the run is done, and it has no prompt any more.
  EXPECT_LT(seen.back().computed, 700);
  PromptProgress whole;
  whole.computed = whole.total = 700;
  seen.push_back(whole);
  expect_rises(seen, 0, 700);
  for (const int64_t batch : {300, 600}) {
    EXPECT_NE(std::ranges::find(seen, batch, &PromptProgress::computed), seen.end());
  }
}

TEST(PromptProgress, SaysThatThePromptWaitsForWeights) {
  const std::string& file = tiny_bytes();
  auto engine = Engine::create(small(2048), {file.size()});
  ASSERT_TRUE(engine.has_value());
  Stream stream(**engine);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  size_t at = 0;
  while (!(*engine)->has_tokenizer()) {
    ASSERT_TRUE(stream.push(bytes.subspan(at, 1)).has_value());
    ++at;
  }
  Session& session = (*engine)->session();
  ASSERT_TRUE(
      session.start(some_ids(900, (*engine)->tokenizer().vocab_size()), greedy(1)).has_value());
  std::vector<PromptProgress> seen;
  size_t waits = 0;
  const auto finish = drive(session, [&](const Event& event) {
    seen.push_back(session.prompt_progress());
    if (event.kind == Event::Kind::token) return;
    const bool waiting = event.kind == Event::Kind::waiting;
    EXPECT_EQ(seen.back().waiting, waiting);
    if (!waiting) return;
    ++waits;
    const size_t n = std::min<size_t>(5000, bytes.size() - at);
    ASSERT_GT(n, 0u);
    ASSERT_TRUE(stream.push(bytes.subspan(at, n)).has_value());
    at += n;
  });
  ASSERT_TRUE(finish.has_value()) << finish.error().message;
  EXPECT_GT(waits, 3u);
  expect_rises(seen, 0, 900);
}

// Under a budget layers are read again: the prompt waits for them, but they have arrived before.
TEST(PromptProgress, RisesWithLayersThatAreReadAgain) {
  const std::string& file = tiny_bytes();
  const TemporaryFile on_disk(file);
  auto engine = PlannedEngine::open(on_disk.path(), small(2048), {.layer_places = 2});
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  ASSERT_TRUE((*engine)->wait_ready().has_value());
  ASSERT_GT((*engine)->memory_plan().reread, 0u);
  Session& session = (*engine)->session();
  ASSERT_TRUE(
      session.start(some_ids(900, (*engine)->tokenizer().vocab_size()), greedy(1)).has_value());
  std::vector<PromptProgress> seen = {session.prompt_progress()};
  const auto finish = drive(session, [&](const Event& event) {
    seen.push_back(session.prompt_progress());
    EXPECT_FALSE(seen.back().waiting);
    if (event.kind == Event::Kind::waiting) {
      EXPECT_TRUE((*engine)->wait().has_value());
    }
  });
  ASSERT_TRUE(finish.has_value()) << finish.error().message;
  expect_rises(seen, 0, 900);
}

}  // namespace
}  // namespace sluice
