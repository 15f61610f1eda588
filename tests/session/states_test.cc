// Hidden states of several texts side by side.
#include "session/states.h"

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "session/observe.h"
#include "session/text_vectors.h"

namespace sluice {
namespace {

constexpr StatesAt kEverywhere[] = {StatesAt::residual, StatesAt::attention, StatesAt::ffn};

int64_t layers_of(const Engine& engine) { return engine.progress().layers_total; }

std::vector<int64_t> all_layers(const Engine& engine) {
  std::vector<int64_t> layers(static_cast<size_t>(layers_of(engine)));
  for (size_t i = 0; i < layers.size(); ++i) layers[i] = static_cast<int64_t>(i);
  return layers;
}

size_t tokens_of(const Texts& texts) {
  size_t n = 0;
  for (const auto& text : texts) n += text.size();
  return n;
}

std::vector<float> states_of(Engine& engine, const Texts& texts, const StatesWanted& wanted,
                             int64_t batch = 0) {
  Session& session = engine.session();
  const Status started = session.start_states(texts, wanted, batch);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  int64_t computed = 0;
  Status waited;
  const auto done = drive(session, [&](const Event& event) {
    if (event.kind == Event::Kind::waiting) waited = engine.wait();
    const PromptProgress progress = session.prompt_progress();
    EXPECT_GE(progress.computed, computed);
    EXPECT_LE(progress.computed, progress.total);
    computed = progress.computed;
    return waited.has_value();
  });
  EXPECT_TRUE(waited.has_value() && done.has_value());
  EXPECT_EQ(session.texts_done(), texts.size());
  EXPECT_TRUE(session.vectors().empty());
  const size_t rows = wanted.of == StatesOf::all ? tokens_of(texts) : texts.size();
  EXPECT_EQ(session.states().size(),
            rows * wanted.layers.size() * static_cast<size_t>(engine.state_width()));
  return copy(session.states());
}

// A text's states of all its positions, [layers][positions][n_embd], from a run over it alone: the
// residual as Session::hidden() has it, the branches as an observer of that run reads them.
class Alone final : public Observer {
 public:
  static std::vector<float> of(Engine& engine, const std::vector<TokenId>& ids,
                               const StatesWanted& wanted) {
    Session session(engine);
    Results results;
    results.hidden.all = true;
    results.hidden_layers = wanted.layers;
    Alone seen(wanted);
    EXPECT_TRUE(set_observer(session, &seen).has_value());
    EXPECT_TRUE(session.start_results(ids, 0, results).has_value());
    EXPECT_TRUE(drive_opened(engine, session).has_value());
    return wanted.at == StatesAt::residual ? copy(session.hidden()) : seen.rows_;
  }
  Points points(int64_t layer) const override {
    const bool here = std::ranges::binary_search(wanted_.layers, layer);
    return {.attention_branch = here && wanted_.at == StatesAt::attention,
            .ffn_branch = here && wanted_.at == StatesAt::ffn};
  }
  void read(const PointRows<const float>&, const ObservedMatrix&) override {}
  void visit(const PointRows<float>& rows) override {
    for (int64_t i = 0; i < rows.n_tokens; ++i)
      rows_.insert(rows_.end(), rows.row(i).begin(), rows.row(i).end());
  }

