// Vectors of texts, for the commands that make them.
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

// What `embed` and `similar` have in common.
struct VectorOptions {
  std::string model;
  DownloadOptions download;
  LoadOptions load;
  Pooling pooling = Pooling::none;  // none: the file's
  int64_t dimensions = 0;           // 0: all
  bool truncate = false;
  bool json = false;
  bool quiet = false;
};

// Adds the options of how vectors are made.
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
Status fit_text(const Engine& engine, const VectorOptions& options, VectorText& text);

struct VectorFigures {
  uint64_t texts = 0;
  uint64_t tokens = 0;
  double seconds = 0;
};
// Gives `take` the vector of each text in their order, of Engine::vector_width() numbers, as the
// pooling made it. A terminal shows how far the work is. Fails as Session::start_vectors and take
// do, and with aborted after a signal: call defer_signals() before.
Result<VectorFigures> make_vectors(
    Engine& engine, const VectorOptions& options, std::vector<VectorText> texts,
    const std::function<Status(size_t text, std::span<const float> vector)>& take);

// A line for stderr: "sluice: 200 texts (12345 tokens) in 1.2 s, 166.7 texts/s; ..".
std::string figures_line(const Engine& engine, const VectorOptions& options,
                         const VectorFigures& figures, size_t dimensions);

}  // namespace sluice::cli
