// How a file's keys and tensors make the numbers of RoPE: ways of scaling, defaults, and factors
// that depend on the size of the context.
#include <cmath>

#include "base/format.h"
#include "models/registry.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

constexpr const char* kType = "llama.rope.scaling.type";
constexpr const char* kFactor = "llama.rope.scaling.factor";
constexpr const char* kOriginal = "llama.rope.scaling.original_context_length";
constexpr const char* kAttention = "llama.rope.scaling.attn_factor";

// The numbers of the first RoPE table of a file's model.
RopeShape rope_of(const GgufBuilder& file) {
  const auto header = parse_gguf(as_bytes(file.build()));
  EXPECT_TRUE(header.has_value());
  const auto model = make_model(*header);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model.has_value() ? (*model)->ropes()[0] : RopeShape{};
}

TEST(RopeKeys, WithoutATypeScalingIsLinear) {
  EXPECT_EQ(rope_of(tiny_model()).numbers.scale, 1);
  EXPECT_EQ(rope_of(tiny_model().kv_f32(kFactor, 4)).numbers.scale, 4);
  EXPECT_EQ(rope_of(tiny_model().kv_f32(kFactor, 0)).numbers.scale, 1);
  EXPECT_EQ(rope_of(tiny_model().kv_string(kType, "linear").kv_f32(kFactor, 4)).numbers.scale, 4);
  EXPECT_EQ(rope_of(tiny_model().kv_f32("llama.rope.scale_linear", 3)).numbers.scale, 3);
  const RopeShape both =
      rope_of(tiny_model().kv_f32("llama.rope.scale_linear", 3).kv_f32(kFactor, 5));
  EXPECT_EQ(both.numbers.scale, 5);
  EXPECT_FALSE(both.numbers.yarn.has_value());
  EXPECT_EQ(both.numbers.magnitude, 1);
}

TEST(RopeKeys, TheTypeNoneIgnoresTheFactor) {
  for (const float factor : {4.0f, -1.0f}) {
    const RopeShape rope = rope_of(
        tiny_model().kv_string(kType, "none").kv_f32(kFactor, factor).kv_f32(kAttention, 2));
    EXPECT_EQ(rope.numbers.scale, 1);
    EXPECT_EQ(rope.numbers.magnitude, 2);
  }
}

TEST(RopeKeys, YarnHasItsNumbersFromTheFile) {
  GgufBuilder file = tiny_model();
  file.kv_string(kType, "yarn").kv_f32(kFactor, 4);
  const RopeShape usual = rope_of(file);
  ASSERT_TRUE(usual.numbers.yarn.has_value());
  EXPECT_EQ(usual.numbers.scale, 4);
  EXPECT_EQ(usual.numbers.yarn->original_context, 128);  // context_length
  EXPECT_NEAR(usual.numbers.yarn->magnitude, 1 + 0.1 * std::log(4.0), 1e-15);
  EXPECT_EQ(usual.numbers.magnitude, 1);

  file.kv_u32(kOriginal, 32).kv_f32(kAttention, 1.5f);
  file.kv_f32("llama.rope.scaling.yarn_beta_fast", 4)
      .kv_f32("llama.rope.scaling.yarn_beta_slow", 2);
  const RopeShape rope = rope_of(file);
  EXPECT_EQ(rope.numbers.yarn->original_context, 32);
  EXPECT_EQ(rope.numbers.magnitude, 1.5);
  EXPECT_EQ(rope.numbers.yarn->beta_fast, 32);  // in no family here from the file
  EXPECT_EQ(rope.numbers.yarn->beta_slow, 1);
}

