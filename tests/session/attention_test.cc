// The attention of a position: Results::attention.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "models/made_model.h"
#include "session/observe.h"
#include "session/results.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

std::vector<float> attention_of(Engine& engine, Session& session, const std::vector<TokenId>& ids,
                                const Results& wanted, int64_t batch = 0) {
  const Status started = session.start_results(ids, batch, wanted);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  EXPECT_TRUE(drive_opened(engine, session).has_value());
  return {session.attention().begin(), session.attention().end()};
}

size_t rows_of(const Session& session) {
  int64_t rows = 0;
  for (const AttentionLayer& each : session.attention_layers()) rows += each.heads;
  return static_cast<size_t>(rows);
}

LoadOptions loading(const std::string& kv_type, int32_t threads = 2, uint32_t context = 1024) {
  LoadOptions options = small(context);
  options.kv_type = kv_type;
  options.threads = threads;
  return options;
}

// --- against the definition, in double ---------------------------------------------------------

using Numbers = std::vector<double>;

// Queries and keys of a layer, made from the file's matrices.
class HeadMaker {
 public:
  HeadMaker(const GgufBuilder& file, const TinyModel& tiny, const Model& model,
            const Inputs& inputs)
      : file_(file), eps_(static_cast<double>(tiny.rms_eps)), model_(model), inputs_(inputs) {}

  Numbers query(int64_t layer, int64_t head, int64_t position) const {
    const LayerShape& shape = model_.layer(layer);
    return make(layer, "attn_q", 0, shape.gated ? 2 * head : head, position);
  }
  Numbers key(int64_t layer, int64_t kv_head, int64_t position) const {
    return make(layer, "attn_k", model_.layer(layer).q_width(), kv_head, position);
  }

 private:
  // Nothing if there is no such tensor.
  Numbers tensor(const std::string& name) const {
    const auto found = std::ranges::find(file_.tensors, name, &GgufBuilder::Tensor::name);
    if (found == file_.tensors.end()) return {};
    std::vector<float> floats(found->data.size() / 4);
    std::memcpy(floats.data(), found->data.data(), found->data.size());
    return {floats.begin(), floats.end()};
  }

  // The head's product, normed and rotated. Of a fused matrix it is behind `skipped` rows.
  Numbers make(int64_t layer, const std::string& which, int64_t skipped, int64_t head,
               int64_t position) const {
    const LayerShape& shape = model_.layer(layer);
    const std::string blk = concat("blk.", layer, ".");
    const auto dim = static_cast<size_t>(shape.head_dim);
    auto first = static_cast<size_t>(head) * dim;
    std::string name = blk + which;
    if (tensor(name + ".weight").empty()) {
      name = blk + "attn_qkv";
      first += static_cast<size_t>(skipped);
    }
    const Numbers matrix = tensor(name + ".weight"), bias = tensor(name + ".bias");
    const std::vector<float>& input = inputs_.at(name + ".weight", position);
    const Numbers x(input.begin(), input.end());
    Numbers made(dim);
    for (size_t i = 0; i < dim; ++i) {
      for (size_t k = 0; k < x.size(); ++k) made[i] += matrix[(first + i) * x.size() + k] * x[k];
      if (!bias.empty()) made[i] += bias[first + i];
    }
    const Numbers norm = tensor(concat(blk, which, "_norm.weight"));
    if (!norm.empty()) {
      double squares = 0;
      for (const double each : made) squares += each * each;
      const double scale = 1 / std::sqrt(squares / static_cast<double>(dim) + eps_);
      for (size_t i = 0; i < dim; ++i) made[i] *= scale * norm[i];
    }
    if (shape.rope >= 0) rotate(model_.ropes()[static_cast<size_t>(shape.rope)], position, made);
    return made;
  }

  void rotate(const RopeShape& rope, int64_t position, Numbers& head) const {
    const auto pairs = static_cast<size_t>(rope.numbers.dims / 2);
    const Numbers factors = rope.factors >= 0 ? tensor("rope_freqs.weight") : Numbers(pairs, 1.0);
    for (size_t i = 0; i < pairs; ++i) {
      const double angle =
          static_cast<double>(position) / factors[i] *
          std::pow(rope.numbers.freq_base, -static_cast<double>(i) / static_cast<double>(pairs));
      const bool adjacent = rope.pairs == RopePairs::adjacent;
      double& a = head[adjacent ? 2 * i : i];
      double& b = head[adjacent ? 2 * i + 1 : i + pairs];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = turned;
    }
  }

  const GgufBuilder& file_;
  double eps_;
  const Model& model_;
  const Inputs& inputs_;
};

