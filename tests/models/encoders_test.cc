// Encoders and other models that make vectors of texts: the same bits however they are computed,
// and llama.cpp's answers for the models of ../shared.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "make/tiny_models.h"
#include "session/results.h"
#include "support/model_test.h"
#include "support/planned_engine.h"

namespace sluice {
namespace {

const std::string kSharedModels = SLUICE_ROOT "/../shared/models/";

LoadOptions with(const std::string& kernels, int32_t threads) {
  LoadOptions options;
  options.kernels = kernels;
  options.threads = threads;
  options.context_size = 512;
  return options;
}

// [texts][vector_width()].
std::vector<float> vectors_of(Engine& engine, const std::vector<std::vector<TokenId>>& texts,
                              Pooling pooling = Pooling::none) {
  Session& session = engine.session();
  const Status started = session.start_vectors(texts, pooling);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  const auto done = drive_opened(engine, session);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(session.texts_done(), texts.size());
  EXPECT_EQ(session.vectors().size(), texts.size() * static_cast<size_t>(engine.vector_width()));
  return {session.vectors().begin(), session.vectors().end()};
}

// --- tiny models -----------------------------------------------------------------------

std::vector<std::string> tiny_names(bool masks) {
  std::vector<std::string> names;
  for (const TinyModel& model : tiny_encoders())
    if (model.masks || !masks) names.push_back(model.name);
  return names;
}

class Encoders : public testing::TestWithParam<std::string> {
 protected:
  const TinyModel& model_ = tiny_model_named(GetParam());
  const std::string bytes_ = build_tiny_model(model_);
  // Of two blocks and chunks, of one token, and short ones.
  const std::vector<std::vector<TokenId>> texts_ = {
      some_ids(300, model_.n_vocab), some_ids(1, model_.n_vocab, 2), some_ids(9, model_.n_vocab, 3),
      some_ids(40, model_.n_vocab, 4)};
};

TEST_P(Encoders, SayWhatTheyMake) {
  const auto engine = load_bytes(bytes_, with("", 2));
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(engine->makes().text);
  EXPECT_TRUE(engine->makes().vectors);
  EXPECT_EQ(engine->makes().masks, model_.masks);
  EXPECT_EQ(engine->file_pooling(), static_cast<Pooling>(model_.pooling));
  const uint32_t last = model_.dense[1] > 0 ? model_.dense[1] : model_.dense[0];
  EXPECT_EQ(engine->vector_width(), last > 0 ? last : model_.n_embd);
}

TEST_P(Encoders, VectorsDoNotDependOnKernelsThreadsOrOtherTexts) {
  const auto reference = load_bytes(bytes_, with("generic", 1));
  ASSERT_NE(reference, nullptr);
  const std::vector<float> expected = vectors_of(*reference, texts_);
  const auto width = static_cast<ptrdiff_t>(reference->vector_width());
  for (size_t i = 0; i < texts_.size(); ++i) {
    const auto first = expected.begin() + static_cast<ptrdiff_t>(i) * width;
    EXPECT_EQ(vectors_of(*reference, {texts_[i]}), std::vector<float>(first, first + width)) << i;
  }
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    for (const int32_t threads : {1, 2, 3}) {
      const auto engine = load_bytes(bytes_, with(kernels->name, threads));
      ASSERT_NE(engine, nullptr);
      EXPECT_EQ(vectors_of(*engine, texts_), expected) << kernels->name << ", " << threads;
    }
  }
}

TEST_P(Encoders, VectorsDoNotDependOnHowTheFileCameOrOnTheBudget) {
  const auto whole = load_bytes(bytes_, with("", 2));
  ASSERT_NE(whole, nullptr);
  const std::vector<float> expected = vectors_of(*whole, texts_);
  for (const size_t piece : {size_t{7}, size_t{4099}}) {
    const auto engine = load_bytes(bytes_, with("", 2), piece);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(vectors_of(*engine, texts_), expected) << piece;
  }
  const TemporaryFile file(bytes_);
  const auto plan = plan_memory(whole->header(), with("", 2));
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  for (const uint64_t budget : {plan->least, (plan->least + plan->total()) / 2}) {
    LoadOptions options = with("", 2);
    options.memory_budget = budget;
    const auto engine = Engine::open(file.path(), options);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(vectors_of(**engine, texts_), expected) << budget;
    EXPECT_LE((*engine)->stats().resident_bytes, (*engine)->memory_plan().total());
  }
  const auto told = PlannedEngine::open(file.path(), with("", 2),
                                        {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_EQ(vectors_of(**told, texts_), expected);
}

INSTANTIATE_TEST_SUITE_P(Tiny, Encoders, testing::ValuesIn(tiny_names(false)),
                         [](const auto& each) { return test_name(each.param); });

// What a token sees is on both sides of it, in a text of its own.
TEST(Encoders, SeeBothWays) {
  for (const char* name :
       {"bert-f32", "nomic-bert-f32", "modern-bert-f32", "gemma-embedding-f32", "lfm2-embed-f32"}) {
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), with("", 2));
    ASSERT_NE(engine, nullptr);
    std::vector<TokenId> ids = some_ids(6, 500);
    const std::vector<float> first = vectors_of(*engine, {ids}, Pooling::first);
    const std::vector<float> last = vectors_of(*engine, {ids}, Pooling::last);
    std::vector<TokenId> others = ids;
    others.back() = (others.back() + 1) % 500;
    EXPECT_NE(vectors_of(*engine, {others}, Pooling::first), first) << name;
    others = ids;
    others.front() = (others.front() + 1) % 500;
    EXPECT_NE(vectors_of(*engine, {others}, Pooling::last), last) << name;
  }
}

// --- long texts and memory -------------------------------------------------------------

std::string refusal_of(Session& session, std::vector<TokenId> text, Code code) {
  const Status status = session.start_vectors({std::move(text)}, Pooling::none);
  EXPECT_FALSE(status.has_value());
  if (status.has_value()) return "";
  EXPECT_EQ(code_name(status.error().code), code_name(code));
  return status.error().message;
}

// Without a context in the options a model that writes no text takes texts as long as it allows.
// Its plan has 4096 tokens; what a longer text takes is checked when it comes.
TEST(Encoders, TakeTextsAsLongAsTheModelAllows) {
  TinyModel model = tiny_model_named("nomic-bert-f32");
  model.context = 8192;
  model.n_layers = 1;
  model.n_heads = model.n_kv_heads = 2;
  model.n_embd = 32;
  const std::string bytes = build_tiny_model(model);
  constexpr size_t kPlanned = 4096, kLong = 4400;
  LoadOptions options = with("", 2);
  options.context_size = kLong;
  const auto asked = load_bytes(bytes, options);
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->memory_plan().planned_tokens, kLong);
  options.memory_budget = asked->memory_plan().total();
  const std::vector<TokenId> text = some_ids(kLong, model.n_vocab);
  const std::vector<float> expected = vectors_of(*load_bytes(bytes, options), {text});

