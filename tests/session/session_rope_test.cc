// Sessions of models whose positions are rotated by the size of the context: restored only where
// the same factors count.
#include "support/session_files.h"

namespace sluice {
namespace {

// A model with other factors for contexts of more than 40 tokens, or without.
std::string model_bytes(bool long_factors) {
  GgufBuilder file = tiny_model();
  const auto factors = [&](const char* name, float step) {
    std::vector<float> values;
    for (int i = 0; i < 8; ++i) values.push_back(1 + step * static_cast<float>(i));
    file.tensor(name, Type::F32, {8}, bytes_of(values));
  };
  factors(long_factors ? "rope_factors_short.weight" : "rope_freqs.weight", 0.125f);
  if (long_factors) factors("rope_factors_long.weight", 2);
  file.kv_u32("llama.rope.scaling.original_context_length", 40);
  return file.build();
}

Bytes session_of_context(const std::string& model, uint32_t context) {
  const auto engine = load_bytes(model, small(context));
  generate(*engine, some_ids(5, kTinyVocab), drawing(3, 1));
  return saved(*engine, engine->session());
}

// The error of restoring a session in a context of another size; "" if that works.
std::string error_in(const std::string& model, const Bytes& session, uint32_t context) {
  const auto engine = load_bytes(model, small(context));
  const auto restored = read(*engine, session);
  if (restored.has_value()) return "";
  EXPECT_EQ(restored.error().code, Code::invalid_argument);
  return restored.error().message;
}

TEST(SessionOfLongRope, IsRestoredWhereTheSameFactorsCount) {
  const std::string model = model_bytes(true);
  const Bytes in_short = session_of_context(model, 20);
  const Bytes in_long = session_of_context(model, 64);
  EXPECT_EQ(error_in(model, in_short, 40), "");
  EXPECT_EQ(error_in(model, in_long, 41), "");
  EXPECT_EQ(error_in(model, in_long, 128), "");

  const std::string longer = error_in(model, in_short, 41);
  EXPECT_NE(longer.find("load it with a context of at most 40 tokens"), std::string::npos)
      << longer;
  const std::string shorter = error_in(model, in_long, 40);
  EXPECT_NE(shorter.find("load it with a context of more than 40 tokens"), std::string::npos)
      << shorter;
  // No context has this number.
  Bytes other = in_short;
  put<uint64_t>(other, 32, 1);
  hash_again(other);
  const std::string unknown = error_in(model, other, 40);
  EXPECT_NE(unknown.find("other RoPE settings"), std::string::npos) << unknown;
}

TEST(SessionOfLongRope, GoesOnWithTheSameBits) {
  const std::string model = model_bytes(true);
  const auto engine = load_bytes(model, small(64));
  const std::vector<TokenId> all = generate(*engine, some_ids(5, kTinyVocab), drawing(10, 1)).ids();
  const auto larger = load_bytes(model, small(100));
  const auto session = restored(*larger, session_of_context(model, 64));
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->resume(drawing(7)).has_value());
  EXPECT_EQ(finish_run(*session).ids(), std::vector<TokenId>(all.begin() + 3, all.end()));
}

// The number that stands in a file for RoPE is the one of the first version, of a model that has
// only what that version knew.
TEST(SessionOfLongRope, OtherModelsKeepTheirNumber) {
  const std::string model = model_bytes(false);
  for (const uint32_t context : {20u, 41u}) {
    const Bytes session = session_of_context(model, context);
    uint64_t rope = 0;
    std::memcpy(&rope, session.data() + 32, sizeof rope);
    EXPECT_EQ(rope, 0x9725a2f99d248a05u);
    EXPECT_EQ(error_in(model, session, 64), "");
  }
}

}  // namespace
}  // namespace sluice
