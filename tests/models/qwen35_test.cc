// What files of qwen35 may have, and its gated delta nets and gates, computed a second time.
#include <cmath>
#include <cstring>
#include <map>

#include "base/format.h"
#include "models/made_model.h"
#include "session/observe.h"
#include "state/timeline.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

std::string qwen35_hash(const GgufBuilder& file) {
  const auto engine = load_bytes(file.build(), small(512));
  return engine == nullptr ? "" : hash_of(*engine, some_ids(60, 509));
}

std::vector<bool> nets_of(const Model& model) {
  std::vector<bool> nets;
  for (const LayerShape& shape : model.layers()) nets.push_back(shape.delta.n_value_heads > 0);
  return nets;
}

TEST(Qwen35, TheHeaderSaysWhichLayersAttend) {
  GgufBuilder file = tiny_model_file(tiny_model_named("qwen35-odd-f32"));
  // The list counts, the blocks that draft included; the interval only without it.
  file.kv_u32("qwen35.full_attention_interval", 3);
  const auto model = model_of(file);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(nets_of(*model), (std::vector<bool>{true, false, true, false}));
  const LayerShape &net = model->layer(0), &attends = model->layer(1);
  EXPECT_EQ(net.n_kv_heads, 0);
  EXPECT_EQ(net.delta.channels(), 5 * 48);
  EXPECT_EQ(net.state, 3 * 5 * 48 + 3 * 48 * 48);
  EXPECT_EQ(attends.state, 0);
  EXPECT_EQ(attends.q_rows(), 4 * 24);
  EXPECT_EQ(attends.q_width(), 2 * 4 * 24);
  ASSERT_EQ(model->ropes().size(), 1u);
  EXPECT_EQ(model->ropes()[0].numbers.dims, 6);
  const std::string expected = qwen35_hash(file);
  file.remove("qwen35.attention.recurrent_layers");
  file.kv_u32("qwen35.full_attention_interval", 2);
  EXPECT_EQ(qwen35_hash(file), expected);

  GgufBuilder usual = tiny_model_file(tiny_model_named("qwen35-f32"));
  const auto other = model_of(usual);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(nets_of(*other), (std::vector<bool>{true, true, true, false, true}));
  usual.kv_array<int32_t>("qwen35.rope.dimension_sections", ValueType::i32, {0, 0, 4, 0});
  EXPECT_EQ(qwen35_hash(usual), qwen35_hash(tiny_model_file(tiny_model_named("qwen35-f32"))));
}

// All layers may be of one kind, for which a file of few layers suffices.
TEST(Qwen35, AllLayersMayBeNets) {
  TinyModel tiny = tiny_model_named("qwen35-q8_0");
  tiny.n_layers = 3;
  const auto engine = load_bytes(build_tiny_model(tiny), small(1024));
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> ids = some_ids(300, 512);
  const std::string expected = hash_of(*engine, ids);
  EXPECT_NE(expected, "");
  EXPECT_EQ(hash_of(*engine, ids, 7), expected);
  EXPECT_EQ(engine->session().reusable(some_ids(290, 512)), 256u);
}

// The context may be longer than any that was trained for: the state stays as large as it is.
TEST(Qwen35, AStateDoesNotGrow) {
  TinyModel tiny = tiny_model_named("qwen35-q4_0");
  tiny.context = 4096;
  tiny.n_layers = 3;
  const auto engine = load_bytes(build_tiny_model(tiny), small(4096));
  ASSERT_NE(engine, nullptr);
  Session session(*engine);
  generate(session, some_ids(300, 512), greedy(1));
  const uint64_t early = session.held_bytes();
  generate(session, some_ids(4000, 512), greedy(20));
  EXPECT_LE(session.held_bytes(), engine->memory_plan().session);
  EXPECT_LE(early, session.held_bytes());
  EXPECT_EQ(generate(session, some_ids(4000, 512), greedy(-1)).finish, Finish::context);
}

