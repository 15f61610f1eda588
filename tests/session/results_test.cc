// The results of a run: logits of many positions, hidden states, pooled vectors.
#include "session/results.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

constexpr size_t kRowTokens = Pass::kBlockTokens + 44;  // of two blocks

std::vector<std::string> models() {
  std::vector<std::string> files = {bent_bytes()};
  for (const char* name : {"llama-odd-q4_0", "qwen2-q8_0", "gpt2-f16", "qwen3moe-q8_0"})
    files.push_back(build_tiny_model(tiny_model_named(name)));
  return files;
}

// What a run gave.
struct Given {
  std::vector<float> logits, hidden, pooled;
  bool operator==(const Given&) const = default;
};

Given run(Engine& engine, const std::vector<TokenId>& ids, int64_t batch, const Results& wanted) {
  Session& session = engine.session();
  const Status started = session.start_results(ids, batch, wanted);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  const auto done = drive_opened(engine, session);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  const auto copy = [](std::span<const float> all) {
    return std::vector<float>(all.begin(), all.end());
  };
  return {copy(session.logits()), copy(session.hidden()), copy(session.pooled())};
}

// The row that begins at number `at * width`.
std::span<const float> row_of(const std::vector<float>& rows, size_t at, size_t width) {
  EXPECT_LE((at + 1) * width, rows.size());
  return std::span(rows).subspan(at * width, width);
}

std::unique_ptr<Engine> engine_of(const std::string& bytes) {
  LoadOptions options = small(512);
  options.threads = 2;
  return load_bytes(bytes, options);
}

// --- logits --------------------------------------------------------------------------------------

TEST(Results, LogitsOfAllPositionsDontDependOnTheBatch) {
  Results wanted;
  wanted.logits.all = true;
  for (const std::string& bytes : models()) {
    const auto engine = engine_of(bytes);
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(kRowTokens, engine->tokenizer().vocab_size());
    const Given one_by_one = run(*engine, ids, 1, wanted);
    ASSERT_EQ(one_by_one.logits.size(),
              kRowTokens * static_cast<size_t>(engine->tokenizer().vocab_size()));
    for (const int64_t batch : {0, 2, 129})
      EXPECT_TRUE(run(*engine, ids, batch, wanted) == one_by_one) << batch;
  }
}

TEST(Results, LogitsOfChosenPositionsAreThoseOfAll) {
  const auto engine = tiny_engine(512);
  const std::vector<TokenId> ids = some_ids(kRowTokens, engine->tokenizer().vocab_size());
  const auto width = static_cast<size_t>(engine->tokenizer().vocab_size());
  Results every, some;
  every.logits.all = true;
  some.logits.chosen = {0, 1, 7, 128, 129, 130, 255, 256, kRowTokens - 2};
  const std::vector<float> all = run(*engine, ids, 0, every).logits;
  for (const int64_t batch : {0, 1, 129}) {
    const std::vector<float> chosen = run(*engine, ids, batch, some).logits;
    ASSERT_EQ(chosen.size(), some.logits.chosen.size() * width);
    for (size_t i = 0; i < some.logits.chosen.size(); ++i)
      EXPECT_TRUE(
          std::ranges::equal(row_of(chosen, i, width), row_of(all, some.logits.chosen[i], width)))
          << "position " << some.logits.chosen[i] << ", batch " << batch;
  }
}

// A block of a part of the head is a slice, so that others can go on meanwhile.
TEST(Results, OfManyPositionsTakeASliceForEachBlock) {
  const auto engine = tiny_engine(512);
  const std::vector<TokenId> ids = some_ids(kRowTokens, engine->tokenizer().vocab_size());
  const auto slices = [&](bool all_positions) {
    EXPECT_TRUE(engine->session().start_logits(ids, 0, all_positions).has_value());
    int n = 0;
    for (; engine->session().step()->kind != Event::Kind::done; ++n) {
    }
    return n;
  };
  EXPECT_EQ(slices(true), slices(false) + 2);
}

// --- hidden states and pooled vectors ------------------------------------------------------------

