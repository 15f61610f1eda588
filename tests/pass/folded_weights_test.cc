// Folded weights: the transform of rows, and that models with them compute what their twins do.
#include <bit>
#include <cmath>
#include <map>

#include "make/fold.h"
#include "ops/hadamard.h"
#include "pass/observer.h"
#include "session/observe.h"
#include "support/engine_fixture.h"
#include "support/planned_engine.h"

namespace sluice {
namespace {

std::vector<float> signs_of(uint32_t width) {
  const std::vector<int32_t> signs = fold_signs(width);
  return {signs.begin(), signs.end()};
}

// The definition, one step after the other.
std::vector<float> in_steps(const std::vector<float>& signs, size_t block, std::vector<float> x) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = x[i] * signs[i];
  for (size_t first = 0; first < x.size(); first += block) {
    for (size_t h = 1; h < block; h *= 2) {
      for (size_t i = 0; i < block; ++i) {
        if ((i & h) != 0) continue;
        const float a = x[first + i], b = x[first + i + h];
        x[first + i] = a + b;
        x[first + i + h] = a - b;
      }
    }
    for (size_t i = 0; i < block; ++i)
      x[first + i] = x[first + i] * (1 / std::sqrt(static_cast<float>(block)));
  }
  return x;
}

TEST(Hadamard, IsTheMatrixOfItsDefinitionToTheLastBit) {
  for (uint32_t block = 4; block <= 4096; block *= 2) {
    const uint32_t width = 3 * block;
    for (const bool has_signs : {false, true}) {
      const std::vector<float> signs = has_signs ? signs_of(width) : std::vector<float>(width, 1);
      const float* const given = has_signs ? signs.data() : nullptr;
      const std::vector<float> x = test_values(width, block);
      std::vector<float> made = x;
      apply_hadamard(given, width, block, made.data());
      EXPECT_EQ(made, in_steps(signs, block, x)) << block;
      for (const uint32_t r : {0u, block / 3, block - 1}) {
        double sum = 0;
        for (uint32_t c = 0; c < block; ++c) {
          const double value = double{x[block + c]} * double{signs[block + c]};
          sum += std::popcount(r & c) % 2 == 0 ? value : -value;
        }
        EXPECT_NEAR(made[block + r], sum / std::sqrt(static_cast<double>(block)), 2e-6)
            << block << ", " << r;
      }
      undo_hadamard(given, width, block, made.data());
      for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(made[i], x[i], 2e-6) << block;
    }
  }
}

TEST(Hadamard, PutsHeadsInTheOrderOfTheirGroups) {
  const float heads[] = {0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4.5f, 5, 5.5f};
  std::vector<float> to(12);
  group_heads(heads, 12, 2, 3, to.data());
  EXPECT_EQ(to, (std::vector<float>{0, 0.5f, 2, 2.5f, 4, 4.5f, 1, 1.5f, 3, 3.5f, 5, 5.5f}));
}

std::vector<float> logits_of(Engine& engine, size_t n) {
  EXPECT_TRUE(engine.session().start_logits(some_ids(n, 512), 0).has_value());
  EXPECT_TRUE(drive_opened(engine, engine.session()).has_value());
  return {engine.session().logits().begin(), engine.session().logits().end()};
}

// One token goes another way than several, above all through experts. With two places layers,
// experts and parts of the head are read again for each pass.
TEST(FoldedWeights, GiveTheLogitsOfTheirTwin) {
  for (const TinyModel& model : tiny_models()) {
    if (model.folded_from.empty() || model.type != Type::F32) continue;
    SCOPED_TRACE(model.name);
    const std::string bytes = build_tiny_model(model);
    LoadOptions options = small(64);
    options.kv_type = "f32";
    const auto twin = load_bytes(build_tiny_model(tiny_model_named(model.folded_from)), options);
    const auto engine = load_bytes(bytes, options);
    const TemporaryFile file(bytes);
    const auto streamed = PlannedEngine::open(
        file.path(), options, {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(twin != nullptr && engine != nullptr && streamed.has_value());
    for (const size_t n : {1, 30}) {
      const std::vector<float> expected = logits_of(*twin, n), got = logits_of(*engine, n);
      EXPECT_EQ(logits_of(**streamed, n), got);
      ASSERT_EQ(got.size(), expected.size());
      float largest = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 2e-5) << n << " tokens";
        largest = std::max(largest, std::fabs(got[i]));
      }
      EXPECT_GT(largest, 0.5f);
    }
  }
}

// Keeps the last input of each matrix.
class Inputs final : public Observer {
 public:
  Points points(int64_t) const override { return {.linear_input = true}; }
  void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) override {
    const auto row = rows.row(rows.n_tokens - 1);
    of[std::string(matrix.tensor)] = {row.begin(), row.end()};
  }
  void visit(const PointRows<float>&) override {}
  std::map<std::string, std::vector<float>> of;
};

// Of the second layer, attn_k and ffn_gate aren't folded.
TEST(FoldedWeights, AreMultipliedByTheTransformedRowThatAnObserverSees) {
  const auto engine = load_bytes(build_tiny_model(tiny_model_named("qwen3-folded-f32")), small(64));
  ASSERT_NE(engine, nullptr);
  for (const size_t n : {1, 7}) {
    Inputs inputs;
    ASSERT_TRUE(set_observer(engine->session(), &inputs).has_value());
    logits_of(*engine, n);
    ASSERT_TRUE(set_observer(engine->session(), nullptr).has_value());
    for (const auto& [plain, others] :
         {std::pair{"blk.1.attn_k.weight",
                    std::vector{"blk.1.attn_q.weight", "blk.1.attn_v.weight"}},
          {"blk.1.ffn_gate.weight", {"blk.1.ffn_up.weight"}}}) {
      std::vector<float> row = inputs.of[plain];
      ASSERT_EQ(row.size(), 64u);
      apply_hadamard(signs_of(64).data(), 64, kFoldBlock, row.data());
      for (const char* other : others) EXPECT_EQ(inputs.of[other], row) << other;
    }
  }
}

// Names of tensors that a model leaves out don't matter: it would refuse those with an effect.
TEST(FoldedWeights, MayBeOfATensorWithoutEffect) {
  const TinyModel& model = tiny_model_named("qwen3-folded-f32");
  GgufBuilder file = tiny_model_file(model);
  std::vector<std::string> names = {"blk.0.attn_rot_embd.weight"};
  for (const auto& tensor : file.tensors) {
    const bool plain = tensor.name == "blk.1.attn_k.weight" || tensor.name == "token_embd.weight" ||
                       tensor.name == "blk.1.ffn_gate.weight" || tensor.dims.size() == 1;
    if (!plain) names.push_back(tensor.name);
  }
  const auto hash = [](const GgufBuilder& of) {
    const auto engine = load_bytes(of.build(), small(64));
    return engine == nullptr ? "" : hash_of(*engine, some_ids(5, 512));
  };
  const std::string expected = hash(file);
  file.tensor(names[0], Type::F32, {32, 32}, std::string(4096, '\0'));
  file.kv_strings("prism.hadamard.weight_names", names);
  EXPECT_EQ(hash(file), expected);
}

}  // namespace
}  // namespace sluice
