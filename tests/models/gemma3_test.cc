// What files of gemma3 may have: windows for some layers or for none, a cap on logits, and the
// score scale of the largest model.
#include <cmath>

#include "base/math.h"
#include "models/made_model.h"
#include "support/engine_fixture.h"
#include "support/planned_engine.h"

namespace sluice {
namespace {

constexpr const char* kPattern = "gemma3.attention.sliding_window_pattern";
constexpr const char* kWindow = "gemma3.attention.sliding_window";
constexpr const char* kCap = "gemma3.final_logit_softcapping";

GgufBuilder gemma3() { return tiny_model_file(tiny_model_named("gemma3-wide-f32")); }

std::string gemma3_hash(const GgufBuilder& file) {
  const auto engine = load_bytes(file.build(), small(512));
  // More tokens than the window.
  return engine == nullptr ? "" : hash_of(*engine, some_ids(300, 512));
}

TEST(Gemma3, EverySixthLayerSeesAllAndTurnsByAnotherTable) {
  const auto model = model_of(gemma3());
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->ropes().size(), 2u);
  EXPECT_EQ(model->ropes()[0].numbers.freq_base, 1e6);
  EXPECT_EQ(model->ropes()[1].numbers.freq_base, 10000);
  for (int64_t l = 0; l < 7; ++l) {
    EXPECT_EQ(model->layer(l).window, l == 5 ? 0 : 261) << l;
    EXPECT_EQ(model->layer(l).rope, l == 5 ? 0 : 1) << l;
    EXPECT_EQ(model->layer(l).scale, 1 / std::sqrt(24.0f));
  }
}

// Linear scaling is only for the layers that see all positions. The 27B model divides scores by the
// root of n_embd / n_heads.
TEST(Gemma3, OfTheLargestModelScoresAreDividedByTheWidthsShare) {
  TinyModel tiny = tiny_model_named("gemma3-wide-f32");
  tiny.n_layers = 62;
  GgufBuilder file = tiny_model_file(tiny);
  file.kv_string("gemma3.rope.scaling.type", "linear").kv_f32("gemma3.rope.scaling.factor", 8);
  const auto header = parse_gguf(as_bytes(file.build()));
  ASSERT_TRUE(header.has_value());
  const auto model = make_model(*header);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ((*model)->layer(61).scale, 1 / std::sqrt(32.0f));
  EXPECT_EQ((*model)->layer(59).window, 0);
  EXPECT_EQ((*model)->ropes()[0].numbers.scale, 8);
  EXPECT_EQ((*model)->ropes()[1].numbers.scale, 1);
}

// The layers of a file that see all positions.
std::vector<int64_t> see_all(const GgufBuilder& file) {
  std::vector<int64_t> layers;
  const auto model = model_of(file);
  for (int64_t l = 0; model != nullptr && l < 7; ++l) {
    if (model->layer(l).window == 0) layers.push_back(l);
    EXPECT_EQ(model->layer(l).rope, model->layer(l).window == 0 ? 0 : 1) << l;
    EXPECT_LT(model->layer(l).rope, static_cast<int>(model->ropes().size())) << l;
  }
  return layers;
}

TEST(Gemma3, ThePatternIsANumberOrOneForEachLayer) {
  using Layers = std::vector<int64_t>;
  EXPECT_EQ(see_all(gemma3()), (Layers{5}));
  EXPECT_EQ(see_all(gemma3().kv_u32(kPattern, 3)), (Layers{2, 5}));
  EXPECT_EQ(see_all(gemma3().kv_u32(kPattern, 1)), (Layers{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(see_all(gemma3().kv_u32(kPattern, 8)), (Layers{}));
  const std::vector<uint8_t> layers = {0, 1, 1, 1, 0, 1, 1};
  for (const ValueType type : {ValueType::boolean, ValueType::u8}) {
    EXPECT_EQ(see_all(gemma3().kv_array(kPattern, type, layers)), (Layers{0, 4}));
  }
  const std::vector<uint8_t> usual = {1, 1, 1, 1, 1, 0, 1};
  EXPECT_EQ(gemma3_hash(gemma3().kv_array(kPattern, ValueType::boolean, usual)),
            gemma3_hash(gemma3()));
}

TEST(Gemma3, WithoutAWindowAllLayersSeeAllAndTurnAlike) {
  GgufBuilder none = gemma3();
  none.remove(kWindow);
  const auto model = model_of(none);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->ropes().size(), 1u);
  for (int64_t l = 0; l < 7; ++l) {
    EXPECT_EQ(model->layer(l).window, 0) << l;
    EXPECT_EQ(model->layer(l).rope, 0) << l;
  }
  const std::string hash = gemma3_hash(none);
  EXPECT_NE(hash, gemma3_hash(gemma3()));
  EXPECT_EQ(gemma3_hash(gemma3().kv_u32(kWindow, 0)), hash);
  EXPECT_EQ(gemma3_hash(gemma3().kv_u32(kPattern, 1)), hash);
  // A window that no text outgrows still turns by the other base.
  EXPECT_NE(gemma3_hash(gemma3().kv_u32(kWindow, 5000)), hash);
}

TEST(Gemma3, ACapBendsLogits) {
  const std::vector<TokenId> ids = some_ids(9, 512);
  const auto plain = load_bytes(gemma3().build(), small(64));
  ASSERT_NE(hash_of(*plain, ids), "");
  std::vector<float> expected(plain->session().logits().begin(), plain->session().logits().end());
  bool bent = false;
  for (float& logit : expected) {
    const float capped = 0.75f * tanh_f32(logit / 0.75f);
    bent = bent || std::abs(logit - capped) > 0.1f;
    logit = capped;
  }
  EXPECT_TRUE(bent);
  const std::string bytes = gemma3().kv_f32(kCap, 0.75f).build();
  for (const int32_t threads : {1, 2}) {
    LoadOptions options = small(64);
    options.threads = threads;
    const auto capped = load_bytes(bytes, options);
    const std::string hash = hash_of(*capped, ids);
    EXPECT_TRUE(std::ranges::equal(capped->session().logits(), expected));

    const TemporaryFile file(bytes);
    auto streamed = PlannedEngine::open(file.path(), options,
                                        {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(streamed.has_value()) << streamed.error().message;
    ASSERT_TRUE((*streamed)->session().start_logits(ids, 0).has_value());
    ASSERT_TRUE(drive_opened(**streamed, (*streamed)->session()).has_value());
    EXPECT_EQ(logits_hash((*streamed)->session().logits()), hash);
  }
  EXPECT_EQ(gemma3_hash(gemma3().kv_f32(kCap, 0)), gemma3_hash(gemma3()));
}

TEST(Gemma3, ACapHidesNoInfinity) {
  GgufBuilder file = gemma3();
  file.kv_f32(kCap, 30).tensor("output.scale", Type::F32, {1}, bytes_of(1e38f));
  const auto engine = load_bytes(file.build(), small(64));
  ASSERT_TRUE(engine->session().start_logits(some_ids(3, 512), 0).has_value());
  const auto finish = drive(engine->session(), [](const Event&) {});
  ASSERT_FALSE(finish.has_value());
  EXPECT_EQ(finish.error().code, Code::bad_file);
}

}  // namespace
}  // namespace sluice
