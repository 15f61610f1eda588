// Tests of what a pass uses: attention over chunks, and layers of different kinds and families.
#include <cmath>
#include <cstring>

#include "base/format.h"
#include "make/tiny_models.h"
#include "models/registry.h"
#include "ops/attention.h"
#include "pass/binder.h"
#include "pass/config_reader.h"
#include "pass/pass.h"
#include "state/timeline.h"
#include "support/model_test.h"
#include "support/written_timeline.h"

namespace sluice {
namespace {

const Kernels& generic() { return *choose_kernels("generic"); }

// --- attention over chunks -----------------------------------------------------------------------

// The chunks that attention reads for tokens from `position` on.
std::vector<int64_t> chunks_seen(const KvCache& kv, int64_t position, int n_tokens,
                                 int64_t window) {
  std::vector<int64_t> seen;
  const auto scratch = AttentionScratch::allocate(2 * n_tokens, 8);
  EXPECT_TRUE(scratch.has_value());
  const std::vector<float> q(static_cast<size_t>(16 * n_tokens), 0.5f);
  std::vector<float> out(q.size());
  const auto chunk_of = [&](int64_t c) {
    seen.push_back(c);
    return kv.chunk(0, 0, c);
  };
  attend(generic(), chunk_of,
         {q.data(), 16, position, position + n_tokens, window, false, n_tokens, 2, 8, 1.0f},
         out.data(), 16, *scratch);
  return seen;
}

TEST(Attention, LooksAtNoChunkThatNoTokenSees) {
  using Chunks = std::vector<int64_t>;
  Timeline timeline(kWrittenLayers, KvType::f32, 0);
  write(timeline, 1000, 1);
  const KvCache& cache = timeline.keys_values(0);
  EXPECT_EQ(chunks_seen(cache, 700, 5, 0), (Chunks{0, 1, 2}));
  EXPECT_EQ(chunks_seen(cache, 700, 5, 1), (Chunks{2}));
  EXPECT_EQ(chunks_seen(cache, 511, 1, 256), (Chunks{1}));
  EXPECT_EQ(chunks_seen(cache, 511, 1, 257), (Chunks{0, 1}));
  EXPECT_EQ(chunks_seen(cache, 510, 4, 255), (Chunks{1, 2}));
  EXPECT_EQ(chunks_seen(cache, 900, 8, 500), (Chunks{1, 2, 3}));
  EXPECT_EQ(chunks_seen(cache, 900, 8, 5000), (Chunks{0, 1, 2, 3}));
}

// One query head over positions [begin, end) of the first layer's first head, in double.
std::vector<double> softmax_values(const KvCache& cache, const float* q, int64_t begin,
                                   int64_t end) {
  std::vector<double> values(8, 0.0);
  double sum = 0;
  for (int64_t p = begin; p < end; ++p) {
    const KvChunk chunk = cache.chunk(0, 0, p / kKvChunk);
    double score = 0;
    for (int64_t i = 0; i < 8; ++i)
      score +=
          static_cast<double>(q[i]) * static_cast<double>(written_key(chunk, 8, p % kKvChunk, i));
    const double weight = std::exp(score / 64);
    sum += weight;
    for (int64_t i = 0; i < 8; ++i)
      values[static_cast<size_t>(i)] +=
          weight * static_cast<double>(written_value(chunk, p % kKvChunk, i));
  }
  for (double& value : values) value /= sum;
  return values;
}

TEST(Attention, BothWaysSeesAllOrAsMuchOnEitherSide) {
  constexpr int64_t kPositions = 600;
  Timeline timeline(kWrittenLayers, KvType::f32, 0);
  write(timeline, kPositions, 1);
  const KvCache& cache = timeline.keys_values(0);
  const auto chunk_of = [&](int64_t c) { return cache.chunk(0, 0, c); };
  for (const int64_t window : {0, 2, 7, 100, 512, 5000}) {
    for (const int64_t position : {0, 3, 250, 509, 590}) {
      const int n_tokens = 10;
      std::vector<float> q(8 * n_tokens), out(q.size());
      for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 5) / 8 - 0.25f;
      const auto scratch = AttentionScratch::allocate(n_tokens, 8);
      ASSERT_TRUE(scratch.has_value());
      attend(generic(), chunk_of,
             {q.data(), 8, position, kPositions, window, true, n_tokens, 1, 8, 1.0f / 64},
             out.data(), 8, *scratch);
      for (int64_t t = 0; t < n_tokens; ++t) {
        const int64_t side = window == 0 ? kPositions : window / 2;
        const std::vector<double> want =
            softmax_values(cache, q.data() + 8 * t, std::max<int64_t>(position + t - side, 0),
                           std::min(position + t + side + 1, kPositions));
        for (int64_t i = 0; i < 8; ++i) {
          EXPECT_NEAR(static_cast<double>(out[static_cast<size_t>(8 * t + i)]),
                      want[static_cast<size_t>(i)], 1e-3)
              << "window " << window << ", token " << position + t;
        }
      }
    }
  }
}

// --- layers that see both ways -------------------------------------------------------------------

// A model with only the attention of a llama file's first layer, without RoPE, and its head.
class OneLayer final : public Model {
 public:
  OneLayer(const Config& config, const LayerShape& shape) : Model(config, {}) { layers_ = {shape}; }
  void bind(const Gguf& gguf) {
    Binder b(gguf, *this);
    const LayerShape& shape = layers_[0];
    b.embedding();
    b.token_table();
    b.layer(0);
    qkv_ = b.qkv(shape);
    output_ = b.linear(Phase::output, "attn_output", config_.n_embd, shape.q_rows());
    b.head();
    head_ = b.logits();
  }
  void embed(Pass& pass, const Work& work) const override { pass.embed(work); }
  void run_layer(Pass& pass, const Work& work) const override {
    pass.project(work, {}, qkv_);
    if (layers_[0].both_ways) return pass.store_heads(work, {});
    pass.attend(work, {});
    pass.attention_output(work, output_);
  }
  void end_layer(Pass& pass, const Work& work) const override {
    pass.attend_heads(work);
    pass.attention_output(work, output_);
  }
  void run_output(Pass& pass, const Work& work) const override { pass.output(work, {}); }
  void run_head(Pass& pass, const Work& work) const override { pass.logits(work, {}, head_); }

