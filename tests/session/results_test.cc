// The results of a run: the logits of many positions are those that each has alone.
#include <algorithm>

#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

constexpr size_t kTokens = Pass::kBlockTokens + 44;  // of two blocks

// A model whose head has a bias, a scale and a cap.
std::string bent_bytes() {
  GgufBuilder file = tiny_model_file(tiny_model_named("gemma3-q8_0"));
  file.kv_f32("gemma3.final_logit_softcapping", 0.75f);
  const auto n_vocab = static_cast<size_t>(file.find_tensor("token_embd.weight").dims[1]);
  file.tensor("output.bias", Type::F32, {n_vocab}, bytes_of(test_values(n_vocab, 3)));
  file.tensor("output.scale", Type::F32, {1}, bytes_of(std::vector<float>{0.625f}));
  return file.build();
}

std::vector<std::string> models() {
  std::vector<std::string> files = {bent_bytes()};
  for (const char* name : {"llama-odd-q4_0", "qwen2-q8_0", "gpt2-f16"})
    files.push_back(build_tiny_model(tiny_model_named(name)));
  return files;
}

std::vector<float> all_logits(Engine& engine, const std::vector<TokenId>& ids, int64_t batch) {
  EXPECT_TRUE(engine.session().start_logits(ids, batch, true).has_value());
  const auto done = drive_opened(engine, engine.session());
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return {engine.session().logits().begin(), engine.session().logits().end()};
}

TEST(Results, LogitsOfAllPositionsDontDependOnTheBatch) {
  for (const std::string& bytes : models()) {
    LoadOptions options = small(512);
    options.threads = 2;
    const auto engine = load_bytes(bytes, options);
    ASSERT_NE(engine, nullptr);
    const std::vector<TokenId> ids = some_ids(kTokens, engine->tokenizer().vocab_size());
    const std::vector<float> one_by_one = all_logits(*engine, ids, 1);
    ASSERT_EQ(one_by_one.size(), kTokens * static_cast<size_t>(engine->tokenizer().vocab_size()));
    for (const int64_t batch : {0, 2, 129})
      EXPECT_TRUE(all_logits(*engine, ids, batch) == one_by_one) << batch;
    // The head in parts, which are read again for every pass.
    const TemporaryFile file(bytes);
    const auto parts = PlannedEngine::open(
        file.path(), options, {.layer_places = 2, .head_parts = 3, .embedding_rows = 16});
    ASSERT_TRUE(parts.has_value()) << parts.error().message;
    for (const int64_t batch : {0, 129})
      EXPECT_TRUE(all_logits(**parts, ids, batch) == one_by_one) << batch;
  }
}

// A block of a part of the head is a slice, so that others can go on meanwhile.
TEST(Results, OfManyPositionsTakeASliceForEachBlock) {
  const auto engine = tiny_engine(512);
  const std::vector<TokenId> ids = some_ids(kTokens, engine->tokenizer().vocab_size());
  const auto slices = [&](bool all_positions) {
    EXPECT_TRUE(engine->session().start_logits(ids, 0, all_positions).has_value());
    int n = 0;
    for (; engine->session().step()->kind != Event::Kind::done; ++n) {
    }
    return n;
  };
  EXPECT_EQ(slices(true), slices(false) + 2);
}

}  // namespace
}  // namespace sluice
