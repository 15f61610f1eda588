// What an observer reads at the points of a pass, and what becomes of what it adds.
#include "pass/observer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <thread>
#include <tuple>

#include "session/observe.h"
#include "session/results.h"
#include "support/engine_fixture.h"
#include "support/planned_engine.h"

namespace sluice {
namespace {

constexpr Points kAll{true, true, true, true, true};

struct Place {
  Point point;
  int64_t layer;
  std::string tensor;  // of linear_input
  bool operator==(const Place&) const = default;
  auto operator<=>(const Place&) const = default;
};

// Keeps a copy of all rows, by place and position.
class Reader final : public Observer {
 public:
  Points points(int64_t layer) const override {
    asked.push_back(layer);
    return kAll;
  }
  void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) override {
    keep(rows, std::string(matrix.tensor));
  }
  void visit(const PointRows<float>& rows) override { keep(rows, ""); }

  std::vector<float> row(Point point, int64_t layer, int64_t position,
                         const std::string& tensor = "") const {
    const auto found = kept.find({{point, layer, tensor}, position});
    if (found != kept.end()) return found->second;
    ADD_FAILURE() << "point " << static_cast<int>(point) << " of layer " << layer << ", position "
                  << position << " " << tensor;
    return {};
  }

  mutable std::vector<int64_t> asked;
  std::map<std::pair<Place, int64_t>, std::vector<float>> kept;
  std::vector<Place> calls;
  std::thread::id caller = std::this_thread::get_id();

 private:
  template <typename T>
  void keep(const PointRows<T>& seen, const std::string& tensor) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_GE(seen.stride, seen.width);
    const Place place{seen.point, seen.layer, tensor};
    calls.push_back(place);
    for (int64_t i = 0; i < seen.n_tokens; ++i) {
      const auto row = seen.row(i);
      kept[{place, seen.position(i)}].assign(row.begin(), row.end());
    }
  }
};

// Changes the rows of one point of one layer.
class Changer final : public Observer {
 public:
  using Change = std::function<void(std::span<float> row, int64_t position)>;
  Changer(Point point, int64_t layer, Change change)
      : point_(point), layer_(layer), change_(std::move(change)) {}
  Points points(int64_t layer) const override {
    if (layer != layer_) return {};
    return {.attention_branch = point_ == Point::attention_branch,
            .ffn_branch = point_ == Point::ffn_branch,
            .block_output = point_ == Point::block_output,
            .logits = point_ == Point::logits};
  }
  void read(const PointRows<const float>&, const ObservedMatrix&) override {
    ADD_FAILURE() << "it didn't ask for inputs";
  }
  void visit(const PointRows<float>& rows) override {
    EXPECT_EQ(rows.point, point_);
    EXPECT_EQ(rows.layer, layer_);
    for (int64_t i = 0; i < rows.n_tokens; ++i) change_(rows.row(i), rows.position(i));
  }

 private:
  const Point point_;
  const int64_t layer_;
  const Change change_;
};

std::unique_ptr<Engine> engine_of(const std::string& bytes, int32_t threads) {
  LoadOptions options = small(512);
  options.threads = threads;
  return load_bytes(bytes, options);
}

// Computes the tokens with an observer and gives the logits of these positions.
std::vector<float> logits_of(Engine& engine, Observer* observer, const std::vector<TokenId>& ids,
                             const std::vector<size_t>& positions, int64_t batch = 0) {
  Session& session = engine.session();
  EXPECT_TRUE(set_observer(session, observer).has_value());
  Results wanted;
  wanted.logits.chosen = positions;
  const Status started = session.start_results(ids, batch, wanted);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  const auto done = drive_opened(engine, session);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_TRUE(set_observer(session, nullptr).has_value());
  return {session.logits().begin(), session.logits().end()};
}

// --- reading -------------------------------------------------------------------------------------

TEST(Observer, ChangesNoBitByReading) {
  for (const TinyModel& model : tiny_models()) {
    SCOPED_TRACE(model.name);
    const std::string bytes = build_tiny_model(model);
    std::string expected;
    for (const int32_t threads : {1, 2}) {
      const auto engine = engine_of(bytes, threads);
      ASSERT_NE(engine, nullptr);
      const std::vector<TokenId> ids = some_ids(20, engine->tokenizer().vocab_size());
      if (expected.empty()) expected = hash_of(*engine, ids);
      for (const int64_t batch : {0, 17, 1}) {
        Reader reader;
        ASSERT_TRUE(set_observer(engine->session(), &reader).has_value());
        EXPECT_EQ(hash_of(*engine, ids, batch), expected) << threads << " threads, " << batch;
        EXPECT_EQ(reader.row(Point::logits, model.n_layers, 19).size(), model.n_vocab);
      }
    }
  }
}