 private:
  Qkv qkv_;
  Linear output_;
  std::vector<Linear> head_;
};

// The first and the last token's logits.
using Ends = std::pair<std::vector<float>, std::vector<float>>;
Ends logits_of_ends(const std::string& file, const std::vector<TokenId>& ids, bool both_ways) {
  const auto gguf = parse_gguf(as_bytes(file), file.size());
  EXPECT_TRUE(gguf.has_value());
  auto config = read_config(*gguf, "llama");
  EXPECT_TRUE(config.has_value());
  config->n_layers = 1;
  ConfigReader reader(*gguf, "llama");
  LayerShape shape = (*read_layers(reader, *config))[0];
  shape.both_ways = both_ways;
  OneLayer model(*config, shape);
  model.bind(*gguf);
  Weights weights(model.manifest());
  EXPECT_TRUE(weights.allocate().has_value());
  for (const Want& want : weights.wants(UINT64_MAX)) {
    std::memcpy(want.place.data(), file.data() + want.offset, want.place.size());
    EXPECT_TRUE(weights.filled(want.offset, want.place.size()).has_value());
  }
  auto pool = std::make_unique<Pool>(2);
  Pass pass(model, weights, generic(), *pool, 512, false);
  Timeline timeline(model.layers(), KvType::f32, 0);
  PassState state;
  const auto n = static_cast<int64_t>(ids.size());
  EXPECT_TRUE(pass.prepare().has_value() && pass.begin(state, timeline, ids).has_value());
  EXPECT_EQ(pass.n_blocks(state), (n - 1) / Pass::kBlockTokens + 1);
  EXPECT_TRUE(pass.embed(state, 0, n));
  for (size_t stage = 0; stage < state.stages.size(); ++stage) {
    EXPECT_EQ(pass.slot(state, 0, stage), model.layer_slot(0));
    for (int64_t block = 0; block < pass.n_blocks(state, stage); ++block)
      EXPECT_TRUE(pass.run_block(state, 0, stage, block));
  }
  EXPECT_EQ(state.stages.size(), both_ways ? 2u : 1u);
  const int64_t stride = config->n_vocab + 32;
  std::vector<float> first(static_cast<size_t>(stride)), last = first, both(2 * first.size());
  const int64_t ends[] = {n - 1, 0};
  EXPECT_TRUE(pass.run_head(state, {ends + 1, 1}, 0, first.data(), stride));
  EXPECT_TRUE(pass.run_head(state, {ends, 1}, 0, last.data(), stride));
  // Together they have the same logits, in the order of the list.
  EXPECT_TRUE(pass.run_head(state, ends, 0, both.data(), stride));
  EXPECT_TRUE(std::ranges::equal(std::span(both).first(first.size()), last));
  EXPECT_TRUE(std::ranges::equal(std::span(both).last(first.size()), first));
  pool.reset();  // its threads end before what they read
  return {first, last};
}

TEST(Layers, ThatSeeBothWaysStoreTheWholePassBeforeTheyAttend) {
  const std::string file = build_tiny_model(tiny_model_named("llama-f32"));
  std::vector<TokenId> ids = some_ids(Pass::kBlockTokens + 44, 512);
  const Ends causal = logits_of_ends(file, ids, false);
  const Ends both = logits_of_ends(file, ids, true);
  // The last token sees the same positions in both cases.
  EXPECT_EQ(both.second, causal.second);
  EXPECT_NE(both.first, causal.first);
  ids.back() = (ids.back() + 1) % 512;
  EXPECT_EQ(logits_of_ends(file, ids, false).first, causal.first);
  EXPECT_NE(logits_of_ends(file, ids, true).first, both.first);
}

// --- layers of different shapes ------------------------------------------------------------------

// The first `cols` numbers of each row. If keep_width, zeros replace the others.
std::string cut_columns(const std::string& data, size_t all, size_t cols, bool keep_width) {
  std::string out;
  for (size_t at = 0; at < data.size(); at += 4 * all) {
    out += data.substr(at, 4 * cols);
    if (keep_width) out += std::string(4 * (all - cols), '\0');
  }
  return out;
}

// A model whose second layer has half the heads and half the feed-forward part: its tensors are
// really half as large, or they are whole and the other half adds zeros.
std::string second_layer_halved(bool really) {
  GgufBuilder file = tiny_model();
  for (const char* part : {"attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm",
                           "ffn_gate", "ffn_up", "ffn_down"}) {
    const GgufBuilder::Tensor of = file.find_tensor(concat("blk.0.", part, ".weight"));
    file.tensor(concat("blk.1.", part, ".weight"), of.type, of.dims, of.data);
  }
  file.kv_u32("llama.block_count", 2);
  for (const char* part : {"attn_output", "ffn_down"}) {
    auto& tensor = file.find_tensor(concat("blk.1.", part, ".weight"));
    const size_t cols = tensor.dims[0];
    tensor.data = cut_columns(tensor.data, cols, cols / 2, !really);
    if (really) tensor.dims[0] = cols / 2;
  }
  if (!really) return file.build();
  for (const char* part : {"attn_q", "ffn_gate", "ffn_up"}) {
    auto& tensor = file.find_tensor(concat("blk.1.", part, ".weight"));
    tensor.dims[1] /= 2;
    tensor.data.resize(tensor.data.size() / 2);
  }
  file.kv_array<uint32_t>("llama.attention.head_count", ValueType::u32, {2, 1});
  file.kv_array<uint32_t>("llama.attention.head_count_kv", ValueType::u32, {1, 1});
  file.kv_array<uint32_t>("llama.feed_forward_length", ValueType::u32, {64, 32});
  return file.build();
}

TEST(Layers, MayEachHaveAShapeOfTheirOwn) {
  const auto whole = load_bytes(second_layer_halved(false));
  const auto halved = load_bytes(second_layer_halved(true));
  ASSERT_NE(whole, nullptr);
  ASSERT_NE(halved, nullptr);
  for (const size_t n : {size_t{1}, size_t{40}}) {
    const std::vector<TokenId> ids = some_ids(n, kTinyVocab);
    EXPECT_EQ(hash_of(*halved, ids), hash_of(*whole, ids));
  }
}

// --- families ------------------------------------------------------------------------------------

std::unique_ptr<Model> model_of(const TinyModel& tiny) {
  const auto header = parse_gguf(as_bytes(build_tiny_model(tiny)));
  if (!header.has_value()) return nullptr;
  auto model = make_model(*header);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model.has_value() ? std::move(*model) : nullptr;
}

TEST(Gpt2, TakesQueriesKeysAndValuesFromOneTensor) {
  const auto model = model_of(tiny_model_named("gpt2-odd-f32"));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->max_positions(), 512);
  EXPECT_TRUE(model->ropes().empty());
  std::vector<int64_t> rows;
  for (const Piece& piece : model->manifest().pieces()) {
    if (piece.tensor == "blk.1.attn_qkv.weight") rows.push_back(piece.first_row);
  }
  EXPECT_EQ(rows, (std::vector<int64_t>{0, 40, 80}));
}