// The numbers of the smallest model: 18 layers with 16 heads of 128 x 128.
TEST(Qwen35, ThePlanHasTheStates) {
  TinyModel tiny = tiny_model_named("qwen35-q4_0");
  tiny.n_layers = 24;
  tiny.n_key_heads = tiny.n_value_heads = 16;
  tiny.delta_dim = 128;
  const GgufBuilder file = tiny_model_file(tiny);
  const auto model = model_of(file);
  ASSERT_NE(model, nullptr);
  const Timeline timeline(model->layers(), KvType::f16, 0);
  constexpr uint64_t kState = uint64_t{4} * 18 * (3 * 3 * 16 * 128 + 16 * 128 * 128);
  EXPECT_EQ(RecurrentState(model->layers()).state_bytes(), kState);
  EXPECT_GT(timeline.bytes_for(20'000), 4 * kState);
  EXPECT_LT(timeline.bytes_for(20'000) - timeline.bytes_for(10'000), kState);  // keys and values
  // Only those grow with the text: of f16, in 6 layers.
  constexpr uint64_t kChunk = uint64_t{6} * 256 * 2 * 2 * 16 * 2;
  EXPECT_EQ(timeline.bytes_per_chunk(), kChunk);
  EXPECT_EQ(timeline.bytes_for(20'000) - timeline.bytes_for(20'000 - 256), kChunk);
}

// --- computed a second time ----------------------------------------------------------------------

using Numbers = std::vector<double>;

Numbers numbers_of(GgufBuilder& file, const std::string& tensor) {
  const std::string& data = file.find_tensor(tensor).data;
  std::vector<float> floats(data.size() / 4);
  std::memcpy(floats.data(), data.data(), data.size());
  return {floats.begin(), floats.end()};
}

Numbers product(const Numbers& matrix, const std::vector<float>& x) {
  Numbers out(matrix.size() / x.size());
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t k = 0; k < x.size(); ++k)
      out[i] += matrix[i * x.size() + k] * static_cast<double>(x[k]);
  return out;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One layer's net, token by token.
class Net {
 public:
  Net(GgufBuilder& file, std::string blk, const TinyModel& tiny)
      : file_(file),
        blk_(std::move(blk)),
        n_(tiny.delta_dim),
        keys_(tiny.n_key_heads),
        values_(tiny.n_value_heads),
        taps_(tiny.delta_tokens),
        state_(values_ * n_ * n_) {}

  // What the token gives, from the row that is multiplied by attn_qkv.
  Numbers step(const std::vector<float>& x) {
    inputs_.push_back(of("attn_qkv.weight", x));
    const Numbers kernel = numbers_of(file_, blk_ + "ssm_conv1d.weight");
    Numbers mixed(inputs_.back().size());
    for (size_t i = 0; i < mixed.size(); ++i) {
      for (size_t j = 0; j < taps_ && j < inputs_.size(); ++j)
        mixed[i] += kernel[i * taps_ + taps_ - 1 - j] * inputs_[inputs_.size() - 1 - j][i];
      mixed[i] *= sigmoid(mixed[i]);
    }
    const Numbers gate = of("attn_gate.weight", x);
    const Numbers beta = of("ssm_beta.weight", x), alpha = of("ssm_alpha.weight", x);
    const Numbers a = numbers_of(file_, blk_ + "ssm_a");
    const Numbers bias = numbers_of(file_, blk_ + "ssm_dt.bias");
    const Numbers norm = numbers_of(file_, blk_ + "ssm_norm.weight");
    Numbers out;
    for (size_t h = 0; h < values_; ++h) {
      const Numbers q = scaled(&mixed[h % keys_ * n_], 1 / std::sqrt(static_cast<double>(n_)));
      const Numbers k = scaled(&mixed[(keys_ + h % keys_) * n_], 1);
      const double* v = &mixed[(2 * keys_ + h) * n_];
      const double decay = std::exp(a[h] * std::log1p(std::exp(alpha[h] + bias[h])));
      Numbers o(n_);
      double squares = 0;
      for (size_t j = 0; j < n_; ++j) {
        double* m = &state_[(h * n_ + j) * n_];
        double known = 0;
        for (size_t i = 0; i < n_; ++i) known += (m[i] *= decay) * k[i];
        for (size_t i = 0; i < n_; ++i)
          o[j] += (m[i] += sigmoid(beta[h]) * (v[j] - known) * k[i]) * q[i];
        squares += o[j] * o[j];
      }
      const double r = 1 / std::sqrt(squares / static_cast<double>(n_) + 1e-6);
      for (size_t j = 0; j < n_; ++j) {
        const double z = gate[h * n_ + j];
        out.push_back(o[j] * r * norm[j] * z * sigmoid(z));
      }
    }
    return out;
  }

 private:
  Numbers of(const char* tensor, const std::vector<float>& x) {
    return product(numbers_of(file_, blk_ + tensor), x);
  }
  Numbers scaled(const double* x, double scale) const {
    double squares = 0;
    for (size_t i = 0; i < n_; ++i) squares += x[i] * x[i];
    Numbers out(x, x + n_);
    for (double& each : out) each *= scale / std::max(std::sqrt(squares), 1e-6);
    return out;
  }

  GgufBuilder& file_;
  std::string blk_;
  size_t n_, keys_, values_, taps_;
  std::vector<Numbers> inputs_;
  Numbers state_;  // [value heads][values][keys]
};

TEST(Qwen35, NetsAreThoseOfTheirDefinition) {
  for (const char* name : {"qwen35-f32", "qwen35-odd-f32"}) {
    const TinyModel& tiny = tiny_model_named(name);
    GgufBuilder file = tiny_model_file(tiny);
    const auto engine = load_bytes(file.build(), small(512));
    ASSERT_NE(engine, nullptr);
    for (const int64_t batch : {0, 1, 3}) {
      Inputs inputs;
      Session session(*engine);
      ASSERT_TRUE(set_observer(session, &inputs).has_value());
      ASSERT_TRUE(session.start_logits(some_ids(20, 509), batch).has_value());
      finish_run(session);
      for (const std::string blk : {"blk.0.", "blk.2."}) {
        Net net(file, blk, tiny);
        for (int64_t p = 0; p < 20; ++p) {
          const Numbers want = net.step(inputs.at(blk + "attn_qkv.weight", p));
          const std::vector<float>& got = inputs.at(blk + "ssm_out.weight", p);
          ASSERT_EQ(got.size(), want.size());
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_NEAR(static_cast<double>(got[i]), want[i], 2e-5)
                << blk << ", position " << p << ", value " << i << ", batch " << batch;
        }
      }
    }
  }
}

// The first token sees itself alone, so that a head attends to its value.
TEST(Qwen35, GatesMultiplyWhatTheirHeadsAttendTo) {
  for (const auto& [name, blk] :
       {std::pair("qwen35-f32", "blk.3."), std::pair("qwen35-odd-f32", "blk.1.")}) {
    const TinyModel& tiny = tiny_model_named(name);
    GgufBuilder file = tiny_model_file(tiny);
    LoadOptions options = small(512);
    options.kv_type = "f32";
    const auto engine = load_bytes(file.build(), options);
    ASSERT_NE(engine, nullptr);
    for (const size_t n : {size_t{1}, size_t{9}}) {
      Inputs inputs;
      Session session(*engine);
      ASSERT_TRUE(set_observer(session, &inputs).has_value());
      ASSERT_TRUE(session.start_logits(some_ids(n, 509), 0).has_value());
      finish_run(session);
      const std::vector<float>& x = inputs.at(concat(blk, "attn_q.weight"), 0);
      const Numbers q = product(numbers_of(file, concat(blk, "attn_q.weight")), x);
      const Numbers v = product(numbers_of(file, concat(blk, "attn_v.weight")), x);
      const std::vector<float>& got = inputs.at(concat(blk, "attn_output.weight"), 0);
      const size_t dim = tiny.head_dim, group = tiny.n_heads / tiny.n_kv_heads;
      for (size_t i = 0; i < got.size(); ++i) {
        const size_t head = i / dim;
        const double gate = q[(2 * head + 1) * dim + i % dim];
        ASSERT_NEAR(static_cast<double>(got[i]), v[head / group * dim + i % dim] * sigmoid(gate),
                    1e-5)
            << name << ", value " << i;
      }
    }
  }
}

}  // namespace
}  // namespace sluice