  options.context_size = 0;
  options.memory_budget = 0;
  const auto engine = load_bytes(bytes, options);
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->context_size(), 8192u);
  EXPECT_EQ(engine->memory_plan().context_size, 8192u);
  EXPECT_EQ(engine->memory_plan().planned_tokens, kPlanned);
  EXPECT_LT(engine->memory_plan().total(), asked->memory_plan().total());
  EXPECT_TRUE(engine->notes().empty());
  const uint64_t left = engine->memory_left();
  EXPECT_EQ(vectors_of(*engine, {text, {1}}).size(), 2 * expected.size());
  EXPECT_EQ(vectors_of(*engine, {text}), expected);
  // The turns of its positions stay. Those of 4096 are planned for.
  EXPECT_EQ(left - engine->memory_left(),
            engine->session().held_bytes() + RopeTable::bytes(model.head_dim, 2 * 256));
  EXPECT_NE(refusal_of(engine->session(), some_ids(8193, model.n_vocab), Code::context_full)
                .find("the context holds 8192"),
            std::string::npos);

  options.memory_budget = engine->memory_plan().total();
  const auto tight = load_bytes(bytes, options);
  ASSERT_NE(tight, nullptr);
  EXPECT_EQ(tight->context_size(), 8192u);
  vectors_of(*tight, {some_ids(kPlanned, model.n_vocab)});
  EXPECT_LE(tight->stats().resident_bytes, options.memory_budget);
  EXPECT_NE(refusal_of(tight->session(), text, Code::out_of_memory)
                .find("a vector of a text of 4400 tokens needs "),
            std::string::npos);
  Results wanted;
  wanted.pooling = Pooling::mean;
  const Status refused = tight->session().start_results(text, 0, wanted);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::out_of_memory);
}

