// Vectors of several texts.
#include <algorithm>
#include <numeric>

#include "session/results.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {
namespace {

using Texts = std::vector<std::vector<TokenId>>;

// Of these lengths, with different tokens.
Texts some_texts(std::span<const size_t> lengths, int64_t n_vocab) {
  Texts texts;
  const size_t most = *std::ranges::max_element(lengths);
  const std::vector<TokenId> ids = some_ids(most + lengths.size(), n_vocab);
  for (size_t i = 0; i < lengths.size(); ++i)
    texts.emplace_back(ids.begin() + static_cast<ptrdiff_t>(i),
                       ids.begin() + static_cast<ptrdiff_t>(i + lengths[i]));
  return texts;
}

std::vector<float> copy(std::span<const float> all) { return {all.begin(), all.end()}; }

std::vector<float> vectors_of(Engine& engine, const Texts& texts, Pooling pooling,
                              int64_t batch = 0) {
  Session& session = engine.session();
  const Status started = session.start_vectors(texts, pooling, batch);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  int64_t computed = 0;
  const auto done = drive(session, [&](const Event& event) {
    if (event.kind == Event::Kind::waiting && !engine.wait().has_value()) return false;
    const PromptProgress progress = session.prompt_progress();
    EXPECT_GE(progress.computed, computed);
    EXPECT_LE(progress.computed, progress.total);
    computed = progress.computed;
    return true;
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(session.vectors_done(), texts.size());
  return copy(session.vectors());
}

// The vector that a session's own run makes of one text.
std::vector<float> pooled(Engine& engine, const std::vector<TokenId>& ids, Pooling pooling) {
  const auto session = std::make_unique<Session>(engine);
  Results wanted;
  wanted.pooling = pooling;
  EXPECT_TRUE(session->start_results(ids, 0, wanted).has_value());
  EXPECT_TRUE(drive_opened(engine, *session).has_value());
  return copy(session->pooled());
}

std::unique_ptr<Engine> engine_of(const std::string& name, uint32_t context = 1024,
                                  int32_t threads = 2) {
  LoadOptions options = small(context);
  options.threads = threads;
  options.kv_type = "f32";
  return load_bytes(build_tiny_model(tiny_model_named(name)), options);
}

constexpr size_t kLengths[] = {3, 700, 1, 16, 17, 255, 256, 257, 40, 5, 240, 16, 1, 100, 33, 320};

TEST(Vectors, AreThoseOfASessionAlone) {
  for (const char* name : {"llama-f32", "gemma3-q8_0", "gpt2-f16", "qwen3moe-q8_0"}) {
    const auto engine = engine_of(name, name == std::string("gpt2-f16") ? 64 : 1024);
    ASSERT_NE(engine, nullptr) << name;
    const size_t width = static_cast<size_t>(engine->vector_width());
    std::vector<size_t> lengths(std::begin(kLengths), std::end(kLengths));
    for (size_t& n : lengths) n = std::min<size_t>(n, engine->context_size());
    const Texts texts = some_texts(lengths, engine->tokenizer().vocab_size());
    for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last}) {
      std::vector<float> alone;
      for (const auto& ids : texts) {
        const std::vector<float> one = pooled(*engine, ids, pooling);
        EXPECT_EQ(one.size(), width);
        alone.insert(alone.end(), one.begin(), one.end());
      }
      for (const int64_t batch : {1, 0, 300, 100000})
        EXPECT_TRUE(vectors_of(*engine, texts, pooling, batch) == alone)
            << name << ", batch " << batch;
    }
  }
}

}  // namespace
}  // namespace sluice
