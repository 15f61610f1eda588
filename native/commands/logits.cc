// sluice logits: shows the likeliest tokens after a text, and a hash to compare machines.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_use.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/overflow.h"
#include "app/prompt.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine.h"
#include "gguf/gguf.h"
#include "kernels/choose.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LogitsOptions {
  std::string model;
  DownloadOptions download;
  Prompt prompt;
  LoadOptions load;
  int top = 10;
  int64_t batch = 0;
  bool hash = false;
  bool json = false;
};

constexpr size_t kMostPositions = 1 << 20;  // the longest context

constexpr char kLogitsFooter[] =
    R"(The text is PROMPT, -p or --tokens, or else the standard input if that is a pipe
or a file. Prints the likeliest tokens after it with their log-probabilities
(texts in quotes, control tokens by their names), and a hash (FNV-1a, 64 bits)
of the last position's logits. Equal hashes mean equal bits; the hash doesn't
depend on the machine, the kernels, the number of threads or the batch.
With --json: {"kernels","positions":[{"top":[[id,logprob],..]}],"hash"}, with
one entry of positions for each token of the input; with --hash {"hash"} alone.

Examples:
  sluice logits -p "Once upon a"
  sluice logits model.gguf "Once upon a" --top 3
  sluice logits model.gguf --tokens 1,2,3 --hash -t 1
  SLUICE_KERNELS=generic sluice logits model.gguf -p Hello --json --top 5)";

// Runs to the end. A signal ends the program, so it isn't checked for here.
Status compute(Engine& engine, const std::vector<TokenId>& ids, const LogitsOptions& options) {
  SLUICE_TRY(engine.session().start_logits(ids, options.batch, options.json && !options.hash));
  while (true) {
    SLUICE_ASSIGN(const Event event, next_event(engine));
    if (event.kind == Event::Kind::done) return {};
  }
}

// Writes the entries of the positions one by one, because there may be thousands, into the empty
// list of an object that is otherwise complete.
void print_json(Engine& engine, size_t n_positions, const LogitsOptions& options) {
  const auto logits = engine.session().logits();
  const size_t n_vocab = logits.size() / n_positions;
  const std::string whole = Json{{"kernels", engine.stats().kernels},
                                 {"positions", Json::array()},
                                 {"hash", logits_hash(logits.last(n_vocab))}}
                                .dump();
  const size_t list = whole.rfind("[]") + 1;
  write_out(whole.substr(0, list));
  for (size_t i = 0; i < n_positions; ++i) {
    write_out(concat(i == 0 ? "" : ",",
                     logits_json(logits.subspan(i * n_vocab, n_vocab), options.top, false)));
  }
  write_out(whole.substr(list) + "\n");
}

void print_text(Engine& engine, size_t n_positions, const LogitsOptions& options) {
  const auto logits = engine.session().logits();
  if (!options.hash) {
    write_out(concat("after ", counted(n_positions, "token"), ", ", engine.stats().kernels,
                     " kernels\n", options.top > 0 ? "      id   logprob  token\n" : ""));
    for (const auto& [id, logprob] : top_logprobs(logits, options.top)) {
      write_shown(format("%8d  %8.4f  ", id, static_cast<double>(logprob)) +
                  readable(engine.tokenizer(), id) + "\n");
    }
  }
  write_out(concat(options.hash ? "" : "hash ", logits_hash(logits), "\n"));
}

int logits(const LogitsOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  const auto text = prompt_text(options.prompt);
  if (!text) return fail_with(text.error());
  if (!*text && !options.prompt.tokens) {
    return fail_with({Code::invalid_argument,
                      "no input; give a text with -p or ids with --tokens, or a text behind the "
                      "model or on standard input"});
  }
  if (*text && (*text)->empty()) {
    return fail_with({Code::invalid_argument, concat("the text is empty (", options.prompt.source,
                                                     "); at least one token is needed")});
  }
  std::vector<TokenId> ids = options.prompt.tokens.value_or(std::vector<TokenId>());
  const auto encode = [&](const Tokenizer& tokenizer) {
    if (!options.prompt.tokens) ids = tokenizer.with_prefix(tokenizer.encode(**text));
  };
  const bool all = options.json && !options.hash;  // the logits of all positions
  // The plan of the memory has the logits of all positions that are computed.
  const auto plan_logits = [&](const Gguf& header, LoadOptions& load) -> Status {
    SLUICE_TRY(require_text(header));
    if (!all) return {};
    SLUICE_ASSIGN(const Tokenizer tokenizer, Tokenizer::from_gguf(header));
    encode(tokenizer);
    load.logit_positions = static_cast<int64_t>(std::clamp<size_t>(ids.size(), 1, kMostPositions));
    return {};
  };
  const auto engine = load(*model, options.load, plan_logits);
  if (!engine) return fail_with(with_file_name(*model, engine.error()));
  warn((*engine)->notes());
  if (!all) encode((*engine)->tokenizer());
  if (const auto computed = compute(**engine, ids, options); !computed) {
    return fail_with(with_context_advice(**engine, "shorten the text",
                                         with_file_name(*model, computed.error())));
  }
  if (options.json && options.hash) {
    write_json(Json{{"hash", logits_hash((*engine)->session().logits())}}.dump() + "\n");
  } else if (options.json) {
    print_json(**engine, ids.size(), options);
  } else {
    print_text(**engine, ids.size(), options);
  }
  return kDone;
}

}  // namespace

void add_logits(CLI::App& program, int& status) {
  auto options = std::make_shared<LogitsOptions>();
  CLI::App* app = add_command(program, "logits", "show what the model expects next", kLogitsFooter);
  add_model_and_prompt(*app, options->model, options->prompt);
  add_prompt_tokens(*app, options->prompt);
  add_integer(*app, "--top", options->top, 0, 1 << 20, "N", "how many tokens (default 10)")
      ->group("Output");
  add_flag(*app, "--hash", options->hash, "print the hash alone")->group("Output");
  add_json(*app, options->json, "every position as JSON");
  add_options(*app, options->load);
  add_integer(*app, "--batch", options->batch, 1, 1 << 20, "N",
              "tokens computed at once (default: all)")
      ->group("Model");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = logits(*options); });
}

}  // namespace sluice::cli