TEST(Observer, SeesTheSameRowsWithAnyBatchThreadsAndBudget) {
  constexpr size_t kTokens = Pass::kBlockTokens + 14;
  std::vector<std::string> files = {bent_bytes()};
  for (const char* name : {"llama-odd-q4_0", "qwen3-f16", "gpt2-q8_0", "qwen3moe-q4_0",
                           "gemma3-folded-q8_0", "qwen3moe-folded-f32"})
    files.push_back(build_tiny_model(tiny_model_named(name)));
  for (const std::string& bytes : files) {
    const std::vector<size_t> positions = {3, 4, 17, kTokens - 1};
    const auto first = engine_of(bytes, 1);
    ASSERT_NE(first, nullptr);
    const std::vector<TokenId> ids = some_ids(kTokens, first->tokenizer().vocab_size());
    const auto n_layers = static_cast<int64_t>(first->progress().layers_total);
    Reader expected;
    const std::vector<float> logits = logits_of(*first, &expected, ids, positions);
    EXPECT_EQ(logits_of(*first, nullptr, ids, positions), logits);
    // The rows of logits are those that the run gives.
    const size_t n_vocab = logits.size() / positions.size();
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto row = std::span(logits).subspan(i * n_vocab, n_vocab);
      EXPECT_TRUE(std::ranges::equal(
          expected.row(Point::logits, n_layers, static_cast<int64_t>(positions[i])), row));
    }
    // Every token passes every place of the layers; those that are asked for, the head's.
    std::map<Place, size_t> seen;
    for (const auto& [key, row] : expected.kept) ++seen[key.first];
    for (const auto& [place, n] : seen)
      EXPECT_EQ(n, place.layer < n_layers ? kTokens : positions.size());

    for (const int32_t threads : {1, 2}) {
      const auto engine = engine_of(bytes, threads);
      ASSERT_NE(engine, nullptr);
      for (const int64_t batch : {0, 17, 1}) {
        Reader reader;
        EXPECT_EQ(logits_of(*engine, &reader, ids, positions, batch), logits);
        EXPECT_TRUE(reader.kept == expected.kept) << threads << " threads, batches of " << batch;
      }
    }
    // Layers and the head in parts, which are read again for every pass.
    const TemporaryFile file(bytes);
    const auto streamed = PlannedEngine::open(
        file.path(), small(512), {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(streamed.has_value()) << streamed.error().message;
    Reader reader;
    EXPECT_EQ(logits_of(**streamed, &reader, ids, positions, 129), logits);
    EXPECT_TRUE(reader.kept == expected.kept);
  }
}

TEST(Observer, IsCalledWithTheLeastBudget) {
  const std::string bytes = build_tiny_model(tiny_model_named("qwen2-q8_0"));
  const std::vector<TokenId> ids = some_ids(20, 512);
  const TemporaryFile file(bytes);
  LoadOptions options = small(512);
  const auto roomy = open_file(file.path(), options);
  ASSERT_NE(roomy, nullptr);
  Reader expected, reader;
  const std::vector<float> logits = logits_of(*roomy, &expected, ids, {19});
  ASSERT_LT(roomy->memory_plan().least, roomy->memory_plan().total());
  options.memory_budget = roomy->memory_plan().least;
  const auto engine = Engine::open(file.path(), options);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  EXPECT_EQ(logits_of(**engine, &reader, ids, {19}, 7), logits);
  EXPECT_TRUE(reader.kept == expected.kept);
}

TEST(Observer, IsCalledInTheOrderOfTheSteps) {
  for (const size_t n_tokens : {size_t{1}, size_t{9}}) {
    const auto engine = engine_of(build_tiny_model(tiny_model_named("llama-f32")), 2);
    ASSERT_NE(engine, nullptr);
    Reader reader;
    logits_of(*engine, &reader, some_ids(n_tokens, 512), {n_tokens - 1});
    std::vector<Place> expected;
    for (int64_t l = 0; l < 2; ++l) {
      const auto input = [&](const char* name) {
        const std::string tensor = "blk." + std::to_string(l) + "." + name + ".weight";
        expected.push_back({Point::linear_input, l, tensor});
      };
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) input(name);
      expected.push_back({Point::attention_branch, l, ""});
      for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) input(name);
      expected.push_back({Point::ffn_branch, l, ""});
      expected.push_back({Point::block_output, l, ""});
    }
    expected.push_back({Point::linear_input, 2, "output.weight"});
    expected.push_back({Point::logits, 2, ""});
    EXPECT_TRUE(reader.calls == expected);
    EXPECT_EQ(reader.asked, (std::vector<int64_t>{0, 1, 2}));
  }
}

