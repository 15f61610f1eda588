// sluice similar: which lines of a file are most like a query.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/embedding_prompts.h"
#include "api/text_ids.h"
#include "api/vectors.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/output.h"
#include "app/prompt.h"
#include "app/signals.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/commands.h"
#include "commands/text_vectors.h"
#include "kernels/choose.h"

namespace sluice::cli {
namespace {

struct SimilarOptions : VectorOptions {
  Prompt prompt;                          // the query
  std::string file;                       // of the texts
  std::optional<std::string> prefix;      // of the query
  std::optional<std::string> doc_prefix;  // of the texts
  int64_t top = 5;
};

constexpr char kSimilarFooter[] =
    R"(The query is PROMPT or -p, or else the standard input if that is a pipe. The
texts are the lines of -f FILE; empty lines are left out. Prints the lines that
are most like the query, best first: the cosine of the angle between the two
vectors (1: the same), the number of the line, the line. What the model's
makers want before a query and before a document is put there;
--query-prefix and --document-prefix take their place ("": nothing).

With --json each line is an object {"score","line","text"}.

Examples:
  sluice similar minilm.gguf -p "Who ran home?" -f passages.txt
  sluice similar minilm.gguf "Who ran home?" -f passages.txt --top 1 --json)";

struct Line {
  size_t number = 0;  // from 1
  std::string_view text;
};

// The lines that are texts.
std::vector<Line> text_lines(std::string_view text) {
  std::vector<Line> lines;
  size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

// The query, and behind it the texts.
Result<std::vector<VectorText>> encode(const Engine& engine, const SimilarOptions& options,
                                       const std::string& query, const std::vector<Line>& lines) {
  const Tokenizer& tokenizer = engine.tokenizer();
  const EmbeddingPrompts prompts = embedding_prompts(engine.header());
  const std::string before_query = options.prefix.value_or(std::string(prompts.query));
  const std::string before_line = options.doc_prefix.value_or(std::string(prompts.document));
  std::vector<VectorText> texts = {{"the query", text_ids(tokenizer, before_query, query)}};
  for (const Line& line : lines)
    texts.push_back({concat("line ", line.number), text_ids(tokenizer, before_line, line.text)});
  for (VectorText& text : texts) SLUICE_TRY(fit_text(engine, options, text));
  return texts;
}

void print(const std::vector<Similar>& found, const std::vector<Line>& lines, bool json) {
  for (const Similar& each : found) {
    const Line& line = lines[each.row];
    if (!json) {
      write_shown(format("%7.4f %6zu  ", static_cast<double>(each.score), line.number) +
                  std::string(line.text) + "\n");
      continue;
    }
    const nlohmann::ordered_json text = std::string(line.text);
    write_json(concat("{\"score\":", each.score, ",\"line\":", line.number, ",\"text\":",
                      text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "}\n"));
  }
}

int similar(SimilarOptions& options) {
  const auto fail_with = [&](const Error& error) { return report_work(error, options.json); };
  if (options.quiet) be_quiet();
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  if (options.file.empty())
    return fail_with({Code::invalid_argument, "no texts; name a file of them with -f, one a line"});
  const auto file = read_text(options.file, "texts' file");
  if (!file) return fail_with(file.error());
  const auto query = prompt_text(options.prompt);
  if (!query) return fail_with(query.error());
  if (!*query || (*query)->empty())
    return fail_with({Code::invalid_argument,
                      "no query; give one with -p, or behind the model or on standard input"});
  const std::vector<Line> lines = text_lines(*file);
  if (lines.empty())
    return fail_with({Code::invalid_argument,
                      concat("-f: ", printable(options.file, kMaxShownPath), " has no text")});
  options.load.vectors_only = true;
  const auto engine = load(*model, options.load);
  if (!engine) return fail_with(with_file_name(*model, engine.error()));
  warn((*engine)->notes());
  note_use(**engine);
  const auto size = vector_size((*engine)->vector_width(), options.dimensions);
  if (!size) return fail_with(size.error());
  auto texts = encode(**engine, options, **query, lines);
  if (!texts) return fail_with(texts.error());

  defer_signals();
  std::vector<float> rows(texts->size() * *size);
  const auto take = [&](size_t text, std::span<const float> vector) -> Status {
    SLUICE_TRY(finish_vector(vector, true, std::span(rows).subspan(text * *size, *size)));
    return {};
  };
  const auto figures = make_vectors(**engine, options, std::move(*texts), take);
  erase_status();
  if (!figures) return fail_with(with_file_name(*model, figures.error()));
  const std::span<const float> all(rows);
  print(most_similar(all.first(*size), all.subspan(*size), static_cast<size_t>(options.top)), lines,
        options.json);
  if (!options.json && !options.quiet) write_err(figures_line(**engine, options, *figures, *size));
  return kDone;
}

}  // namespace

void add_similar(CLI::App& program, int& status) {
  auto options = std::make_shared<SimilarOptions>();
  CLI::App* app =
      add_command(program, "similar", "find the lines that are most like a query", kSimilarFooter);
  add_model_and_prompt(*app, options->model, options->prompt);
  const auto take_file = [options](const CLI::results_t& given) {
    if (given.size() > 1)
      throw CLI::ValidationError(concat("-f is given twice, with ", printable(given[0]), " and ",
                                        printable(given[1]), "; write the texts into one file"));
    options->file = given[0];
    return true;
  };
  app->add_option("-f,--file", take_file, "the texts, one a line; - is standard input")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->group("Input");
  add_value(*app, "--query-prefix", "TEXT", "put this before the query",
            [options](const std::string& text) { options->prefix = text; })
      ->group("Input");
  add_value(*app, "--document-prefix", "TEXT", "put this before each text",
            [options](const std::string& text) { options->doc_prefix = text; })
      ->group("Input");
  add_integer(*app, "--top", options->top, 1, INT32_MAX, "N", "how many lines (default 5)")
      ->group("Output");
  add_json(*app, options->json, "one JSON object a line");
  add_flag(*app, "-q,--quiet", options->quiet, "no figures, no notes")->group("Output");
  add_vector_options(*app, *options);
  app->callback([options, &status] { status = similar(*options); });
}

}  // namespace sluice::cli
