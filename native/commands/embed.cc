// sluice embed: makes a vector of each text.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/embedding_prompts.h"
#include "api/text_ids.h"
#include "api/vectors.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/npy.h"
#include "app/numbers.h"
#include "app/output.h"
#include "app/output_files.h"
#include "app/prompt.h"
#include "app/signals.h"
#include "base/format.h"
#include "commands/commands.h"
#include "commands/text_vectors.h"
#include "kernels/choose.h"

namespace sluice::cli {
namespace {

struct EmbedOptions : VectorOptions {
  Prompt prompt;
  TextKind kind = TextKind::plain;
  std::optional<std::string> prefix;
  bool raw = false;  // not normalized
  std::string npy;   // the file; "": none
};

constexpr char kEmbedFooter[] =
    R"(Texts about the same have vectors with a small angle between them. Prints the
numbers of each text on a line: the vector divided by its length, with as many
digits as its 32-bit numbers need.

The text is PROMPT or -p. -f FILE and a pipe have a text on each line; an empty
line is a text, too. Texts are computed side by side, and each gives the same
bits as it does alone. --kind puts before each text what the model's makers want
before a query or a document, as "search_query: "; --prefix puts another text
there. sluice inspect shows whether a model was made for vectors. A model that
writes text gives some as well, but they are worse.

--npy writes one array [texts, numbers] of 32-bit floats for numpy.load; the
file appears when all is done. With --json each text is a line
{"tokens","embedding","norm"}; norm is the length before the vector was divided.

Examples:
  sluice embed minilm.gguf -p "A dog ran home"
  sluice embed nomic.gguf -f passages.txt --kind document --npy passages.npy
  sluice embed qwen3-embedding.gguf -p "who ran home?" --kind query --json
  sluice embed gemma.gguf -f passages.txt --dimensions 256)";

std::string numbers_line(std::span<const float> numbers, char separator) {
  std::string line;
  for (const float number : numbers) {
    if (!line.empty()) line += separator;
    line += concat(number);
  }
  return line;
}

Status check_options(const EmbedOptions& options) {
  if (options.json && !options.npy.empty())
    return fail(Code::invalid_argument,
                "--json and --npy are two forms of one output; leave one of them out");
  const bool kind = options.kind != TextKind::plain;
  if (kind && options.prefix)
    return fail(Code::invalid_argument,
                "--prefix takes the place of what --kind puts before a text; leave one of them "
                "out");
  if (options.prompt.tokens && (kind || options.prefix))
    return fail(Code::invalid_argument, "--tokens are taken as they are; ",
                kind ? "--kind" : "--prefix", " is for texts");
  return {};
}

// Finds a wrong --npy before a long download or load.
Status check_npy(const EmbedOptions& options, const ModelSource& model) {
  if (options.npy.empty()) return {};
  std::vector<std::string> read = model.paths;
  if (options.prompt.file) read.push_back(*options.prompt.file);
  SLUICE_TRY(check_other_files({options.npy}, read));
  SLUICE_TRY(OutputFile::create(options.npy, OutputFile::Replaces::npy));
  return {};
}

// The texts that were given, as ids.
Result<std::vector<VectorText>> read_texts(const Engine& engine, const EmbedOptions& options,
                                           const std::optional<std::string>& given) {
  std::vector<VectorText> texts;
  const Tokenizer& tokenizer = engine.tokenizer();
  if (options.prompt.tokens) {
    texts.push_back({"--tokens", *options.prompt.tokens});
  } else {
    const EmbeddingPrompts prompts = embedding_prompts(engine.header());
    const std::string_view prefix =
        options.prefix ? std::string_view(*options.prefix) : prompts.of(options.kind);
    if (options.kind != TextKind::plain && prompts.query.empty() && prompts.document.empty())
      note(
          "--kind puts nothing before the texts: no words are known that this model wants there; "
          "--prefix TEXT puts some");
    if (options.prompt.text) {
      texts.push_back({"the text", text_ids(tokenizer, prefix, *given)});
    } else {
      for (const std::string_view line : lines_of(*given))
        texts.push_back({concat("line ", texts.size() + 1), text_ids(tokenizer, prefix, line)});
    }
  }
  for (VectorText& text : texts) SLUICE_TRY(fit_text(engine, options, text));
  if (texts.empty()) return fail(Code::invalid_argument, "the file has no line, so no text");
  return texts;
}

int embed(EmbedOptions& options) {
  const auto fail_with = [&](const Error& error) { return report_work(error, options.json); };
  if (options.quiet) be_quiet();
  if (const auto good = check_options(options); !good) return fail_with(good.error());
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  if (const auto good = check_npy(options, *model); !good) return fail_with(good.error());
  const auto given = prompt_text(options.prompt, true);
  if (!given) return fail_with(given.error());
  if (!*given && !options.prompt.tokens)
    return fail_with({Code::invalid_argument,
                      "no text; give one with -p, several with -f, one a line, ids with --tokens, "
                      "or a text behind the model or on standard input"});
  if (options.prompt.text) {
    if (const std::string hint = file_hint(*options.prompt.text); !hint.empty())
      note(concat("this embeds the name: ", hint));
  }
  options.load.vectors_only = true;
  const auto engine = load(*model, options.load);
  if (!engine) return fail_with(with_file_name(*model, engine.error()));
  warn((*engine)->notes());
  note_use(**engine);
  const auto size = vector_size((*engine)->vector_width(), options.dimensions);
  if (!size) return fail_with(size.error());
  auto texts = read_texts(**engine, options, *given);
  if (!texts) return fail_with(texts.error());

  defer_signals();
  std::optional<OutputFile> npy;
  if (!options.npy.empty()) {
    auto created = OutputFile::create(options.npy, OutputFile::Replaces::npy);
    if (!created) return fail_with(created.error());
    npy.emplace(std::move(*created));
    const uint64_t shape[] = {texts->size(), *size};
    if (const auto written = npy->append(npy_bytes(npy_header(shape))); !written)
      return fail_with(written.error());
  }
  Output output;
  std::vector<float> numbers(*size);
  std::vector<size_t> tokens;
  for (const VectorText& text : *texts) tokens.push_back(text.ids.size());
  const auto take = [&](size_t text, std::span<const float> vector) -> Status {
    SLUICE_ASSIGN(const double length, finish_vector(vector, !options.raw, numbers));
    if (npy) return npy->append(npy_bytes(std::span<const float>(numbers)));
    if (stdout_is_terminal()) erase_status();
    output.write(options.json ? concat("{\"tokens\":", tokens[text], ",\"embedding\":[",
                                       numbers_line(numbers, ','),
                                       "],\"norm\":", static_cast<float>(length), "}\n")
                              : numbers_line(numbers, ' ') + "\n");
    if (output.gone()) return fail(Code::aborted, "the reader has gone");
    return {};
  };
  const auto figures = make_vectors(**engine, options, std::move(*texts), take);
  erase_status();
  if (!figures && output.gone()) return output.status();
  if (!figures) return fail_with(with_file_name(*model, figures.error()));
  if (npy) {
    if (const auto kept = npy->commit(); !kept) return fail_with(kept.error());
    write_shown(concat(counted(figures->texts, "vector"), " of ", counted(*size, "number"), ": ",
                       printable(options.npy, kMaxShownPath), "\n"));
  }
  if (!options.json && !options.quiet) write_err(figures_line(**engine, options, *figures, *size));
  return kDone;
}

}  // namespace