TEST(Results, OfOneRunDontDependOnTheBatchAndComeTogether) {
  for (const std::string& bytes : models()) {
    const auto engine = engine_of(bytes);
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(kRowTokens, engine->tokenizer().vocab_size());
    const auto n_layers = static_cast<int64_t>(engine->progress().layers_total);
    const TemporaryFile file(bytes);
    LoadOptions options = small(512);
    // Layers and the head in parts, which are read again for every pass.
    const auto parts = PlannedEngine::open(
        file.path(), options, {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(parts.has_value()) << parts.error().message;
    for (const Pooling pooling : {Pooling::first, Pooling::last, Pooling::mean}) {
      Results wanted;
      wanted.logits.chosen = {2, 3, 256, kRowTokens - 1};
      wanted.hidden.chosen = {0, 5, 129, 257, kRowTokens - 1};
      wanted.hidden_layers = {0, n_layers - 1, n_layers};
      wanted.pooling = pooling;
      const Given expected = run(*engine, ids, 1, wanted);
      const size_t width = expected.pooled.size();
      ASSERT_EQ(expected.hidden.size(), 3 * 5 * width);
      for (const int64_t batch : {0, 129}) {
        EXPECT_TRUE(run(*engine, ids, batch, wanted) == expected) << batch;
        EXPECT_TRUE(run(**parts, ids, batch, wanted) == expected) << batch;
      }
      Results only = wanted;
      only.logits = {};
      only.pooling = Pooling::none;
      const Given hidden = run(*engine, ids, 0, only);
      EXPECT_TRUE(hidden.logits.empty() && hidden.pooled.empty());
      EXPECT_EQ(hidden.hidden, expected.hidden);
    }
  }
}

// A model's first layer leaves what it leaves in a model that has no other, and there the final
// norm is of that.
TEST(Results, HiddenStatesAreOfTheirLayer) {
  const std::vector<TokenId> ids = some_ids(9, 512);
  GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
  const auto engine = engine_of(file.build());
  ASSERT_NE(engine, nullptr);
  const int32_t n_layers = engine->progress().layers_total;
  ASSERT_GT(n_layers, 1);
  Results wanted;
  wanted.hidden.all = true;
  wanted.hidden_layers = {0};
  const std::vector<float> first = run(*engine, ids, 0, wanted).hidden;
  const size_t width = first.size() / ids.size();

  std::vector<std::string> later;
  for (const auto& tensor : file.tensors)
    if (tensor.name.starts_with("blk.") && !tensor.name.starts_with("blk.0."))
      later.push_back(tensor.name);
  for (const std::string& name : later) file.remove_tensor(name);
  file.kv_u32("llama.block_count", 1);
  const std::string norm = file.find_tensor("output_norm.weight").data;
  const auto alone = engine_of(file.build());
  ASSERT_NE(alone, nullptr);
  wanted.hidden_layers = {0, 1};
  const std::vector<float> both = run(*alone, ids, 0, wanted).hidden;
  ASSERT_EQ(both.size(), 2 * first.size());
  EXPECT_TRUE(std::ranges::equal(std::span(both).first(first.size()), first));
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto row = row_of(both, t, width), normed = row_of(both, ids.size() + t, width);
    double squares = 0;
    for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_GT(squares, 0);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
    for (size_t i = 0; i < width; ++i) {
      float weight = 0;
      std::memcpy(&weight, norm.data() + 4 * i, 4);
      EXPECT_NEAR(static_cast<double>(normed[i]),
                  scale * static_cast<double>(row[i]) * static_cast<double>(weight), 1e-3);
    }
  }
}

TEST(Results, PooledVectorsAreOfTheFinalNorm) {
  const auto engine = tiny_engine(512);
  const std::vector<TokenId> ids = some_ids(kRowTokens, engine->tokenizer().vocab_size());
  Results wanted;
  wanted.hidden.all = true;
  wanted.hidden_layers = {engine->progress().layers_total};
  wanted.pooling = Pooling::first;
  const std::vector<float> rows = run(*engine, ids, 0, wanted).hidden;
  const size_t width = rows.size() / kRowTokens;
  EXPECT_TRUE(std::ranges::equal(run(*engine, ids, 0, wanted).pooled, row_of(rows, 0, width)));
  wanted.pooling = Pooling::last;
  EXPECT_TRUE(
      std::ranges::equal(run(*engine, ids, 0, wanted).pooled, row_of(rows, kRowTokens - 1, width)));
  wanted.pooling = Pooling::mean;
  std::vector<float> mean(width);
  for (size_t t = 0; t < kRowTokens; ++t)
    for (size_t i = 0; i < width; ++i) mean[i] = mean[i] + rows[t * width + i];
  for (float& x : mean) x = x / static_cast<float>(kRowTokens);
  EXPECT_EQ(run(*engine, ids, 0, wanted).pooled, mean);
  EXPECT_EQ(run(*engine, ids, 129, wanted).pooled, mean);
  // A run that generates gives none of them.
  generate(*engine, ids, greedy(1));
  EXPECT_TRUE(engine->session().hidden().empty());
  EXPECT_TRUE(engine->session().pooled().empty());
}

// --- tokens that the session has -----------------------------------------------------------------

TEST(Results, DontDependOnWhatTheSessionHas) {
  std::vector<std::string> files = models();
  for (const char* name : {"gemma4-f32", "qwen35-f32", "lfm2-odd-f32"})
    files.push_back(build_tiny_model(tiny_model_named(name)));
  for (const std::string& bytes : files) {
    const auto engine = engine_of(bytes);
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(kRowTokens, engine->tokenizer().vocab_size());
    Results wanted;
    wanted.logits.chosen = wanted.hidden.chosen = {100, 299};
    wanted.hidden_layers = {0, 1, engine->progress().layers_total};
    const Given expected = run(*engine, ids, 0, wanted);
    const auto reused = [&] { return engine->session().stats().reused_tokens; };
    EXPECT_EQ(reused(), 0);
    wanted.reuse = true;
    // It may go on where a run ended, at 60 tokens.
    const auto begin = std::span(ids).first(60);
    for (const int64_t batch : {0, 1, 129}) {
      run(*engine, {begin.begin(), begin.end()}, 0, {});
      EXPECT_TRUE(run(*engine, ids, batch, wanted) == expected) << batch;
      EXPECT_EQ(reused(), 60) << batch;
      EXPECT_EQ(engine->session().prompt_progress().total, 0);
      EXPECT_TRUE(std::ranges::equal(engine->session().tokens(), ids));
    }
    // Not behind the first position of a result, and not behind tokens that differ.
    EXPECT_TRUE(run(*engine, ids, 0, wanted) == expected);
    EXPECT_LE(reused(), 100);
    std::vector<TokenId> others = ids;
    others[30] = others[30] == 5 ? 6 : 5;
    run(*engine, others, 0, {});
    EXPECT_TRUE(run(*engine, ids, 0, wanted) == expected);
    EXPECT_LE(reused(), 30);
    wanted.pooling = Pooling::mean;
    run(*engine, ids, 0, wanted);
    EXPECT_EQ(reused(), 0);
  }
}

// --- errors and memory ---------------------------------------------------------------------------

TEST(Results, ThatARunDoesntHaveAreRefused) {
  const auto engine = tiny_engine(64);
  const std::vector<TokenId> ids = some_ids(9, engine->tokenizer().vocab_size());
  const int64_t n_layers = engine->progress().layers_total;
  const auto refused = [&](const Results& wanted, std::string_view says) {
    const Status status = engine->session().start_results(ids, 0, wanted);
    ASSERT_FALSE(status.has_value()) << says;
    EXPECT_EQ(status.error().code, Code::invalid_argument);
    EXPECT_NE(status.error().message.find(says), std::string::npos) << status.error().message;
  };
  refused({.logits = {false, {9}}}, "of position 9; there are those from 0 to 8");
  refused({.logits = {false, {3, 3}}},
          "of position 3; there are those from 0 to 8: name each once");
  refused({.logits = {true, {3}}}, "of all positions and of chosen ones");
  refused({.hidden = {false, {4, 2}}, .hidden_layers = {0}}, "of position 2; there");
  refused({.hidden = {true, {}}, .hidden_layers = {-1}}, "of layer -1");
  refused({.hidden = {true, {}}, .hidden_layers = {n_layers + 1}}, "there are those from 0 to ");
  refused({.hidden = {true, {}}, .hidden_layers = {1, 0}}, "of layer 0; there");
  // Nothing at all may be asked for. The tokens are computed.
  run(*engine, ids, 0, {});
  EXPECT_TRUE(std::ranges::equal(engine->session().tokens(), ids));
}

TEST(Results, OfTheFinalNormMustNotOverflow) {
  GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
  auto& norm = file.find_tensor("output_norm.weight");
  norm.data = bytes_of(std::vector<float>(norm.dims[0], 0x1p70f));
  const auto engine = load_bytes(file.build(), small(64));
  ASSERT_NE(engine, nullptr);
  for (const Results& wanted :
       {Results{.hidden = {true, {}}, .hidden_layers = {engine->progress().layers_total}},
        Results{.pooling = Pooling::mean}, Results{.pooling = Pooling::last}}) {
    ASSERT_TRUE(engine->session().start_results(some_ids(9, 512), 0, wanted).has_value());
    const auto done = drive(engine->session(), [](const Event&) { return true; });
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::bad_file);
    EXPECT_NE(done.error().message.find("the final norm"), std::string::npos);
  }
}