// With experts a layer has several stages. Its output is there after the last one.
TEST(Observer, SeesTheOutputOfALayerWithExpertsOnce) {
  for (const size_t n_tokens : {size_t{1}, size_t{9}}) {
    const auto engine = engine_of(build_tiny_model(tiny_model_named("qwen3moe-q4_0")), 2);
    ASSERT_NE(engine, nullptr);
    Reader reader;
    logits_of(*engine, &reader, some_ids(n_tokens, 512), {n_tokens - 1});
    std::vector<Place> outputs;
    for (size_t i = 0; i < reader.calls.size(); ++i) {
      if (reader.calls[i].point != Point::block_output) continue;
      outputs.push_back(reader.calls[i]);
      EXPECT_EQ(reader.calls[i - 1].point, Point::ffn_branch);
    }
    const std::vector<Place> expected = {{Point::block_output, 0, ""},
                                         {Point::block_output, 1, ""}};
    EXPECT_TRUE(outputs == expected);
  }
}

// With f32 weights the products and sums can be done again from what was read.
TEST(Observer, ReadsWhatTheMatricesMultiply) {
  GgufBuilder file = tiny_model_file(tiny_model_named("llama-f32"));
  const auto engine = engine_of(file.build(), 2);
  ASSERT_NE(engine, nullptr);
  Reader reader;
  logits_of(*engine, &reader, some_ids(9, 512), {2, 8});
  const auto expect_product = [&](const std::string& tensor, int64_t layer, int64_t position,
                                  Point out) {
    const GgufBuilder::Tensor& matrix = file.find_tensor(tensor);
    std::vector<float> weights(matrix.data.size() / 4);
    std::memcpy(weights.data(), matrix.data.data(), matrix.data.size());
    const std::vector<float> x = reader.row(Point::linear_input, layer, position, tensor);
    const std::vector<float> y = reader.row(out, layer, position);
    ASSERT_EQ(x.size(), matrix.dims[0]);
    ASSERT_EQ(y.size(), matrix.dims[1]);
    for (size_t r = 0; r < y.size(); ++r) {
      double sum = 0;
      for (size_t c = 0; c < x.size(); ++c)
        sum += static_cast<double>(weights[r * x.size() + c]) * static_cast<double>(x[c]);
      ASSERT_NEAR(static_cast<double>(y[r]), sum, 1e-4) << tensor << ", row " << r;
    }
  };
  for (const int64_t position : {int64_t{2}, int64_t{8}}) {
    expect_product("blk.1.attn_output.weight", 1, position, Point::attention_branch);
    expect_product("blk.1.ffn_down.weight", 1, position, Point::ffn_branch);
    expect_product("output.weight", 2, position, Point::logits);
    const auto before = reader.row(Point::block_output, 0, position);
    const auto attention = reader.row(Point::attention_branch, 1, position);
    const auto ffn = reader.row(Point::ffn_branch, 1, position);
    const auto after = reader.row(Point::block_output, 1, position);
    for (size_t i = 0; i < after.size(); ++i)
      ASSERT_EQ(after[i], (before[i] + attention[i]) + ffn[i]);
  }
}

// --- adding --------------------------------------------------------------------------------------

Changer::Change add(const std::vector<float>& v) {
  return [v](std::span<float> row, int64_t) {
    ASSERT_EQ(row.size(), v.size());
    for (size_t i = 0; i < v.size(); ++i) row[i] += v[i];
  };
}

// A bias in the file adds the same numbers at the same place.
TEST(Observer, AddsAsABiasDoes) {
  const struct {
    Point point;
    int64_t layer;
    const char* bias;
    size_t width;
  } cases[] = {{Point::attention_branch, 1, "blk.1.attn_output.bias", 64},
               {Point::ffn_branch, 0, "blk.0.ffn_down.bias", 64},
               {Point::logits, 2, "output.bias", 512}};
  const std::vector<TokenId> ids = some_ids(20, 512);
  const std::vector<size_t> positions = {0, 5, 19};
  const auto plain = engine_of(build_tiny_model(tiny_model_named("llama-q8_0")), 2);
  ASSERT_NE(plain, nullptr);
  const std::vector<float> without = logits_of(*plain, nullptr, ids, positions);
  for (const auto& [point, layer, bias, width] : cases) {
    const std::vector<float> v = test_values(width, 7);
    GgufBuilder file = tiny_model_file(tiny_model_named("llama-q8_0"));
    file.tensor(bias, Type::F32, {width}, bytes_of(v));
    const auto biased = engine_of(file.build(), 2);
    ASSERT_NE(biased, nullptr);
    const std::vector<float> expected = logits_of(*biased, nullptr, ids, positions);
    EXPECT_NE(expected, without) << bias;
    Changer adder(point, layer, add(v));
    for (const int64_t batch : {0, 17, 1})
      EXPECT_EQ(logits_of(*plain, &adder, ids, positions, batch), expected) << bias << batch;
  }
}

