// What the tests of vectors of texts share.
#pragma once

#include <algorithm>
#include <random>

#include "session/results.h"
#include "support/planned_engine.h"
#include "support/session_files.h"

namespace sluice {

using Texts = std::vector<std::vector<TokenId>>;

// Of these lengths, at most `most`, with different tokens.
inline Texts some_texts(std::span<const size_t> lengths, int64_t n_vocab, size_t most = SIZE_MAX) {
  Texts texts;
  const std::vector<TokenId> ids =
      some_ids(*std::ranges::max_element(lengths) + lengths.size(), n_vocab);
  for (const size_t n : lengths) {
    const auto first = ids.begin() + static_cast<ptrdiff_t>(texts.size());
    texts.emplace_back(first, first + static_cast<ptrdiff_t>(std::min(n, most)));
  }
  return texts;
}

// Those at the bounds of chunks, groups of 16 and blocks, and others drawn from 1 to 700.
inline std::vector<size_t> some_lengths() {
  std::vector<size_t> lengths = {3, 600, 1, 16, 17, 256, 257, 40, 5, 200, 16, 1};
  std::minstd_rand random(7);
  for (int i = 0; i < 6; ++i) lengths.push_back(random() % (i < 4 ? 40 : 700) + 1);
  return lengths;
}

// The same, of an engine's tokens, none longer than its context.
inline Texts texts_for(const Engine& engine) {
  return some_texts(some_lengths(), engine.tokenizer().vocab_size(), engine.context_size());
}

inline std::vector<float> copy(std::span<const float> all) { return {all.begin(), all.end()}; }

inline std::vector<float> vectors_of(Engine& engine, const Texts& texts,
                                     Pooling pooling = Pooling::none, int64_t batch = 0) {
  Session& session = engine.session();
  const Status started = session.start_vectors(texts, pooling, batch);
  EXPECT_TRUE(started.has_value()) << started.error().message;
  int64_t computed = 0, total = 0;
  for (const std::vector<TokenId>& text : texts) total += static_cast<int64_t>(text.size());
  const auto done = drive(session, [&](const Event& event) {
    if (event.kind == Event::Kind::waiting && !engine.wait().has_value()) return false;
    const PromptProgress progress = session.prompt_progress();
    EXPECT_GE(progress.computed, computed);
    EXPECT_LE(progress.computed, total);
    EXPECT_EQ(progress.total, total);
    EXPECT_LE(session.texts_done(), texts.size());
    computed = progress.computed;
    return true;
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(session.texts_done(), texts.size());
  EXPECT_EQ(session.vectors().size(), texts.size() * static_cast<size_t>(engine.vector_width()));
  return copy(session.vectors());
}

// The vectors that runs over one text each make.
inline std::vector<float> alone(Engine& engine, const Texts& texts, Pooling pooling) {
  std::vector<float> all;
  for (const std::vector<TokenId>& ids : texts) {
    Session session(engine);
    Results wanted;
    wanted.pooling = pooling;
    EXPECT_TRUE(session.start_results(ids, 0, wanted).has_value());
    EXPECT_TRUE(drive_opened(engine, session).has_value());
    all.insert(all.end(), session.pooled().begin(), session.pooled().end());
  }
  return all;
}

inline LoadOptions options_of(uint32_t context = 1024, int32_t threads = 2,
                              std::string kernels = "") {
  LoadOptions options;
  options.context_size = context;
  options.threads = threads;
  options.kernels = std::move(kernels);
  options.kv_type = "f32";
  return options;
}

inline constexpr Pooling kPoolings[] = {Pooling::mean, Pooling::first, Pooling::last};

}  // namespace sluice