TEST(Results, CountAsTheSessionsMemory) {
  LoadOptions options = small(512);
  options.memory_budget = load_bytes(tiny_bytes(), options)->memory_plan().total();
  const auto engine = load_bytes(tiny_bytes(), options);
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> ids = some_ids(500, engine->tokenizer().vocab_size());
  Results wanted;
  wanted.pooling = Pooling::mean;
  const size_t width = run(*engine, ids, 0, wanted).pooled.size();
  const uint64_t held = engine->session().held_bytes();
  for (int64_t l = 0; l <= engine->progress().layers_total; ++l) wanted.hidden_layers.push_back(l);
  wanted.hidden.all = true;
  const Status refused = engine->session().start_results(ids, 0, wanted);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::out_of_memory);
  EXPECT_NE(refused.error().message.find("with hidden states"), std::string::npos);
  EXPECT_EQ(engine->session().held_bytes(), held);
  EXPECT_EQ(engine->session().pooled().size(), width);  // it keeps what it has
  wanted.hidden = {.all = false, .chosen = {0, 499}};
  run(*engine, ids, 0, wanted);
  EXPECT_EQ(engine->session().held_bytes(), held + 4 * 2 * wanted.hidden_layers.size() * width);
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
}

// --- ../shared -----------------------------------------------------------------------------------