 private:
  explicit Alone(const StatesWanted& wanted) : wanted_(wanted) {}
  const StatesWanted& wanted_;
  std::vector<float> rows_;
};

// Of each text alone, by what is wanted of its positions.
std::map<StatesOf, std::vector<float>> expected_of(Engine& engine, const Texts& texts,
                                                   const StatesWanted& wanted) {
  std::map<StatesOf, std::vector<float>> expected;
  const auto add = [&](StatesOf of, std::span<const float> rows) {
    expected[of].insert(expected[of].end(), rows.begin(), rows.end());
  };
  for (const std::vector<TokenId>& ids : texts) {
    const std::vector<float> all = Alone::of(engine, ids, wanted);
    const size_t width = all.size() / wanted.layers.size() / ids.size();
    for (size_t l = 0; l < wanted.layers.size(); ++l) {
      const auto rows = std::span(all).subspan(l * ids.size() * width, ids.size() * width);
      std::vector<float> sum(width);
      for (size_t i = 0; i < rows.size(); ++i) sum[i % width] = sum[i % width] + rows[i];
      for (float& x : sum) x = x / static_cast<float>(ids.size());
      add(StatesOf::all, rows);
      add(StatesOf::last, rows.last(width));
      add(StatesOf::mean, sum);
    }
  }
  return expected;
}

TEST(States, AreThoseOfATextAlone) {
  for (const std::string name : {"llama-f32", "gemma3-q8_0", "gpt2-f16", "qwen3moe-q8_0",
                                 "gemma4-f16", "lfm2-f16", "qwen35-f16", "bert-f32"}) {
    SCOPED_TRACE(name);
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)),
                                   options_of(name == "gpt2-f16" ? 64 : 300));
    ASSERT_NE(engine, nullptr);
    const Texts texts = texts_for(*engine);
    for (const StatesAt at : kEverywhere) {
      StatesWanted wanted = {at, StatesOf::all, all_layers(*engine)};
      auto expected = expected_of(*engine, texts, wanted);
      // Chosen, one text after the other, some together, and all.
      const std::pair<StatesOf, int64_t> ways[] = {
          {StatesOf::all, 0}, {StatesOf::last, 1}, {StatesOf::mean, 300}, {StatesOf::all, 100000}};
      for (const auto& [of, batch] : ways) {
        wanted.of = of;
        EXPECT_TRUE(states_of(*engine, texts, wanted, batch) == expected[of])
            << "at " << static_cast<int>(at) << ", batch " << batch;
      }
    }
  }
}

TEST(States, DontDependOnKernelsThreadsOrTheKvType) {
  const std::string bytes = build_tiny_model(tiny_model_named("qwen2-q8_0"));
  std::vector<float> expected;
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    for (const int32_t threads : {1, 2}) {
      LoadOptions options = options_of(1024, threads, kernels->name);
      options.kv_type = threads == 1 ? "f16" : "q8_0";
      const auto engine = load_bytes(bytes, options);
      ASSERT_NE(engine, nullptr);
      const std::vector<float> states =
          states_of(*engine, texts_for(*engine), {StatesAt::ffn, StatesOf::mean, {0, 1}});
      if (expected.empty()) expected = states;
      EXPECT_TRUE(states == expected) << kernels->name << ", " << threads;
    }
  }
}

// Without a norm or a scale between them, what the two branches add is what changes.
TEST(States, BranchesAddUpToTheResidual) {
  for (const char* name : {"llama-f32", "gpt2-q8_0", "qwen3moe-q4_0", "lfm2-f16", "qwen35-f16"}) {
    SCOPED_TRACE(name);
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), options_of(64));
    ASSERT_NE(engine, nullptr);
    const Texts texts = {some_ids(9, 512), some_ids(1, 512)};
    const std::vector<int64_t> layers = all_layers(*engine);
    std::vector<float> at[3];
    for (size_t i = 0; i < 3; ++i)
      at[i] = states_of(*engine, texts, {kEverywhere[i], StatesOf::last, layers});
    const size_t width = at[0].size() / texts.size() / layers.size();
    for (size_t t = 0; t < texts.size(); ++t) {
      for (size_t l = 1; l < layers.size(); ++l) {
        const size_t row = (t * layers.size() + l) * width;
        for (size_t i = row; i < row + width; ++i)
          ASSERT_EQ(at[0][i], (at[0][i - width] + at[1][i]) + at[2][i]);
      }
    }
  }
}