// `most`: how far a weight may be off, because the cache rounds keys.
void compare(const char* name, const char* kv_type, double most) {
  const TinyModel& tiny = tiny_model_named(name);
  const GgufBuilder file = tiny_model_file(tiny);
  const auto engine = load_bytes(file.build(), loading(kv_type, 2, 64));
  ASSERT_NE(engine, nullptr) << name;
  const Model& model = PlannedEngine::model(*engine);
  const std::vector<TokenId> ids = some_ids(40, engine->tokenizer().vocab_size());
  for (const int64_t position : {0, 17, 39}) {
    Inputs inputs;
    Session session(*engine);
    ASSERT_TRUE(set_observer(session, &inputs).has_value());
    const std::vector<float> got =
        attention_of(*engine, session, ids, {.attention = static_cast<size_t>(position)});
    const auto n = static_cast<size_t>(position) + 1;
    ASSERT_EQ(got.size(), rows_of(session) * n) << name;
    const HeadMaker heads(file, tiny, model, inputs);
    size_t row = 0;
    int64_t layers = 0;
    for (const auto& [layer, n_heads] : session.attention_layers()) {
      const LayerShape& shape = model.layer(layer);
      ASSERT_EQ(n_heads, shape.n_heads);
      ++layers;
      for (int64_t head = 0; head < n_heads; ++head, ++row) {
        const Numbers q = heads.query(layer, head, position);
        const int64_t kv_head = head / (n_heads / shape.n_kv_heads);
        const int64_t begin =
            shape.window == 0 ? 0 : std::max<int64_t>(position + 1 - shape.window, 0);
        Numbers e(n);
        double sum = 0;
        for (int64_t p = begin; p <= position; ++p) {
          const Numbers k = heads.key(shape.cache, kv_head, p);
          double score = 0;
          for (size_t i = 0; i < q.size(); ++i) score += q[i] * k[i];
          sum += e[static_cast<size_t>(p)] = std::exp(score * static_cast<double>(shape.scale));
        }
        for (size_t p = 0; p < n; ++p)
          ASSERT_NEAR(static_cast<double>(got[row * n + p]), e[p] / sum, most)
              << name << ", layer " << layer << ", head " << head << ", from " << position << " to "
              << p;
      }
    }
    const auto attends = [](const LayerShape& shape) { return shape.n_heads > 0; };
    EXPECT_EQ(layers, std::ranges::count_if(model.layers(), attends));
  }
}

TEST(Attention, IsTheSoftmaxOfQueriesTimesKeys) {
  // Windows, caches that layers share, gates, layers of other kinds, RoPE on parts of heads.
  for (const char* name :
       {"llama-f32", "llama-freqs-f32", "llama-odd-f32", "qwen2-f32", "qwen3-f32", "gpt2-f32",
        "gemma3-f32", "gemma4-f32", "gemma4-odd-f32", "lfm2-f32", "qwen35-f32", "qwen35-odd-f32"}) {
    compare(name, "f32", 1e-5);
  }
  for (const char* name : {"llama-f32", "gemma4-f32"}) {
    compare(name, "f16", 2e-3);
    compare(name, "q8_0", 3e-2);
  }
}

// --- the same bits -----------------------------------------------------------------------------