// The residual of the last token after each layer, as transformers computes it.
TEST(SharedHidden, StatesAgree) {
  const std::string dir = std::string(SLUICE_ROOT) + "/../shared/models/";
  const auto all = nlohmann::json::parse(read_file(dir + "hidden.json"), nullptr, false);
  if (!all.is_object()) GTEST_SKIP() << "there is no ../shared/models/hidden.json here";
  for (const auto& [name, model] : all.items()) {
    LoadOptions options = small(512);
    options.kv_type = "f32";
    const auto engine = open_file(dir + "tiny/" + name, options);
    ASSERT_NE(engine, nullptr) << name;
    ASSERT_EQ(engine->progress().layers_total, model.at("layers").get<int>());
    const float most = name.contains("gpt2") || name.contains("gemma3") ? 1e-3f : 1e-4f;
    for (const auto& one : model.at("cases")) {
      const auto ids = one.at("ids").get<std::vector<TokenId>>();
      const auto expected = one.at("hidden").get<std::vector<std::vector<float>>>();
      Results wanted;
      wanted.hidden.chosen = {ids.size() - 1};
      for (size_t l = 0; l < expected.size(); ++l)
        wanted.hidden_layers.push_back(static_cast<int64_t>(l));
      const std::vector<float> hidden = run(*engine, ids, 0, wanted).hidden;
      for (size_t l = 0; l < expected.size(); ++l) {
        const auto row = row_of(hidden, l, expected[l].size());
        for (size_t i = 0; i < row.size(); ++i)
          ASSERT_NEAR(row[i], expected[l][i], most)
              << name << ", " << ids.size() << " tokens, layer " << l << ", number " << i;
      }
    }
  }
}

}  // namespace
}  // namespace sluice