// The context of a model that writes text is at most 4096, also if its file says how to pool.
TEST(Encoders, OfTextHaveTheContextOfTheOthers) {
  TinyModel model = tiny_model_named("qwen3-f32");
  model.context = 8192;
  const auto engine = load_bytes(build_tiny_model(model), LoadOptions());
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->context_size(), 4096u);
  EXPECT_EQ(engine->memory_plan().planned_tokens, 4096u);
}

// A budget of just the plan has memory for a text that fills the context, and for what dense layers
// make a vector of.
TEST(Encoders, KeepToTheMemoryOfThePlan) {
  for (const char* name : {"bert-q8_0", "modern-bert-f32", "gemma-embedding-f32",
                           "gemma-embedding-wide-f32", "lfm2-embed-f32", "lfm2-embed-odd-f32"}) {
    SCOPED_TRACE(name);
    const TinyModel& model = tiny_model_named(name);
    const TemporaryFile file(build_tiny_model(model));
    const auto whole = open_file(file.path(), with("", 2));
    ASSERT_NE(whole, nullptr);
    const std::vector<TokenId> text = some_ids(512, model.n_vocab);
    const std::vector<float> expected = vectors_of(*whole, {text});
    const MemoryPlan plan = *plan_memory(whole->header(), with("", 2));
    for (const uint64_t budget : {plan.least, plan.total()}) {
      LoadOptions options = with("", 2);
      options.memory_budget = budget;
      const auto engine = Engine::open(file.path(), options);
      ASSERT_TRUE(engine.has_value()) << engine.error().message;
      EXPECT_EQ(vectors_of(**engine, {text}), expected);
      EXPECT_LE((*engine)->stats().resident_bytes, budget);
    }
    // Short texts before it take more places than tokens, but what they take comes back.
    std::vector<std::vector<TokenId>> texts(40, some_ids(17, model.n_vocab));
    texts.push_back(text);
    LoadOptions options = with("", 2);
    options.memory_budget = plan.total() + 4 * expected.size() * texts.size();
    const auto engine = Engine::open(file.path(), options);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    const std::vector<float> vectors = vectors_of(**engine, texts);
    EXPECT_TRUE(std::ranges::equal(std::span(vectors).last(expected.size()), expected));
  }
}

// --- masked words ----------------------------------------------------------------------

class Masks : public Encoders {};

std::vector<float> logits_of(Engine& engine, const std::vector<TokenId>& ids, bool all,
                             std::vector<size_t> chosen) {
  Results wanted;
  wanted.logits = {all, std::move(chosen)};
  const Status started = engine.session().start_results(ids, 0, wanted);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  EXPECT_TRUE(drive_opened(engine, engine.session()).has_value());
  return {engine.session().logits().begin(), engine.session().logits().end()};
}

TEST_P(Masks, LogitsDoNotDependOnKernelsOrOnWhatStays) {
  const std::vector<TokenId>& ids = texts_[0];
  const auto reference = load_bytes(bytes_, with("generic", 1));
  ASSERT_NE(reference, nullptr);
  const std::vector<float> all = logits_of(*reference, ids, true, {});
  ASSERT_EQ(all.size(), ids.size() * model_.n_vocab);
  std::vector<float> expected;
  for (const size_t position : {size_t{0}, size_t{7}, size_t{299}}) {
    const auto row = all.begin() + static_cast<ptrdiff_t>(position * model_.n_vocab);
    expected.insert(expected.end(), row, row + model_.n_vocab);
  }
  for (const Kernels* kernels : all_kernels()) {
    if (!kernels->supported()) continue;
    const auto engine = load_bytes(bytes_, with(kernels->name, 3));
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(logits_of(*engine, ids, false, {0, 7, 299}), expected) << kernels->name;
  }
  const TemporaryFile file(bytes_);
  for (const int parts : {1, 2, 5}) {
    const auto told = PlannedEngine::open(
        file.path(), with("", 2), {.layer_places = 2, .head_parts = parts, .embedding_rows = 16});
    ASSERT_TRUE(told.has_value()) << told.error().message;
    EXPECT_EQ(logits_of(**told, ids, false, {0, 7, 299}), expected) << parts;
  }
  const auto plan = plan_memory(reference->header(), with("", 2));
  ASSERT_TRUE(plan.has_value());
  LoadOptions options = with("", 2);
  options.memory_budget = plan->least;
  const auto streamed = Engine::open(file.path(), options);
  ASSERT_TRUE(streamed.has_value()) << streamed.error().message;
  EXPECT_EQ(logits_of(**streamed, ids, false, {7}),
            std::vector<float>(expected.begin() + model_.n_vocab,
                               expected.begin() + 2 * ptrdiff_t{model_.n_vocab}));
}

