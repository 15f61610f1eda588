// Vectors of several texts side by side, by a model whose layers see both ways.
#include "session/encoder.h"
#include "session/text_vectors.h"

namespace sluice {
namespace {

TEST(EncoderVectors, DontDependOnWhatElseIsInThePass) {
  const TemporaryFile file(encoder_bytes());
  std::vector<std::vector<float>> expected;
  const auto check = [&](Engine& engine) {
    const Texts texts = some_texts(some_lengths(), 512);
    if (expected.empty())
      for (const Pooling pooling : kPoolings) expected.push_back(alone(engine, texts, pooling));
    for (size_t i = 1; i < expected.size(); ++i)
      EXPECT_TRUE(vectors_of(engine, texts, kPoolings[i]) == expected[i]) << i;
    for (const int64_t batch : {1, 0, 300, 100000})
      EXPECT_TRUE(vectors_of(engine, texts, Pooling::none, batch) == expected[0]) << batch;
  };
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    SCOPED_TRACE(kernels->name);
    for (const int32_t threads : {1, 2}) {
      const auto engine = load_bytes(encoder_bytes(), options_of(1024, threads, kernels->name));
      ASSERT_NE(engine, nullptr);
      EXPECT_TRUE(!engine->makes().text && engine->makes().vectors);
      EXPECT_EQ(engine->file_pooling(), Pooling::mean);
      check(*engine);
    }
  }
  const auto told = PlannedEngine::open(file.path(), options_of(),
                                        {.layer_places = 2, .head_parts = 1, .embedding_rows = 16});
  ASSERT_TRUE(told.has_value()) << told.error().message;
  check(**told);
}

// Tokens see their whole text, within the window of the layers that have one, and no other text.
TEST(EncoderVectors, SeeTheirOwnText) {
  const auto engine = load_bytes(encoder_bytes(), options_of());
  ASSERT_NE(engine, nullptr);
  Texts texts = some_texts(some_lengths(), 512);
  const std::vector<float> before = vectors_of(*engine, texts, Pooling::first, 100000);
  const auto width = static_cast<size_t>(engine->vector_width());
  for (const size_t changed : {size_t{1}, size_t{4}, texts.size() - 1}) {
    Texts some = texts;
    some[changed].back() = (some[changed].back() + 1) % 512;
    const std::vector<float> after = vectors_of(*engine, some, Pooling::first, 100000);
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(std::ranges::equal(std::span(after).subspan(i * width, width),
                                   std::span(before).subspan(i * width, width)),
                i != changed)
          << i;
  }
}

// Its plan has a text that fills the context and a batch of others, but no past.
TEST(EncoderVectors, KeepToTheMemoryOfThePlan) {
  const TemporaryFile file(encoder_bytes());
  for (const uint32_t context : {1024u, 64u}) {
    const Texts texts = some_texts(some_lengths(), 512, context);
    const auto whole = load_bytes(encoder_bytes(), options_of(context));
    ASSERT_NE(whole, nullptr);
    const std::vector<float> expected = vectors_of(*whole, texts);
    const MemoryPlan plan = whole->memory_plan();
    // Keys and values of one layer.
    const uint64_t heads = 4 * 2 * 32;
    EXPECT_EQ(plan.kv, heads * std::max(context, 512u));
    for (const uint64_t budget :
         {plan_memory(whole->header(), options_of(context))->least, plan.total()}) {
      LoadOptions options = options_of(context);
      options.memory_budget = budget + 8 * 4 * 64 * texts.size();  // and for all vectors
      const auto engine = Engine::open(file.path(), options);
      ASSERT_TRUE(engine.has_value()) << engine.error().message;
      EXPECT_TRUE(vectors_of(**engine, texts) == expected);
      EXPECT_LE((*engine)->stats().resident_bytes, options.memory_budget);
      EXPECT_TRUE(vectors_of(**engine, {some_ids(context, 512)}) ==
                  vectors_of(*whole, {some_ids(context, 512)}));
    }
  }
}

// A run over one text is one pass, because all of it is seen.
TEST(EncoderVectors, OfOneRunHaveOnePass) {
  const auto engine = load_bytes(encoder_bytes(), options_of());
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> ids = some_ids(600, 512);
  Results wanted;
  wanted.pooling = Pooling::mean;
  std::vector<float> expected;
  for (const int64_t batch : {0, 100}) {
    ASSERT_TRUE(engine->session().start_results(ids, batch, wanted).has_value());
    finish_run(*engine);
    if (expected.empty()) expected = copy(engine->session().pooled());
    EXPECT_TRUE(copy(engine->session().pooled()) == expected);
  }
  identify(*engine);
  const auto file = engine->session().save();
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, Code::unsupported_model);
}

}  // namespace
}  // namespace sluice
