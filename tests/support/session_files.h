// What the tests of saved sessions share: saving, reading, and changing the bytes between.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/xxh64.h"
#include "engine_fixture.h"
#include "session/session_file.h"

namespace sluice {

using Bytes = std::vector<uint8_t>;

inline LoadOptions with(std::string kernels, int32_t threads, std::string kv_type = "f16") {
  LoadOptions options;
  options.kernels = std::move(kernels);
  options.threads = threads;
  options.kv_type = std::move(kv_type);
  options.context_size = 512;
  return options;
}

// Identifies an engine that was opened, or whose weights are all here.
inline void identify(Engine& engine) {
  for (;;) {
    const auto known = engine.identify();
    ASSERT_TRUE(known.has_value()) << known.error().message;
    if (*known) return;
    ASSERT_TRUE(engine.wait().has_value());
  }
}

inline Bytes saved(Engine& engine, const Session& session, size_t piece = 1 << 16) {
  identify(engine);
  const auto writer = session.save();
  if (!writer.has_value()) {
    ADD_FAILURE() << writer.error().message;
    return {};
  }
  Bytes file, bytes(piece);
  while (const size_t n = (*writer)->next(bytes))
    file.insert(file.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
  EXPECT_EQ(file.size(), (*writer)->bytes());
  return file;
}

inline Result<std::unique_ptr<Session>> read(Engine& engine, std::span<const uint8_t> file,
                                             size_t piece = SIZE_MAX, uint64_t file_bytes = 0) {
  identify(engine);
  SessionReader reader(engine, file_bytes);
  for (size_t at = 0; at < file.size();) {
    const size_t n = std::min(piece, file.size() - at);
    SLUICE_TRY(reader.push(file.subspan(at, n)));
    at += n;
  }
  return reader.finish();
}

inline std::unique_ptr<Session> restored(Engine& engine, std::span<const uint8_t> file,
                                         size_t piece = SIZE_MAX) {
  auto session = read(engine, file, piece, file.size());
  if (session.has_value()) return std::move(*session);
  ADD_FAILURE() << session.error().message;
  return nullptr;
}

// Hashes that fit after bytes of the file were changed.
inline void hash_again(Bytes& file);

// The file of a model without windows, as an earlier version had it: without the part `kept`.
inline Bytes without_kept(Bytes file, uint32_t version) {
  uint32_t tokens = 0;
  std::memcpy(&tokens, file.data() + 48, sizeof tokens);
  const auto kept = file.begin() + kSessionHeaderBytes + 4 * static_cast<ptrdiff_t>(tokens);
  file.erase(kept, kept + static_cast<ptrdiff_t>(kPromptEndBytes));
  const uint64_t bytes = file.size();
  std::memcpy(file.data() + 8, &version, sizeof version);
  std::memcpy(file.data() + 16, &bytes, sizeof bytes);
  hash_again(file);
  return file;
}

// Draws at random and counts repeated tokens, so that all of a sampler's state matters.
inline GenerateOptions drawing(int64_t max_tokens, std::optional<uint64_t> seed = std::nullopt) {
  GenerateOptions options = greedy(max_tokens);
  options.temperature = 1.5f;
  options.repeat_penalty = 1.3f;
  options.seed = seed;
  return options;
}

inline uint64_t identity_in(std::span<const uint8_t> file) {
  uint64_t identity = 0;
  std::memcpy(&identity, file.data() + 24, sizeof identity);
  return identity;
}

template <typename T>
void put(Bytes& file, size_t at, T number) {
  std::memcpy(file.data() + at, &number, sizeof number);
}
// Makes both hashes right again, after a change.
inline void hash_again(Bytes& file) {
  put(file, kSessionHeaderBytes - 8, xxh64(std::span(file).first(kSessionHeaderBytes - 8)));
  put(file, file.size() - 8, xxh64(std::span(file).first(file.size() - 8)));
}

// One model of each architecture.
class EveryModel : public testing::TestWithParam<std::string> {
 protected:
  const std::string bytes_ = build_tiny_model(tiny_model_named(GetParam()));
};

}  // namespace sluice