// The bytes that a token reads, in a profile and in the statistics, are those of every matrix once.
TEST(Profile, CountsEveryMatrixOfEveryFamily) {
  for (const char* name : {"llama-q8_0", "qwen2-f32", "gpt2-q8_0", "gemma3-q8_0", "gemma4-q8_0",
                           "lfm2-q8_0", "qwen35-q8_0"}) {
    const TinyModel& tiny = tiny_model_named(name);
    uint64_t matrices = 0;
    for (const auto& tensor : tiny_model_file(tiny).tensors) {
      const bool looked_up = tensor.name == "position_embd.weight" ||
                             tensor.name == "per_layer_token_embd.weight" ||
                             tensor.name.ends_with("shortconv.conv.weight") ||
                             tensor.name.ends_with("ssm_conv1d.weight") ||
                             (tensor.name == "token_embd.weight" && !tiny.tied);
      if (tensor.dims.size() == 2 && !looked_up) matrices += tensor.data.size();
    }
    LoadOptions options;
    options.threads = 2;
    options.profile = true;
    const auto engine = load_bytes(build_tiny_model(tiny), options);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->stats().bytes_per_token, matrices) << name;
    const auto plan = plan_memory(engine->header(), options);
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->per_token, matrices) << name;
    generate(*engine, some_ids(20, tiny.n_vocab), greedy(3));
    uint64_t counted = 0;
    for (const PhaseTime& phase : engine->take_profile()) {
      counted += phase.weight_bytes;
      const std::string_view phase_name = phase.name;
      const bool mixture = phase_name == "router";
      const bool branch = phase_name == "norm, add" && !tiny.architecture.starts_with("gemma");
      const bool input = phase_name == "layer input" && tiny.input_width == 0;
      const bool unpacking = phase_name == "(unpacking)";
      if (branch || mixture || input) {
        EXPECT_EQ(phase.busy_ms, 0) << name;
      } else if (!unpacking) {
        EXPECT_GT(phase.busy_ms, 0) << name << ", " << phase.name;
      }
    }
    EXPECT_EQ(counted, matrices) << name;
  }
}

}  // namespace
}  // namespace sluice