// All that comes after a layer depends on its output alone: with that of another text, a text gets
// the other's logits.
TEST(Observer, ReplacesTheOutputOfALayer) {
  for (const char* name : {"llama-q8_0", "gemma3-q8_0", "gpt2-f16", "lfm2-q8_0", "qwen35-q8_0"}) {
    const auto engine = engine_of(build_tiny_model(tiny_model_named(name)), 2);
    ASSERT_NE(engine, nullptr);
    const int64_t n_vocab = engine->tokenizer().vocab_size();
    const std::vector<TokenId> one = some_ids(20, n_vocab, 1), other = some_ids(20, n_vocab, 2);
    Reader reader;
    const std::vector<float> expected = logits_of(*engine, &reader, other, {3, 19});
    EXPECT_NE(logits_of(*engine, nullptr, one, {3, 19}), expected);
    for (int64_t layer = 0; layer < static_cast<int64_t>(engine->progress().layers_total);
         ++layer) {
      Changer patch(Point::block_output, layer, [&](std::span<float> row, int64_t position) {
        std::ranges::copy(reader.row(Point::block_output, layer, position), row.begin());
      });
      for (const int64_t batch : {0, 17, 1})
        EXPECT_EQ(logits_of(*engine, &patch, one, {3, 19}, batch), expected) << name << layer;
    }
  }
}

TEST(Observer, MustAddNoNumberThatOverflows) {
  const auto engine = engine_of(build_tiny_model(tiny_model_named("llama-q8_0")), 2);
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> ids = some_ids(20, 512);
  const std::string expected = hash_of(*engine, ids);
  const std::pair<Point, int64_t> places[] = {{Point::attention_branch, 1},
                                              {Point::ffn_branch, 0},
                                              {Point::block_output, 1},
                                              {Point::logits, 2}};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0x1p49f}) {
    for (const auto& [point, layer] : places) {
      for (const int64_t batch : {0, 1}) {
        Changer changer(point, layer, [&](std::span<float> row, int64_t position) {
          if (position == 19) row[row.size() - 1] = bad;
        });
        Session& session = engine->session();
        ASSERT_TRUE(set_observer(session, &changer).has_value());
        ASSERT_TRUE(session.start_logits(ids, batch).has_value());
        const auto done = drive(session, [](const Event&) {});
        ASSERT_FALSE(done.has_value()) << bad << ", point " << static_cast<int>(point);
        EXPECT_EQ(done.error().code, Code::bad_file);
        const std::string where = layer == 2 ? "the head" : "layer " + std::to_string(layer);
        EXPECT_NE(done.error().message.find(where), std::string::npos) << done.error().message;
        ASSERT_TRUE(set_observer(session, nullptr).has_value());
        EXPECT_EQ(hash_of(*engine, ids), expected);
      }
    }
  }
}

// --- attaching -----------------------------------------------------------------------------------

TEST(Observer, BelongsToOneSessionBetweenItsRuns) {
  const auto engine = engine_of(build_tiny_model(tiny_model_named("llama-q8_0")), 1);
  ASSERT_NE(engine, nullptr);
  Session& session = engine->session();
  Reader reader;
  ASSERT_TRUE(set_observer(session, &reader).has_value());
  generate(session, some_ids(5, 512), greedy(3));
  EXPECT_EQ(reader.asked.size(), 3u);
  EXPECT_FALSE(reader.row(Point::logits, 2, 6).empty());  // of written tokens as well
  const size_t calls = reader.calls.size();

  const auto clone = session.clone();
  ASSERT_TRUE(clone.has_value());
  generate(**clone, some_ids(7, 512), greedy(3));
  Session other(*engine);
  generate(other, some_ids(5, 512), greedy(3));
  EXPECT_EQ(reader.calls.size(), calls);

  ASSERT_TRUE(session.start(some_ids(5, 512), greedy(3)).has_value());
  const Status refused = set_observer(session, nullptr);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::busy);
  finish_run(session);
  EXPECT_GT(reader.calls.size(), calls);
}

}  // namespace
}  // namespace sluice
