// Rows of the residual stream through the head alone: Session::start_head.
#include <algorithm>
#include <cstring>
#include <limits>

#include "session/results.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

constexpr size_t kHeadRows = Pass::kBlockTokens + 44;  // of two blocks

std::vector<float> copied(std::span<const float> all) { return {all.begin(), all.end()}; }

// Of the last layer of each position, and their logits.
struct LastRows {
  std::vector<float> hidden, logits;
};
LastRows last_rows(Engine& engine, const std::vector<TokenId>& ids) {
  Session session(engine);
  Results wanted;
  wanted.logits.all = wanted.hidden.all = true;
  wanted.hidden_layers = {engine.progress().layers_total - 1};
  EXPECT_TRUE(session.start_results(ids, 0, wanted).has_value());
  EXPECT_TRUE(drive_opened(engine, session).has_value());
  return {copied(session.hidden()), copied(session.logits())};
}

std::vector<float> head_of(Engine& engine, Session& session, std::span<const float> rows) {
  const Status started = session.start_head(rows);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  EXPECT_TRUE(drive_opened(engine, session).has_value());
  return copied(session.logits());
}

TEST(HeadAlone, GivesTheLogitsOfTheRun) {
  // Its head has a bias, a scale and a cap.
  std::vector<std::pair<std::string, std::string>> models = {{"bent", bent_bytes()}};
  for (const char* name : {"llama-f32", "llama-odd-q4_0", "gpt2-f16", "gemma4-odd-f32",
                           "qwen3moe-q8_0", "qwen35-odd-f32", "lfm2-odd-f32"})
    models.emplace_back(name, build_tiny_model(tiny_model_named(name)));
  for (const auto& [name, bytes] : models) {
    LoadOptions options = small(512);
    options.threads = 2;
    const auto engine = load_bytes(bytes, options);
    ASSERT_NE(engine, nullptr) << name;
    const std::vector<TokenId> ids = some_ids(kHeadRows, engine->tokenizer().vocab_size());
    const LastRows rows = last_rows(*engine, ids);
    EXPECT_TRUE(head_of(*engine, engine->session(), rows.hidden) == rows.logits) << name;
    // One row alone, and under a budget: the head in parts, which are read again.
    const size_t width = rows.hidden.size() / ids.size();
    const size_t n_vocab = rows.logits.size() / ids.size();
    const auto one = std::span(rows.hidden).subspan(7 * width, width);
    const std::vector<float> of_one = head_of(*engine, engine->session(), one);
    EXPECT_TRUE(std::ranges::equal(of_one, std::span(rows.logits).subspan(7 * n_vocab, n_vocab)));
    const TemporaryFile file(bytes);
    const auto parts = PlannedEngine::open(
        file.path(), options, {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(parts.has_value()) << parts.error().message;
    EXPECT_TRUE(head_of(**parts, (*parts)->session(), rows.hidden) == rows.logits) << name;
    EXPECT_TRUE(head_of(**parts, (*parts)->session(), one) == of_one) << name;
  }
}

// A run that needs no layers has none read for it.
TEST(HeadAlone, ReadsTheHeadAlone) {
  TinyModel model = tiny_model_named("llama-q8_0");
  model.n_layers = 5;
  const std::string bytes = build_tiny_model(model);
  const auto made =
      PlannedEngine::create(small(64), {bytes.size()}, {.layer_places = 2, .head_parts = 3});
  ASSERT_TRUE(made.has_value());
  Engine& engine = **made;
  const auto bring = [&] {
    for (const Want& want : engine.wants(UINT64_MAX)) {
      const size_t n = std::min<size_t>(want.place.size(), bytes.size() - want.offset);
      std::memcpy(want.place.data(), bytes.data() + want.offset, n);
      EXPECT_TRUE(engine.filled(want.offset, n).has_value());
    }
  };
  while (!engine.has_layout()) bring();
  ASSERT_TRUE(engine.build_tokenizer().has_value());
  bring();
  // How often each layer and each part of the head has come, all that had begun before included.
  const auto fills = [&](SlotView::Kind kind) {
    std::vector<double> all;
    for (const SlotView& slot : engine.slots())
      if (slot.kind == kind) all.push_back(slot.fills);
    return all;
  };
  const std::vector<double> layers = fills(SlotView::Kind::layer);
  const std::vector<double> head = fills(SlotView::Kind::head);
  const std::vector<float> rows(static_cast<size_t>(3 * engine.vector_width()), 0.5f);
  ASSERT_TRUE(engine.session().start_head(rows).has_value());
  for (bool done = false; !done;) {
    const auto event = engine.session().step();
    ASSERT_TRUE(event.has_value());
    done = event->kind == Event::Kind::done;
    if (!done) bring();
  }
  EXPECT_EQ(fills(SlotView::Kind::layer), layers);
  EXPECT_NE(fills(SlotView::Kind::head), head);
}

// The rows may be those that the session has; they stay. So do its tokens, and what it would write
// next.
TEST(HeadAlone, LeavesTheSessionAsItIs) {
  const auto engine = tiny_engine(64);
  const std::vector<TokenId> ids = some_ids(9, engine->tokenizer().vocab_size());
  Session& session = engine->session();
  generate(*engine, ids, greedy(3));
  const std::vector<TokenId> written = session.written();
  const auto other = session.clone();
  ASSERT_TRUE(other.has_value());
  const LastRows rows = last_rows(*engine, ids);
  head_of(*engine, session, rows.hidden);
  EXPECT_EQ(session.written(), written);
  const auto rest = [&](Session& of) {
    EXPECT_TRUE(of.resume(greedy(4)).has_value());
    EXPECT_TRUE(drive_opened(*engine, of).has_value());
    return of.written();
  };
  EXPECT_EQ(rest(session), rest(**other));

  Results wanted;
  wanted.logits.all = wanted.hidden.all = true;
  wanted.hidden_layers = {engine->progress().layers_total - 1};
  ASSERT_TRUE(session.start_results(ids, 0, wanted).has_value());
  ASSERT_TRUE(drive_opened(*engine, session).has_value());
  EXPECT_TRUE(head_of(*engine, session, session.hidden()) == rows.logits);
  EXPECT_TRUE(std::ranges::equal(session.hidden(), rows.hidden));
  EXPECT_TRUE(std::ranges::equal(session.tokens(), ids));
}

// It takes slices: a block of a part of the head.
TEST(HeadAlone, TakesSlicesAndCanBeCancelled) {
  const auto engine = tiny_engine(512);
  const LastRows rows = last_rows(*engine, some_ids(kHeadRows, engine->tokenizer().vocab_size()));
  Session& session = engine->session();
  ASSERT_TRUE(session.start_head(rows.hidden).has_value());
  EXPECT_EQ(session.prompt_progress().total, 0);
  EXPECT_EQ(session.start_head(rows.hidden).error().code, Code::busy);
  EXPECT_EQ(session.step()->kind, Event::Kind::working);
  EXPECT_TRUE(session.running());
  session.cancel();
  EXPECT_EQ(session.step()->finish, Finish::aborted);
  EXPECT_FALSE(session.running());
  EXPECT_TRUE(head_of(*engine, session, rows.hidden) == rows.logits);
}

TEST(HeadAlone, RefusesRowsThatAreNone) {
  const auto engine = tiny_engine(64);
  const LastRows rows = last_rows(*engine, {1, 2, 3});
  const size_t width = rows.hidden.size() / 3;
  const auto refused = [&](std::span<const float> some, std::string_view says) {
    const Status status = engine->session().start_head(some);
    ASSERT_FALSE(status.has_value()) << says;
    EXPECT_EQ(status.error().code, Code::invalid_argument);
    EXPECT_NE(status.error().message.find(says), std::string::npos) << status.error().message;
    EXPECT_FALSE(engine->session().running());
  };
  refused({}, "takes whole rows");
  refused(std::span(rows.hidden).first(width - 1), "takes whole rows");
  refused(std::span(rows.hidden).first(2 * width + 1), "takes whole rows");
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::infinity(), 0x1p48f}) {
    std::vector<float> some = rows.hidden;
    some[2 * width - 1] = bad;
    refused(some, "of finite numbers");
  }
}

