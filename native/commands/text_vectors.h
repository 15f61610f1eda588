// Vectors and hidden states of texts, for the commands that make them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/model.h"
#include "base/token.h"
#include "engine.h"

namespace sluice::cli {

// What `embed`, `similar` and `probe` have in common.
struct TextOptions {
  std::string model;
  DownloadOptions download;
  LoadOptions load;
  bool truncate = false;
  bool json = false;
  bool quiet = false;
};
// And the first two.
struct VectorOptions : TextOptions {
  Pooling pooling = Pooling::none;  // none: the file's
  int64_t dimensions = 0;           // 0: all
};

// Adds the options of what becomes of long texts, and of the model.
void add_text_options(CLI::App& app, TextOptions& options);
// The same with those of how vectors are made.
void add_vector_options(CLI::App& app, VectorOptions& options);

// A note if the model wasn't made for vectors: it writes text, and its file doesn't say how to
// pool.
void note_use(const Engine& engine);

// The lines of a text without their ends (\n or \r\n). One at the end adds no line.
std::vector<std::string_view> lines_of(std::string_view text);

// A text as the model gets it, and what messages call it ("line 3").
struct VectorText {
  std::string name;
  std::vector<TokenId> ids;
};

// Cuts a text that is longer than the context if `truncate` says so. Fails with context_full, or
// with invalid_argument if it has no tokens or one that isn't in the vocabulary. The message names
// the text.
Status fit_text(const Engine& engine, const TextOptions& options, VectorText& text);

struct TextFigures {
  uint64_t texts = 0;
  uint64_t tokens = 0;
  double seconds = 0;
};
// What is computed of texts: how a session begins it, what it has given so far, and how many
// numbers that is of a text of so many tokens.
struct TextWork {
  std::function<Status(Session& session, std::vector<std::vector<TokenId>> texts)> start;
  std::span<const float> (Session::*given)() const;
  std::function<size_t(size_t n_tokens)> numbers;
};
// Gives `take` the numbers of each text in their order. A terminal shows how far the work is. Texts
// whose results the memory doesn't hold together are computed in several runs. Fails as `start` and
// `take` do, and with aborted after a signal: call defer_signals() before.
Result<TextFigures> compute_texts(
    Engine& engine, const TextWork& work, std::vector<VectorText> texts,
    const std::function<Status(size_t text, std::span<const float> numbers)>& take);
// The same with the vector of each text, of Engine::vector_width() numbers, as the pooling made it.
Result<TextFigures> make_vectors(
    Engine& engine, const VectorOptions& options, std::vector<VectorText> texts,
    const std::function<Status(size_t text, std::span<const float> vector)>& take);

// Lines for stderr: "sluice: 200 texts, 12345 tokens in 1.2 s: 166.7 texts/s, ..". `given`: what
// was made of them.
std::string figures_line(const Engine& engine, const TextFigures& figures, std::string_view given);
// The same for vectors.
std::string figures_line(const Engine& engine, const VectorOptions& options,
                         const TextFigures& figures, size_t dimensions);

}  // namespace sluice::cli