// Chosen layers are those of all, and the ones behind the last aren't computed.
TEST(States, OfSomeLayersLeaveOutTheRest) {
  class Counter final : public Observer {
   public:
    Points points(int64_t) const override { return {.linear_input = true, .block_output = true}; }
    void read(const PointRows<const float>& rows, const ObservedMatrix&) override {
      last_read = std::max(last_read, rows.layer);
    }
    void visit(const PointRows<float>& rows) override {
      EXPECT_EQ(rows.point, Point::block_output);
      seen.push_back(rows.layer);
    }
    int64_t last_read = -1;
    std::vector<int64_t> seen;
  };
  const auto engine = load_bytes(build_tiny_model(tiny_model_named("gemma3-q8_0")), options_of(64));
  ASSERT_NE(engine, nullptr);
  ASSERT_GT(layers_of(*engine), 4);
  const Texts texts = {some_ids(9, 512), some_ids(5, 512)};
  const std::vector<float> all =
      states_of(*engine, texts, {StatesAt::attention, StatesOf::last, all_layers(*engine)});
  const size_t width = all.size() / texts.size() / all_layers(*engine).size();
  Counter counter;
  ASSERT_TRUE(set_observer(engine->session(), &counter).has_value());
  const std::vector<float> some =
      states_of(*engine, texts, {StatesAt::attention, StatesOf::last, {1, 3}});
  ASSERT_EQ(some.size(), 4 * width);
  for (size_t i = 0; i < 4; ++i) {
    const size_t row = i / 2 * all_layers(*engine).size() + (i % 2 == 0 ? 1 : 3);
    EXPECT_TRUE(std::ranges::equal(std::span(some).subspan(i * width, width),
                                   std::span(all).subspan(row * width, width)));
  }
  // The session's own observer sees its points, and stays.
  EXPECT_EQ(counter.seen, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(counter.last_read, 3);
  counter = Counter();
  vectors_of(*engine, texts);
  EXPECT_EQ(counter.seen, all_layers(*engine));
  EXPECT_GT(counter.last_read, 3);
  ASSERT_TRUE(set_observer(engine->session(), nullptr).has_value());
}

// The layers are read again once for each pass, not for each text, and the last ones not at all.
TEST(States, ShareOneReadingOfTheWeights) {
  const std::string bytes = build_tiny_model(tiny_model_named("gemma3-q8_0"));
  const auto whole = load_bytes(bytes, options_of());
  ASSERT_NE(whole, nullptr);
  const Texts texts = some_texts(some_lengths(), whole->tokenizer().vocab_size(), 100);
  const StatesWanted wanted = {StatesAt::residual, StatesOf::all, {0, 4}};
  const std::vector<float> expected = states_of(*whole, texts, wanted);
  const TemporaryFile file(bytes);
  const auto engine = PlannedEngine::open(
      file.path(), options_of(), {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const auto n_layers = static_cast<size_t>(layers_of(**engine));
  // How often the first layer is read, and the last one.
  struct Fills {
    double first, last;
  };
  const auto fills = [&](int64_t batch) -> Fills {
    const std::vector<SlotView> before = (*engine)->slots();
    EXPECT_TRUE(states_of(**engine, texts, wanted, batch) == expected) << batch;
    const std::vector<SlotView> after = (*engine)->slots();
    // Slot 0 is the embedding's.
    return {after[1].fills - before[1].fills, after[n_layers].fills - before[n_layers].fills};
  };
  // Some of these are read when nothing runs: before the run begins, and after it has ended. And of
  // the layers that a pass needs, one may stay for the next.
  constexpr double kMostIdle = 4;
  fills(0);
  EXPECT_LE(fills(0).first, kMostIdle);
  const Fills one_by_one = fills(1);
  EXPECT_GT(one_by_one.first, 2 * kMostIdle);
  EXPECT_LE(one_by_one.last, kMostIdle);
}

TEST(States, LeaveTheSessionAsItWas) {
  const auto engine = tiny_engine(1024), other = tiny_engine(1024);
  const std::vector<TokenId> prompt = some_ids(50, 512);
  generate(*engine, prompt, drawing(5, 3));
  generate(*other, prompt, drawing(5, 3));
  const std::vector<TokenId> written = engine->session().written();
  states_of(*engine, texts_for(*engine), {StatesAt::residual, StatesOf::last, {0}});
  EXPECT_EQ(engine->session().written(), written);
  for (Engine* one : {engine.get(), other.get()}) {
    ASSERT_TRUE(one->session().resume(drawing(8)).has_value());
    finish_run(*one);
  }
  EXPECT_EQ(engine->session().written(), other->session().written());
  EXPECT_GT(engine->session().written().size(), written.size());
  EXPECT_TRUE(engine->session().states().empty());
  EXPECT_EQ(engine->session().texts_done(), 0u);
}

TEST(States, ComeTextByTextAndCanBeCancelled) {
  const auto engine = tiny_engine(1024);
  const Texts texts = texts_for(*engine);
  const StatesWanted wanted = {StatesAt::residual, StatesOf::all, {0, 1}};
  const std::vector<float> expected = states_of(*engine, texts, wanted);
  const size_t row = expected.size() / tokens_of(texts);
  Session& session = engine->session();
  ASSERT_TRUE(session.start_states(texts, wanted, 300).has_value());
  EXPECT_TRUE(session.states().empty());
  EXPECT_EQ(session.start_states(texts, wanted).error().code, Code::busy);
  const auto done = drive(session, [&](const Event&) {
    const Texts finished(texts.begin(),
                         texts.begin() + static_cast<ptrdiff_t>(session.texts_done()));
    EXPECT_EQ(session.states().size(), row * tokens_of(finished));
    return session.texts_done() < 5;
  });
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(*done, Finish::aborted);
  EXPECT_LT(session.texts_done(), texts.size());
  EXPECT_GT(session.states().size(), 0u);
  EXPECT_TRUE(
      std::ranges::equal(session.states(), std::span(expected).first(session.states().size())));
  // In the middle of a pass, too: the next run has no observer.
  ASSERT_TRUE(session.start_states(texts, wanted).has_value());
  ASSERT_TRUE(session.step().has_value());
  session.truncate(0);
  EXPECT_EQ(session.texts_done(), 0u);
  vectors_of(*engine, texts);
  EXPECT_TRUE(session.states().empty());
  EXPECT_TRUE(states_of(*engine, texts, wanted) == expected);
}

TEST(States, AreRefusedOfWhatIsNotThere) {
  const auto engine = tiny_engine(64);
  Session& session = engine->session();
  const std::vector<float> before =
      states_of(*engine, {{1, 2, 3}}, {StatesAt::residual, StatesOf::last, {0}});
  const auto expect_refused = [&](const Texts& texts, std::vector<int64_t> layers, Code code,
                                  std::string_view part, int64_t batch = 0) {
    const Status started =
        session.start_states(texts, {StatesAt::ffn, StatesOf::all, std::move(layers)}, batch);
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(code_name(started.error().code), code_name(code));
    EXPECT_NE(started.error().message.find(part), std::string::npos) << started.error().message;
    EXPECT_FALSE(session.running());
    EXPECT_EQ(copy(session.states()), before);
  };
  const int64_t n = layers_of(*engine);
  const Texts one = {{1}};
  expect_refused({}, {0}, Code::invalid_argument, "there is no text");
  expect_refused({{1}, {}}, {0}, Code::invalid_argument, "text 1 is empty");
  expect_refused({{512}}, {0}, Code::invalid_argument, "token 512 of text 0");
  expect_refused({some_ids(65, 512)}, {0}, Code::context_full, "text 0 has 65 tokens");
  expect_refused(one, {0}, Code::invalid_argument, "the batch is -1", -1);
  expect_refused(one, {}, Code::invalid_argument, "asked of no layer");
  expect_refused(one, {0, n}, Code::invalid_argument, "layer " + std::to_string(n));
  expect_refused(one, {-1}, Code::invalid_argument, "layer -1");
  expect_refused(one, {1, 0}, Code::invalid_argument, "in ascending order");
  expect_refused(one, {1, 1}, Code::invalid_argument, "name each once");
}

// With memory for the states besides the plan, texts that don't fit together go one after the
// other. Without, they are refused at once.
TEST(States, KeepToTheMemory) {
  const std::string& bytes = tiny_bytes();
  const StatesWanted wanted = {StatesAt::attention, StatesOf::all, {0, 1}};
  const auto whole = load_bytes(bytes, options_of());
  std::vector<size_t> lengths;
  for (const size_t length : some_lengths()) lengths.insert(lengths.end(), 4, length);
  const Texts texts = some_texts(lengths, 512);
  const std::vector<float> expected = states_of(*whole, texts, wanted);
  LoadOptions options = options_of();
  options.memory_budget = whole->memory_plan().total() + 4 * expected.size();
  const auto engine = load_bytes(bytes, options);
  ASSERT_NE(engine, nullptr);
  Session& session = engine->session();
  ASSERT_TRUE(session.start_states(texts, wanted, 100000).has_value());
  uint64_t most = 0;
  size_t groups = 0, before = 0;
  ASSERT_TRUE(drive(session, [&](const Event&) {
                most = std::max(most, engine->stats().resident_bytes);
                groups += session.texts_done() > before;
                before = session.texts_done();
              }).has_value());
  EXPECT_GT(groups, 1u);
  EXPECT_LE(most, options.memory_budget);
  EXPECT_TRUE(copy(session.states()) == expected);
  EXPECT_LT(session.held_bytes(), 4 * expected.size() + 4096);

  options.memory_budget = whole->memory_plan().total();
  const auto tight = load_bytes(bytes, options);
  ASSERT_NE(tight, nullptr);
  const Texts many(50, some_ids(600, 512));
  const Status refused = tight->session().start_states(many, wanted);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::out_of_memory);
  EXPECT_NE(refused.error().message.find("hidden states of a text of 600 tokens"),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(tight->session().running());
}

TEST(States, FailIfNumbersOverflow) {
  GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
  auto& norm = file.find_tensor("blk.1.ffn_norm.weight");
  norm.data = bytes_of(std::vector<float>(norm.dims[0], 3e38f));
  const auto engine = load_bytes(file.build(), options_of());
  ASSERT_NE(engine, nullptr);
  // Of the layer before it, all is well.
  EXPECT_FALSE(states_of(*engine, {{1, 2}}, {StatesAt::residual, StatesOf::last, {0}}).empty());
  ASSERT_TRUE(engine->session()
                  .start_states({{1, 2}, {3}}, {StatesAt::residual, StatesOf::mean, {0, 1}})
                  .has_value());
  const auto done = drive(engine->session(), [](const Event&) {});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::bad_file);
  EXPECT_FALSE(engine->session().running());
  EXPECT_TRUE(engine->session().states().empty());
}

// The residual after each layer at the last token, of another engine.
TEST(States, AreThoseOfOtherEngines) {
  const std::string folder = SLUICE_ROOT "/../shared/models/";
  std::ifstream answers(folder + "hidden.json");
  if (!answers) GTEST_SKIP() << "there is no ../shared/models/hidden.json here";
  const auto models = nlohmann::json::parse(answers);
  for (const auto& [name, model] : models.items()) {
    SCOPED_TRACE(name);
    // Other forms of GELU.
    const double most =
        name.find("gpt2") != name.npos || name.find("gemma3") != name.npos ? 1e-3 : 1e-4;
    const auto engine = open_file(folder + "tiny/" + name, options_of(64));
    ASSERT_NE(engine, nullptr);
    ASSERT_EQ(layers_of(*engine), model["layers"].get<int64_t>());
    Texts texts;
    for (const auto& one : model["cases"]) texts.push_back(one["ids"].get<std::vector<TokenId>>());
    const std::vector<float> states =
        states_of(*engine, texts, {StatesAt::residual, StatesOf::last, all_layers(*engine)});
    size_t at = 0;
    double largest = 0;
    for (const auto& one : model["cases"]) {
      for (const auto& row : one["hidden"]) {
        for (const double x : row) {
          ASSERT_LT(at, states.size());
          largest = std::max(largest, std::abs(static_cast<double>(states[at++]) - x));
        }
      }
    }
    EXPECT_EQ(at, states.size());
    EXPECT_LT(largest, most);
    RecordProperty(name, std::to_string(largest));
  }
}

}  // namespace
}  // namespace sluice