TEST(HeadAlone, IsOfModelsThatWriteText) {
  for (const char* name : {"bert-q8_0", "bert-masks-q8_0"}) {
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), small(64));
    ASSERT_NE(engine, nullptr) << name;
    const std::vector<float> rows(static_cast<size_t>(engine->vector_width()), 1.0f);
    const Status status = engine->session().start_head(rows);
    ASSERT_FALSE(status.has_value()) << name;
    EXPECT_EQ(status.error().code, Code::unsupported_model) << name;
  }
}

TEST(HeadAlone, CountsAsTheSessionsMemory) {
  LoadOptions options = small(64);
  options.memory_budget = load_bytes(tiny_bytes(), options)->memory_plan().total();
  const auto engine = load_bytes(tiny_bytes(), options);
  ASSERT_NE(engine, nullptr);
  const LastRows few = last_rows(*engine, {1});
  std::vector<float> many;
  for (int i = 0; i < 4096; ++i) many.insert(many.end(), few.hidden.begin(), few.hidden.end());
  Session& session = engine->session();
  head_of(*engine, session, few.hidden);
  const uint64_t held = session.held_bytes();
  const Status refused = session.start_head(many);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::out_of_memory);
  EXPECT_NE(refused.error().message.find("a block of logits needs"), std::string::npos);
  EXPECT_EQ(session.held_bytes(), held);
  EXPECT_TRUE(std::ranges::equal(session.logits(), few.logits));  // it keeps what it has
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
}

}  // namespace
}  // namespace sluice