// Layers with a window turn by their own base, not scaled.
TEST(RopeKeys, OfGemma3ScaleOnlyLayersThatSeeAll) {
  GgufBuilder file = tiny_model_file(tiny_model_named("gemma3-f32"));
  file.kv_string("gemma3.rope.scaling.type", "yarn").kv_f32("gemma3.rope.scaling.factor", 8);
  file.kv_f32("gemma3.rope.scaling.attn_factor", 1.5f);
  const auto header = parse_gguf(as_bytes(file.build()));
  const auto model = make_model(*header);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const auto& ropes = (*model)->ropes();
  EXPECT_TRUE(ropes[0].numbers.yarn.has_value());
  EXPECT_EQ(ropes[0].numbers.scale, 8);
  EXPECT_FALSE(ropes[1].numbers.yarn.has_value());
  EXPECT_EQ(ropes[1].numbers.scale, 1);
  EXPECT_EQ(ropes[1].numbers.magnitude, 1.5);
}

// --- factors by the size of the context ----------------------------------------------------------

const std::vector<float> kShort = {1, 1.1f, 1.2f, 1.3f, 1.4f, 1.5f, 1.6f, 1.7f};
const std::vector<float> kLong = {1, 2, 4, 6, 8, 12, 16, 32};

GgufBuilder with_factors(const char* name, const std::vector<float>& factors) {
  GgufBuilder file = tiny_model();
  file.tensor(name, Type::F32, {factors.size()}, bytes_of(factors));
  return file;
}
GgufBuilder long_rope() {
  GgufBuilder file = with_factors("rope_factors_short.weight", kShort);
  file.tensor("rope_factors_long.weight", Type::F32, {kLong.size()}, bytes_of(kLong));
  file.kv_string(kType, "longrope").kv_u32(kOriginal, 40);
  return file;
}

std::string hash_in_context(const GgufBuilder& file, uint32_t context) {
  const auto engine = load_bytes(file.build(), small(context));
  return engine == nullptr ? "" : hash_of(*engine, some_ids(20, kTinyVocab));
}

TEST(LongRope, TheContextsSizeChoosesTheFactors) {
  const std::string as_short = hash_in_context(with_factors("rope_freqs.weight", kShort), 64);
  const std::string as_long = hash_in_context(with_factors("rope_freqs.weight", kLong), 64);
  ASSERT_NE(as_short, as_long);
  EXPECT_EQ(hash_in_context(long_rope(), 32), as_short);
  EXPECT_EQ(hash_in_context(long_rope(), 40), as_short);
  EXPECT_EQ(hash_in_context(long_rope(), 41), as_long);
  EXPECT_EQ(hash_in_context(long_rope(), 128), as_long);
  // Without a limit of its own it is the context that the model was trained for.
  GgufBuilder unlimited = long_rope();
  unlimited.remove(kOriginal);
  EXPECT_EQ(hash_in_context(unlimited, 128), as_short);
  EXPECT_EQ(hash_in_context(unlimited, 129), as_long);
  // The tensors decide, whatever the type.
  GgufBuilder untyped = long_rope();
  untyped.remove(kType);
  EXPECT_EQ(hash_in_context(untyped, 41), as_long);
  // Some files have the type and no factors.
  EXPECT_EQ(hash_in_context(tiny_model().kv_string(kType, "longrope"), 41),
            hash_in_context(tiny_model(), 41));
}

TEST(LongRope, AFactorOfZeroEndsTheRunWhereItCounts) {
  GgufBuilder file = long_rope();
  file.find_tensor("rope_factors_long.weight").data = bytes_of(std::vector<float>(8, 0));
  EXPECT_NE(hash_in_context(file, 40), "");
  const auto engine = load_bytes(file.build(), small(41));
  ASSERT_TRUE(engine->session().start_logits(some_ids(3, kTinyVocab), 0).has_value());
  const auto event = engine->session().step();
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().code, Code::bad_file);
  EXPECT_NE(event.error().message.find("rope_factors_*.weight"), std::string::npos);
}

TEST(LongRope, TheMagnitudeCounts) {
  const std::string plain = hash_in_context(long_rope(), 64);
  EXPECT_NE(hash_in_context(long_rope().kv_f32(kAttention, 1.2f), 64), plain);
  EXPECT_EQ(hash_in_context(long_rope().kv_f32(kAttention, 1), 64), plain);
}

}  // namespace
}  // namespace sluice
