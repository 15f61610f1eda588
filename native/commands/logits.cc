// sluice logits: shows the likeliest tokens after a text, and a hash to compare machines.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_use.h"
#include "app/npy.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/output_files.h"
#include "app/overflow.h"
#include "app/prompt.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/commands.h"
#include "commands/logits_report.h"
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
  bool all = false;       // positions, in `npy`
  std::string npy;        // the file to write; "": none
  std::string reference;  // the file to compare with; "": none
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

--npy writes the raw logits, 32-bit floats [1, vocabulary] or, with --all,
[tokens, vocabulary], for numpy.load; the file appears when all is done.
--reference compares them with another program's for the same tokens, in a file
of 32-bit or 64-bit floats of one of these shapes, and prints JSON: "topOverlap"
(the share of the reference's --top likeliest tokens that are ours), "sameBest",
"largestDifference", "meanDifference" and "kl" {"mean","max"} (in nats) over the
positions, and "each" of them.

Examples:
  sluice logits -p "Once upon a"
  sluice logits model.gguf "Once upon a" --top 3
  sluice logits model.gguf --tokens 1,2,3 --hash -t 1
  sluice logits model.gguf --tokens 1,2,3 --all --npy ours.npy
  sluice logits model.gguf --tokens 1,2,3 --reference theirs.npy
  SLUICE_KERNELS=generic sluice logits model.gguf -p Hello --json --top 5)";

// Finds wrong options and files before a long download or load.
Status check_files(const LogitsOptions& options, const ModelSource& model) {
  const bool file = !options.npy.empty(), compared = !options.reference.empty();
  if (options.all && !file && !compared)  // all are compared anyway
    return fail(Code::invalid_argument, "--all says which positions --npy writes; name its file");
  if (options.hash && (file || compared))
    return fail(Code::invalid_argument, "--hash prints the hash alone; leave it or ",
                file ? "--npy" : "--reference", " out");
  if (options.json && file && !compared)
    return fail(Code::invalid_argument,
                "--json and --npy are two forms of one output; leave one of them out");
  if (!file) return {};
  std::vector<std::string> read = model.paths;
  if (compared) read.push_back(options.reference);
  SLUICE_TRY(check_other_files({options.npy}, read));
  SLUICE_TRY(OutputFile::create(options.npy, OutputFile::Replaces::npy));
  return {};
}

// Whether the reference has the logits of the last position alone. Fails with bad_file if it has
// other ones than these, or those of all `n_tokens`.
Result<bool> last_alone(const NpyFile& reference, size_t n_tokens, size_t n_vocab,
                        const std::string& path) {
  const std::vector<uint64_t>& shape = reference.shape();
  const bool row = shape.size() == 1;
  if ((row || shape.size() == 2) && shape.back() == n_vocab) {
    if (!row && shape[0] == n_tokens) return false;
    if (row || shape[0] == 1) return true;
  }
  return fail(Code::bad_file, printable(path, kMaxShownPath), " has the shape ",
              reference.shape_text(), "; expected (", n_tokens, ", ", n_vocab, "): the logits of ",
              counted(n_tokens, "token"), ", or (1, ", n_vocab, ") of the last one");
}

// Runs to the end. A signal ends the program, so it isn't checked for here.
Status compute(Engine& engine, const std::vector<TokenId>& ids, const LogitsOptions& options,
               bool all) {
  SLUICE_TRY(engine.session().start_logits(ids, options.batch, all));
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

// The logits of the last `n` positions that were computed.
Status write_npy(Engine& engine, size_t n, size_t n_vocab, const std::string& path) {
  const auto logits = engine.session().logits().last(n * n_vocab);
  SLUICE_ASSIGN(OutputFile out, OutputFile::create(path, OutputFile::Replaces::npy));
  const uint64_t shape[] = {n, n_vocab};
  SLUICE_TRY(out.append(npy_bytes(npy_header(shape))));
  SLUICE_TRY(out.append(npy_bytes(logits)));
  return out.commit();
}

Status print_report(Engine& engine, const NpyFile& reference, size_t n, size_t n_vocab, int top) {
  const auto logits = engine.session().logits().last(n * n_vocab);
  const size_t most = std::clamp<size_t>(static_cast<size_t>(top), 1, n_vocab);
  std::vector<double> row(n_vocab);
  std::vector<LogitsDifference> all;
  for (size_t i = 0; i < n; ++i) {
    SLUICE_TRY(reference.read(i * n_vocab, row));
    all.push_back(compare_logits(logits.subspan(i * n_vocab, n_vocab), row, most));
  }
  write_out(logits_report_json(all, n_vocab, most) + "\n");
  return {};
}

int logits(const LogitsOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  auto model = find_model(options.model, options.download, options.prompt.source.empty());
  if (!model) return fail_with(model.error());
  if (const auto good = check_files(options, *model); !good) return fail_with(good.error());
  std::optional<NpyFile> reference;
  if (!options.reference.empty()) {
    auto opened = NpyFile::open(options.reference);
    if (!opened) return fail_with(opened.error());
    reference.emplace(std::move(*opened));
  }
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
  // The logits of all positions.
  const bool several = reference && reference->shape().size() == 2 && reference->shape()[0] != 1;
  const bool all = options.all || several || (options.json && !options.hash && !reference);
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
  const auto n_vocab = static_cast<size_t>((*engine)->tokenizer().vocab_size());
  size_t compared = 0;  // positions
  if (reference) {
    const auto last = last_alone(*reference, ids.size(), n_vocab, options.reference);
    if (!last) return fail_with(last.error());
    compared = *last ? 1 : ids.size();
  }
  if (const auto computed = compute(**engine, ids, options, all); !computed) {
    return fail_with(with_context_advice(**engine, "shorten the text",
                                         with_file_name(*model, computed.error())));
  }
  const size_t written = options.all ? ids.size() : 1;
  if (!options.npy.empty()) {
    if (const auto done = write_npy(**engine, written, n_vocab, options.npy); !done)
      return fail_with(done.error());
  }
  if (reference) {
    const auto done = print_report(**engine, *reference, compared, n_vocab, options.top);
    if (!done) return fail_with(done.error());
  } else if (!options.npy.empty()) {
    write_shown(concat("logits of ", counted(written, "position"), ", ", counted(n_vocab, "token"),
                       ": ", printable(options.npy, kMaxShownPath), "\n"));
  } else if (options.json && options.hash) {
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
  const auto add_npy = [&](const char* name, std::string& path, const char* description) {
    add_value(*app, name, "FILE", description, [name, &path](const std::string& text) {
      if (text.empty()) refuse(name, "the path of a file", text);
      path = text;
    })->group("Output");
  };
  add_npy("--npy", options->npy,
          "write the raw logits to this file, in NumPy's format; an older one of that format is "
          "replaced");
  add_flag(*app, "--all", options->all, "of every position, in that file")->group("Output");
  add_npy("--reference", options->reference,
          "compare the logits with those of this file, in NumPy's format, and print JSON");
  add_json(*app, options->json, "every position as JSON");
  add_options(*app, options->load);
  add_integer(*app, "--batch", options->batch, 1, 1 << 20, "N",
              "tokens computed at once (default: all)")
      ->group("Model");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = logits(*options); });
}

}  // namespace sluice::cli
