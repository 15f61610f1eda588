// Vectors of several texts side by side, by models that write text.
#include "session/text_vectors.h"

namespace sluice {
namespace {

std::unique_ptr<Engine> engine_of(const std::string& name, LoadOptions options = options_of()) {
  return load_bytes(build_tiny_model(tiny_model_named(name)), options);
}

TEST(Vectors, AreThoseOfATextAlone) {
  for (const std::string name : {"llama-f32", "gemma3-q8_0", "gpt2-f16", "qwen3moe-q8_0",
                                 "gemma4-f16", "lfm2-f16", "qwen35-f16"}) {
    SCOPED_TRACE(name);
    const auto engine = engine_of(name, options_of(name == "gpt2-f16" ? 64 : 1024));
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->makes().text && engine->makes().vectors && !engine->makes().masks);
    EXPECT_EQ(engine->file_pooling(), Pooling::last);
    const Texts texts = texts_for(*engine);
    for (const Pooling pooling : kPoolings) {
      const std::vector<float> expected = alone(*engine, texts, pooling);
      EXPECT_TRUE(vectors_of(*engine, texts, pooling) == expected);
      if (pooling == Pooling::last) {
        EXPECT_TRUE(vectors_of(*engine, texts) == expected);
      }
      if (pooling != Pooling::mean) continue;
      for (const int64_t batch : {1, 300, 100000})
        EXPECT_TRUE(vectors_of(*engine, texts, pooling, batch) == expected) << batch;
    }
  }
}

TEST(Vectors, DontDependOnKernelsThreadsOrTheKvType) {
  const std::string bytes = build_tiny_model(tiny_model_named("qwen2-q8_0"));
  std::vector<float> expected;
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    for (const int32_t threads : {1, 2}) {
      LoadOptions options = options_of(1024, threads, kernels->name);
      options.kv_type = threads == 1 ? "f16" : "q8_0";
      const auto engine = load_bytes(bytes, options);
      ASSERT_NE(engine, nullptr);
      const std::vector<float> vectors = vectors_of(*engine, texts_for(*engine));
      if (expected.empty()) expected = vectors;
      EXPECT_TRUE(vectors == expected) << kernels->name << ", " << threads;
    }
  }
}