TEST_P(Masks, TextIsRefused) {
  const auto engine = load_bytes(bytes_, with("", 2));
  ASSERT_NE(engine, nullptr);
  Session& session = engine->session();
  for (const Status& status :
       {session.start("a", greedy(1)), session.start(texts_[2], greedy(1))}) {
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, Code::unsupported_model);
    EXPECT_NE(status.error().message.find("head of the model is for masked words (bert)"),
              std::string::npos);
  }
  EXPECT_FALSE(session.running());
}

INSTANTIATE_TEST_SUITE_P(Tiny, Masks, testing::ValuesIn(tiny_names(true)),
                         [](const auto& each) { return test_name(each.param); });

// --- the recorded hashes ---------------------------------------------------------------

// Of the vector of the recorded ids and, of models with a head, of the last position's logits.
TEST(RecordedEncoders, AreThoseOfThisMachine) {
  const nlohmann::json recorded =
      nlohmann::json::parse(read_file(SLUICE_ROOT "/tests/data/hashes.json"), nullptr, false);
  const auto ids = recorded.at("ids").get<std::vector<TokenId>>();
  for (const TinyModel& model : tiny_encoders()) {
    SCOPED_TRACE(model.name);
    const auto engine = load_bytes(build_tiny_model(model), with("", 2));
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(recorded.at("vectors").contains(model.name));
    EXPECT_EQ(logits_hash(vectors_of(*engine, {ids})),
              recorded.at("vectors").at(model.name).get<std::string>());
    if (!model.masks) continue;
    EXPECT_EQ(hash_of(*engine, ids), recorded.at("masks").at(model.name).get<std::string>());
  }
}

// --- ../shared -------------------------------------------------------------------------

const nlohmann::json& vector_answers() {
  static const nlohmann::json all = [] {
    auto first =
        nlohmann::json::parse(read_file(kSharedModels + "embeddings.json"), nullptr, false);
    const auto more =
        nlohmann::json::parse(read_file(kSharedModels + "embeddings-more.json"), nullptr, false);
    if (first.is_object() && more.is_object()) first.update(more);
    return first;
  }();
  return all;
}

std::vector<std::string> vector_models() {
  std::vector<std::string> names;
  if (!vector_answers().is_object()) return {"absent"};
  for (const auto& model : vector_answers().items()) names.push_back(model.key());
  return names;
}

class SharedVectors : public testing::TestWithParam<std::string> {};

// The texts of each pooling side by side.
TEST_P(SharedVectors, VectorsAreThoseOfLlamaCpp) {
  if (GetParam() == "absent") GTEST_SKIP() << "there is no ../shared/models/embeddings.json here";
  const auto engine = open_file(kSharedModels + "tiny/" + GetParam(), with("", 2));
  ASSERT_NE(engine, nullptr);
  const double within = GetParam().find("q8_0") != std::string::npos ? 0.02 : 1e-3;
  const auto width = static_cast<size_t>(engine->vector_width());
  const std::pair<const char*, Pooling> poolings[] = {
      {"mean", Pooling::mean}, {"cls", Pooling::first}, {"last", Pooling::last}};
  for (const auto& [name, pooling] : poolings) {
    std::vector<std::vector<TokenId>> texts;
    std::vector<const nlohmann::json*> cases;
    for (const auto& one : vector_answers().at(GetParam())) {
      if (one.at("pooling") != name) continue;
      texts.push_back(one.at("tokens").get<std::vector<TokenId>>());
      cases.push_back(&one);
    }
    ASSERT_GE(texts.size(), 7u);
    const std::vector<float> vectors = vectors_of(*engine, texts, pooling);
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto vector = std::span(vectors).subspan(i * width, width);
      double squares = 0;
      for (const float x : vector) squares += double{x} * x;
      const double length = std::sqrt(squares);
      EXPECT_NEAR(length / cases[i]->at("norm").get<double>(), 1, within) << name << ", " << i;
      const auto first = cases[i]->at("vector").get<std::vector<double>>();
      ASSERT_EQ(first.size(), std::min<size_t>(width, 64));
      for (size_t k = 0; k < first.size(); ++k)
        EXPECT_NEAR(vector[k] / length, first[k], within) << name << ", " << i << ": " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Embeddings, SharedVectors, testing::ValuesIn(vector_models()),
                         [](const auto& each) { return test_name(each.param); });

}  // namespace
}  // namespace sluice