void add_embed(CLI::App& program, int& status) {
  auto options = std::make_shared<EmbedOptions>();
  CLI::App* app = add_command(program, "embed", "make vectors of texts", kEmbedFooter);
  add_model_and_prompt(*app, options->model, options->prompt);
  add_prompt_file(*app, options->prompt, "texts, one a line; - is standard input");
  add_prompt_tokens(*app, options->prompt);
  add_value(*app, "--kind", "KIND",
            "query or document: put before each text what the model wants there in a search",
            [options](const std::string& text) {
              if (text != "query" && text != "document")
                refuse("--kind", "query or document", text);
              options->kind = text == "query" ? TextKind::query : TextKind::document;
            })
      ->group("Input");
  add_value(*app, "--prefix", "TEXT", "put this before each text instead",
            [options](const std::string& text) { options->prefix = text; })
      ->group("Input");
  add_flag(*app, "--no-normalize", options->raw, "don't divide the vectors by their length")
      ->group("Output");
  add_value(
      *app, "--npy", "FILE",
      "write the vectors to this file, in NumPy's format; an older one of that format is replaced",
      [options](const std::string& text) {
        if (text.empty()) refuse("--npy", "the path of a file", text);
        options->npy = text;
      })
      ->group("Output");
  add_json(*app, options->json, "one JSON object a text");
  add_flag(*app, "-q,--quiet", options->quiet, "no figures, no notes")->group("Output");
  add_vector_options(*app, *options);
  app->callback([options, &status] { status = embed(*options); });
}

}  // namespace sluice::cli