// The layers are read again once for each pass, not for each text.
TEST(Vectors, ShareOneReadingOfTheWeights) {
  const std::string bytes = build_tiny_model(tiny_model_named("gemma3-q8_0"));
  const auto whole = load_bytes(bytes, options_of());
  ASSERT_NE(whole, nullptr);
  const Texts texts = some_texts(some_lengths(), whole->tokenizer().vocab_size(), 100);
  const std::vector<float> expected = vectors_of(*whole, texts);
  const TemporaryFile file(bytes);
  const auto engine = PlannedEngine::open(
      file.path(), options_of(), {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  // How often the first layer is read. The parts of the head aren't, except when nothing runs:
  // before the run begins, and after it has ended.
  const auto fills = [&](int64_t batch) {
    const std::vector<SlotView> before = (*engine)->slots();
    EXPECT_TRUE(vectors_of(**engine, texts, Pooling::none, batch) == expected) << batch;
    const std::vector<SlotView> after = (*engine)->slots();
    for (size_t i = before.size() - 3; i < before.size(); ++i) {
      EXPECT_EQ(after[i].kind, SlotView::Kind::head);
      EXPECT_LE(after[i].fills, before[i].fills + 2);
    }
    return after[1].fills - before[1].fills;
  };
  fills(0);
  EXPECT_LE(fills(0), 2);  // it may be read once more for a pass that doesn't come
  const auto n = static_cast<double>(texts.size());
  EXPECT_GE(fills(1), n - 1);
  EXPECT_LE(fills(1), n + 1);
}

TEST(Vectors, WaitForWeightsThatArriveLate) {
  const std::string bytes = build_tiny_model(tiny_model_named("qwen2-q8_0"));
  const auto whole = load_bytes(bytes, options_of());
  ASSERT_NE(whole, nullptr);
  const Texts texts = texts_for(*whole);
  const std::vector<float> expected = vectors_of(*whole, texts);
  auto engine = Engine::create(options_of(), {bytes.size()});
  ASSERT_TRUE(engine.has_value());
  Stream stream(**engine);
  size_t at = 0;
  const auto bring = [&](size_t n) {
    n = std::min(n, bytes.size() - at);
    EXPECT_TRUE(stream.push(as_bytes(std::string_view(bytes).substr(at, n))).has_value());
    at += n;
  };
  while (!(*engine)->has_tokenizer()) bring(1 << 12);
  Session& session = (*engine)->session();
  ASSERT_TRUE(session.start_vectors(texts, Pooling::none).has_value());
  int waited = 0;
  const auto done = drive(session, [&](const Event& event) {
    if (event.kind != Event::Kind::waiting) return;
    ++waited;
    bring(1 << 14);
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_GT(waited, 2);
  EXPECT_TRUE(copy(session.vectors()) == expected);
}

// What a session has written, and how it goes on, is as if there had been no vectors.
TEST(Vectors, LeaveTheSessionAsItWas) {
  const auto engine = tiny_engine(1024), other = tiny_engine(1024);
  const std::vector<TokenId> prompt = some_ids(50, 512);
  generate(*engine, prompt, drawing(5, 3));
  generate(*other, prompt, drawing(5, 3));
  const std::vector<TokenId> written = engine->session().written();
  vectors_of(*engine, texts_for(*engine));
  EXPECT_EQ(engine->session().written(), written);
  EXPECT_FALSE(engine->session().vectors().empty());
  for (Engine* one : {engine.get(), other.get()}) {
    ASSERT_TRUE(one->session().resume(drawing(8)).has_value());
    finish_run(*one);
  }
  EXPECT_EQ(engine->session().written(), other->session().written());
  EXPECT_GT(engine->session().written().size(), written.size());
  EXPECT_TRUE(engine->session().vectors().empty());
  EXPECT_EQ(engine->session().texts_done(), 0u);
}

TEST(Vectors, CanBeCancelled) {
  const auto engine = tiny_engine(1024);
  const Texts texts = texts_for(*engine);
  const std::vector<float> expected = vectors_of(*engine, texts, Pooling::none, 300);
  Session& session = engine->session();
  ASSERT_TRUE(session.start_vectors(texts, Pooling::none, 300).has_value());
  const Status again = session.start_vectors(texts, Pooling::none);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::busy);
  const auto done = drive(session, [&](const Event&) { return session.texts_done() < 5; });
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(*done, Finish::aborted);
  EXPECT_GE(session.texts_done(), 5u);
  EXPECT_LT(session.texts_done(), texts.size());
  EXPECT_TRUE(
      std::ranges::equal(session.vectors(), std::span(expected).first(session.vectors().size())));
  EXPECT_TRUE(vectors_of(*engine, texts, Pooling::none, 300) == expected);
  // In the middle of a pass, too.
  ASSERT_TRUE(session.start_vectors(texts, Pooling::none).has_value());
  ASSERT_TRUE(session.step().has_value());
  session.truncate(0);
  EXPECT_FALSE(session.running());
  EXPECT_EQ(session.texts_done(), 0u);
  EXPECT_TRUE(vectors_of(*engine, texts, Pooling::none) == expected);
}

TEST(Vectors, AreRefusedOfTextsThatCantBeComputed) {
  const auto engine = tiny_engine(64);
  Session& session = engine->session();
  vectors_of(*engine, {{1, 2, 3}});
  const std::vector<float> before = copy(session.vectors());
  const auto expect_refused = [&](const Texts& texts, Code code, std::string_view part,
                                  int64_t batch = 0) {
    const Status started = session.start_vectors(texts, Pooling::mean, batch);
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(code_name(started.error().code), code_name(code));
    EXPECT_NE(started.error().message.find(part), std::string::npos) << started.error().message;
    EXPECT_FALSE(session.running());
    EXPECT_EQ(copy(session.vectors()), before);
  };
  expect_refused({}, Code::invalid_argument, "there is no text");
  expect_refused({{1}, {}}, Code::invalid_argument, "text 1 is empty");
  expect_refused({{1}, {2, -1}}, Code::invalid_argument, "token -1 of text 1");
  expect_refused({{512}}, Code::invalid_argument, "token 512 of text 0");
  expect_refused({{1}}, Code::invalid_argument, "the batch is -1", -1);
  expect_refused({{1}, {1}, some_ids(65, 512)}, Code::context_full, "text 2 has 65 tokens");
  EXPECT_EQ(vectors_of(*engine, {some_ids(64, 512)}).size(),
            static_cast<size_t>(engine->vector_width()));
}

// A budget of just the plan has memory for a text that fills the context, and for many short ones.
TEST(Vectors, KeepToTheMemoryOfThePlan) {
  LoadOptions options = options_of();
  for (const uint32_t context : {1024u, 100u}) {
    options.context_size = context;
    options.memory_budget = 0;
    const std::string& bytes = tiny_bytes();
    options.memory_budget = load_bytes(bytes, options)->memory_plan().total();
    const auto engine = load_bytes(bytes, options);
    ASSERT_NE(engine, nullptr);
    const Texts texts = some_texts(some_lengths(), 512, context);
    std::vector<float> vectors;
    uint64_t most = 0;
    Session& session = engine->session();
    ASSERT_TRUE(session.start_vectors(texts, Pooling::mean, 100000).has_value());
    ASSERT_TRUE(drive(session, [&](const Event&) {
                  most = std::max(most, engine->stats().resident_bytes);
                }).has_value());
    EXPECT_LE(most, engine->memory_plan().total());
    EXPECT_EQ(session.texts_done(), texts.size());
    options.memory_budget = 0;
    EXPECT_TRUE(copy(session.vectors()) ==
                vectors_of(*load_bytes(bytes, options), texts, Pooling::mean));
    // Afterwards it holds little more than the vectors.
    EXPECT_LT(session.held_bytes(), 4 * session.vectors().size() + 4096);
    // A session that is full leaves no memory for a long text, but for its own.
    generate(*engine, some_ids(context - 1, 512), greedy(1));
    Session second(*engine);
    const Status refused = second.start_vectors({some_ids(context, 512)}, Pooling::mean);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::out_of_memory);
    EXPECT_FALSE(second.running());
  }
}

// Keys and values of one layer in f32 may be more than those of all layers as a session keeps them.
TEST(Vectors, KeepToAPlanForThemAlone) {
  for (const char* name : {"llama-f32", "gemma4-f16", "gemma3-f16", "lfm2-f16", "qwen35-f16"}) {
    SCOPED_TRACE(name);
    TinyModel model = tiny_model_named(name);
    if (model.architecture == "llama") model.n_layers = 1;
    const TemporaryFile file(build_tiny_model(model));
    const auto whole = open_file(file.path(), options_of());
    ASSERT_NE(whole, nullptr);
    const Texts text = {some_ids(1024, whole->tokenizer().vocab_size())};
    const std::vector<float> expected = vectors_of(*whole, text);
    LoadOptions options = options_of();
    options.kv_type = "q8_0";
    const uint64_t with_past = plan_memory(whole->header(), options)->kv;
    options.vectors_only = true;
    const MemoryPlan plan = *plan_memory(whole->header(), options);
    if (model.architecture == "llama") {
      EXPECT_GT(plan.kv, with_past);
    }
    for (const uint64_t budget : {plan.least, plan.total()}) {
      options.memory_budget = budget;
      const auto engine = Engine::open(file.path(), options);
      ASSERT_TRUE(engine.has_value()) << engine.error().message;
      EXPECT_TRUE(vectors_of(**engine, text) == expected);
      EXPECT_LE((*engine)->stats().resident_bytes, budget);
    }
  }
}

TEST(Vectors, FailIfNumbersOverflow) {
  GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
  auto& norm = file.find_tensor("output_norm.weight");
  norm.data = bytes_of(std::vector<float>(norm.dims[0], 3e38f));
  const auto engine = load_bytes(file.build(), options_of());
  ASSERT_NE(engine, nullptr);
  for (const Pooling pooling : kPoolings) {
    ASSERT_TRUE(engine->session().start_vectors({{1, 2}, {3}}, pooling).has_value());
    const auto done = drive(engine->session(), [](const Event&) {});
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::bad_file);
    EXPECT_FALSE(engine->session().running());
    EXPECT_EQ(engine->session().texts_done(), 0u);
  }
}

}  // namespace
}  // namespace sluice
