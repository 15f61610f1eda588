// Shared by the tests of whole models: loading, generating, hashing. Errors fail the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drive.h"
#include "engine/memory_plan.h"
#include "engine/read_header.h"
#include "gguf/gguf.h"
#include "kernels/kernels.h"
#include "make/gguf_builder.h"
#include "pass/config.h"
#include "stream.h"
#include "text/tokenizer.h"

namespace sluice {

// Makes an engine and loads a file's bytes into it, in pieces of `piece` bytes (0: as they fit). If
// that fails, the test fails and the result is null.
inline std::unique_ptr<Engine> load_bytes(std::string_view file, const LoadOptions& options = {},
                                          size_t piece = 0) {
  auto engine = Engine::create(options, {file.size()});
  if (!engine.has_value()) {
    ADD_FAILURE() << engine.error().message;
    return nullptr;
  }
  Stream stream(**engine);
  for (size_t at = 0; at < file.size();) {
    const size_t n = std::min(file.size() - at, piece == 0 ? file.size() : piece);
    const Status status = stream.push(as_bytes(file.substr(at, n)));
    if (!status.has_value()) {
      ADD_FAILURE() << "after " << at << " bytes: " << status.error().message;
      return nullptr;
    }
    at += n;
  }
  const Status end = stream.end();
  EXPECT_TRUE(end.has_value()) << end.error().message;
  EXPECT_TRUE((*engine)->loaded());
  return std::move(*engine);
}

// Opens a file and waits until all is in memory that stays there.
inline Result<std::unique_ptr<Engine>> open_ready(const std::string& path,
                                                  const LoadOptions& options) {
  SLUICE_ASSIGN(auto engine, Engine::open(path, options));
  SLUICE_TRY(engine->wait_ready());
  return engine;
}

inline std::unique_ptr<Engine> open_file(const std::string& path, const LoadOptions& options = {}) {
  auto engine = open_ready(path, options);
  if (!engine.has_value()) {
    ADD_FAILURE() << path << ": " << engine.error().message;
    return nullptr;
  }
  return std::move(*engine);
}

// A file that exists as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    std::string pattern = testing::TempDir() + "sluice-XXXXXX";
    const int fd = mkstemp(pattern.data());
    EXPECT_GE(fd, 0) << pattern;
    path_ = pattern;
    std::ofstream out(path_, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(out.good()) << path_;
    close(fd);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline GenerateOptions greedy(int64_t max_tokens) {
  GenerateOptions options;
  options.temperature = 0;
  options.max_tokens = max_tokens;
  options.ignore_eos = true;
  return options;
}

struct Generated {
  std::vector<Event> tokens;
  std::string text;
  Finish finish = Finish::aborted;

  std::vector<TokenId> ids() const {
    std::vector<TokenId> all;
    for (const Event& event : tokens) all.push_back(event.id);
    return all;
  }
};

inline Session& session_of(Engine& engine) { return engine.session(); }
inline Session& session_of(Session& session) { return session; }

// Steps a session, or that of an engine, until done. If it has to wait for weights, fails the test
// and ends; but rows of tables that never come whole may come later to an engine that was opened.
template <typename T>
Generated finish_run(T& of) {
  Generated result;
  const auto finish = drive(session_of(of), [&](Event& event) {
    if (event.kind == Event::Kind::waiting) {
      if constexpr (std::is_same_v<T, Engine>)
        if (of.ready() && !of.loaded() && of.wait().has_value()) return true;
      ADD_FAILURE() << "the engine waits for weights";
      return false;
    }
    if (event.kind == Event::Kind::token) {
      result.text += event.text;
      result.tokens.push_back(std::move(event));
    }
    return true;
  });
  if (finish.has_value()) {
    result.finish = *finish;
  } else {
    ADD_FAILURE() << finish.error().message;
  }
  return result;
}

template <typename T, typename Prompt>
Generated generate(T& of, const Prompt& prompt, const GenerateOptions& options) {
  const Status started = session_of(of).start(prompt, options);
  if (!started.has_value()) {
    ADD_FAILURE() << started.error().message;
    return {};
  }
  return finish_run(of);
}

// The hash of the last position's logits. If an error occurs, the test fails and the result is "".
inline std::string hash_of(Engine& engine, std::span<const TokenId> ids, int64_t batch = 0) {
  Session& session = engine.session();
  const Status started = session.start_logits(ids, batch);
  if (!started.has_value()) {
    ADD_FAILURE() << started.error().message;
    return "";
  }
  finish_run(engine);
  EXPECT_EQ(session.logits().size(), static_cast<size_t>(engine.tokenizer().vocab_size()));
  return logits_hash(session.logits());
}

// n token ids below n_vocab, the same each time.
inline std::vector<TokenId> some_ids(size_t n, int64_t n_vocab, uint32_t seed = 1) {
  std::vector<TokenId> ids(n);
  uint64_t state = seed;
  for (TokenId& id : ids) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<TokenId>((state >> 33) % static_cast<uint64_t>(n_vocab));
  }
  return ids;
}

// Makes `text` a name that GoogleTest accepts for a test.
inline std::string test_name(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace sluice