// Whatever cache, kernels, threads, batch, budget and past. A row sums to 1; a position that isn't
// seen has 0.
TEST(Attention, DoesntDependOnHowItIsComputed) {
  for (const char* name : {"qwen2-q8_0", "gemma4-plain-f32", "qwen35-q8_0", "qwen3moe-q8_0"}) {
    const std::string bytes = build_tiny_model(tiny_model_named(name));
    for (const char* kv_type : {"f32", "f16", "q8_0"}) {
      const auto engine = load_bytes(bytes, loading(kv_type));
      ASSERT_NE(engine, nullptr);
      const std::vector<TokenId> ids = some_ids(600, engine->tokenizer().vocab_size());
      Results wanted = {.attention = 547};
      const size_t n = 548;
      const std::vector<float> all = attention_of(*engine, engine->session(), ids, wanted);
      ASSERT_EQ(all.size(), rows_of(engine->session()) * n);
      size_t row = 0;
      for (const auto& [layer, heads] : engine->session().attention_layers()) {
        const int64_t window = PlannedEngine::model(*engine).layer(layer).window;
        for (const size_t end = row + static_cast<size_t>(heads); row < end; ++row) {
          const auto weights = std::span(all).subspan(row * n, n);
          double sum = 0;
          for (size_t p = 0; p < n; ++p) {
            sum += static_cast<double>(weights[p]);
            const bool hidden = window > 0 && static_cast<int64_t>(n - p) > window;
            EXPECT_EQ(weights[p] > 0, !hidden) << name << " " << layer << " " << p;
          }
          EXPECT_NEAR(sum, 1, 1e-5);
        }
      }
      EXPECT_TRUE(attention_of(*engine, engine->session(), ids, wanted, 129) == all) << name;
      // All but what is behind the position is there already.
      wanted.reuse = true;
      EXPECT_TRUE(attention_of(*engine, engine->session(), ids, wanted) == all);
      EXPECT_GT(engine->session().stats().reused_tokens, 0);
      EXPECT_TRUE(std::ranges::equal(engine->session().tokens(), ids));
      for (const Kernels* kernels : all_kernels()) {
        if (!kernels->supported()) continue;
        LoadOptions options = loading(kv_type, 1);
        options.kernels = kernels->name;
        const auto other = load_bytes(bytes, options);
        ASSERT_NE(other, nullptr);
        EXPECT_TRUE(attention_of(*other, other->session(), ids, wanted) == all) << options.kernels;
      }
      const TemporaryFile file(bytes);
      const auto parts =
          PlannedEngine::open(file.path(), loading(kv_type),
                              {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
      ASSERT_TRUE(parts.has_value()) << parts.error().message;
      EXPECT_TRUE(attention_of(**parts, (*parts)->session(), ids, wanted) == all) << name;
    }
  }
}

// What else a run gives has the same bits, and what comes after it.
TEST(Attention, ChangesNothing) {
  for (const char* name : {"qwen2-q8_0", "gemma3-f32", "lfm2-f32"}) {
    const auto engine = load_bytes(build_tiny_model(tiny_model_named(name)), loading("f16"));
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(300, engine->tokenizer().vocab_size());
    const auto given = [&](const Results& wanted) {
      Session session(*engine);
      attention_of(*engine, session, ids, wanted);
      std::vector<float> all(session.logits().begin(), session.logits().end());
      all.insert(all.end(), session.hidden().begin(), session.hidden().end());
      all.insert(all.end(), session.pooled().begin(), session.pooled().end());
      EXPECT_TRUE(session.resume(greedy(4)).has_value());
      EXPECT_TRUE(drive_opened(*engine, session).has_value());
      EXPECT_TRUE(session.attention().empty());
      for (const TokenId id : session.written()) all.push_back(static_cast<float>(id));
      return all;
    };
    Results wanted = {.logits = {.all = true},
                      .hidden = {.all = true},
                      .hidden_layers = {0, 1},
                      .pooling = Pooling::mean};
    const std::vector<float> expected = given(wanted);
    for (const size_t position : {0, 1, 255, 256, 299}) {
      wanted.attention = position;
      EXPECT_TRUE(given(wanted) == expected) << name << " " << position;
    }
  }
}

// --- errors and memory -------------------------------------------------------------------------

TEST(Attention, ThatThereIsntIsRefused) {
  const auto engine = tiny_engine(64);
  const std::vector<TokenId> ids = some_ids(9, engine->tokenizer().vocab_size());
  const Status beyond = engine->session().start_results(ids, 0, {.attention = 9});
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().code, Code::invalid_argument);
  EXPECT_NE(beyond.error().message.find("of position 9; there are those from 0 to 8"),
            std::string::npos);
  EXPECT_EQ(engine->session().start_results(ids, 0, {.attention = SIZE_MAX}).error().code,
            Code::invalid_argument);
  const auto encoder = load_bytes(build_tiny_model(tiny_model_named("bert-q8_0")), small(64));
  ASSERT_NE(encoder, nullptr);
  const Status sees_all = encoder->session().start_results({{1, 2}}, 0, {.attention = 1});
  ASSERT_FALSE(sees_all.has_value());
  EXPECT_EQ(sees_all.error().code, Code::unsupported_model);
}

TEST(Attention, CountsAsTheSessionsMemory) {
  LoadOptions options = small(512);
  options.memory_budget = load_bytes(tiny_bytes(), options)->memory_plan().total();
  const auto engine = load_bytes(tiny_bytes(), options);
  ASSERT_NE(engine, nullptr);
  Session& session = engine->session();
  const std::vector<TokenId> ids = some_ids(500, engine->tokenizer().vocab_size());
  attention_of(*engine, session, ids, {});
  const uint64_t held = session.held_bytes();
  attention_of(*engine, session, ids, {.attention = 9});
  EXPECT_EQ(session.held_bytes(), held + 4 * 10 * rows_of(session));
  EXPECT_LE(engine->stats().resident_bytes, engine->memory_plan().total());
  const Status refused = session.start_results(ids, 0, {.logits = {.all = true}, .attention = 499});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::out_of_memory);
}

}  // namespace
}  // namespace sluice
