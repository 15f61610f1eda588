// A model without a head: what it refuses, and its memory. (Its texts side by side:
// encoder_vectors_test.cc.)
#include <cmath>

#include "engine/memory_plan.h"
#include "reply/format.h"
#include "session/encoder.h"
#include "session/observe.h"
#include "session/results.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

std::vector<float> pooled(Engine& engine, const std::vector<TokenId>& ids,
                          Pooling pooling = Pooling::mean) {
  Results wanted;
  wanted.pooling = pooling;
  const Status started = engine.session().start_results(ids, 0, wanted);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  const auto done = drive(engine.session(), [&](const Event& event) {
    if (event.kind == Event::Kind::waiting && !engine.wait().has_value()) return false;
    const PromptProgress progress = engine.session().prompt_progress();
    EXPECT_LE(progress.computed, progress.total);
    EXPECT_TRUE(std::isfinite(progress.seconds_left.value_or(0)));
    return true;
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_TRUE(engine.session().logits().empty());
  return {engine.session().pooled().begin(), engine.session().pooled().end()};
}

void expect_no_head(const Status& status) {
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::unsupported_model));
  EXPECT_NE(status.error().message.find("the model has no head"), std::string::npos);
  EXPECT_NE(status.error().message.find("take a model that writes text"), std::string::npos);
}

TEST(Headless, GivesNoLogitsAndWritesNoText) {
  const auto engine = load_bytes(encoder_bytes(), small(64));
  ASSERT_NE(engine, nullptr);
  Session& session = engine->session();
  const std::vector<TokenId> ids = some_ids(9, 512);
  expect_no_head(session.start_logits(ids, 0));
  expect_no_head(session.start_logits(ids, 0, true));
  expect_no_head(session.start("a", greedy(1)));
  expect_no_head(session.start(ids, greedy(1)));
  expect_no_head(session.start_reply(ids, greedy(1), {}));
  EXPECT_FALSE(pooled(*engine, ids).empty());
  expect_no_head(session.resume(greedy(1)));
  EXPECT_FALSE(session.running());
  EXPECT_FALSE(session.pooled().empty());  // a start that is refused leaves the results
}

// Also a layer that sees both ways goes block by block.
TEST(Headless, IsObservedByBlocks) {
  struct Counter final : Observer {
    Points points(int64_t) const override {
      return {.attention_branch = true, .block_output = true};
    }
    void read(const PointRows<const float>&, const ObservedMatrix&) override { ADD_FAILURE(); }
    void visit(const PointRows<float>& rows) override { tokens.push_back(rows.n_tokens); }
    std::vector<int64_t> tokens;
  } counter;
  const auto engine = load_bytes(encoder_bytes(), small(512));
  ASSERT_NE(engine, nullptr);
  constexpr int64_t kTokens = Pass::kBlockTokens + 44;
  const std::vector<TokenId> ids = some_ids(kTokens, 512);
  const std::vector<float> expected = pooled(*engine, ids);
  ASSERT_TRUE(set_observer(engine->session(), &counter).has_value());
  EXPECT_EQ(pooled(*engine, ids), expected);
  EXPECT_EQ(counter.tokens.size(), 8u);
  for (size_t i = 0; i < counter.tokens.size(); ++i)
    EXPECT_EQ(counter.tokens[i], i / 2 % 2 == 0 ? Pass::kBlockTokens : 44) << i;
}

TEST(Headless, GivesVectors) {
  const auto engine = load_bytes(encoder_bytes(), small(512));
  ASSERT_NE(engine, nullptr);
  std::vector<TokenId> ids = some_ids(Pass::kBlockTokens + 44, 512);
  Results wanted;
  wanted.pooling = Pooling::mean;
  wanted.hidden.chosen = {0, 1, 255, 256, ids.size() - 1};
  wanted.hidden_layers = {0, engine->progress().layers_total};
  ASSERT_TRUE(engine->session().start_results(ids, 0, wanted).has_value());
  finish_run(*engine);
  const std::vector<float> whole(engine->session().pooled().begin(),
                                 engine->session().pooled().end());
  ASSERT_FALSE(whole.empty());
  EXPECT_EQ(engine->session().hidden().size(), 2 * 5 * whole.size());
  EXPECT_EQ(pooled(*engine, ids), whole);
  // The last token counts in the first one's row: the layers see both ways.
  const std::vector<float> first = pooled(*engine, ids, Pooling::first);
  ids.back() = (ids.back() + 1) % 512;
  EXPECT_NE(pooled(*engine, ids, Pooling::first), first);
}

// The plan has the vector, and layers that are read again give the same one.
TEST(Headless, ItsPlanHoldsWithAnyBudget) {
  const TemporaryFile file(encoder_bytes());
  const std::vector<TokenId> ids = some_ids(512, 512);
  const auto whole = load_bytes(encoder_bytes(), small(512));
  ASSERT_NE(whole, nullptr);
  const std::vector<float> expected = pooled(*whole, ids);
  const auto plan = plan_memory(whole->header(), small(512));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_LT(plan->least, plan->total());
  for (const uint64_t budget : {plan->least, (plan->least + plan->total()) / 2, plan->total()}) {
    LoadOptions options = small(512);
    options.memory_budget = budget;
    const auto engine = Engine::open(file.path(), options);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(pooled(**engine, ids), expected) << budget;
    EXPECT_LE((*engine)->stats().resident_bytes, (*engine)->memory_plan().total());
  }
  LoadOptions options = small(512);
  options.memory_budget = plan->least - 1;
  const auto refused = Engine::open(file.path(), options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::budget_too_small);
  // In the file's order, and as told.
  const auto told = PlannedEngine::open(file.path(), small(512),
                                        {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_EQ(pooled(**told, ids), expected);
}

}  // namespace
}  // namespace sluice
