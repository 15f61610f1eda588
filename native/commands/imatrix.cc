// sluice imatrix: measures over a text how large the inputs of a model's matrices are, for
// quantizing.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/model.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/prompt.h"
#include "app/signals.h"
#include "base/format.h"
#include "commands/commands.h"
#include "engine.h"
#include "files/importance.h"
#include "kernels/choose.h"
#include "measure/importance.h"

namespace sluice::cli {
namespace {

struct ImatrixOptions {
  std::string model;
  DownloadOptions download;
  std::string text;  // the file
  std::string out;
  ImportanceOptions measured;
  bool chunk_size_given = false;
  LoadOptions load;
  bool json = false;
};

constexpr char kImatrixFooter[] =
    R"(An importance matrix tells, for each matrix of the model, how large the numbers
are that each of its columns is multiplied by. Quantizing with it gives large
ones more of the precision, which matters most at four bits and below. The text
should be like what the model is used for; 100 to 200 chunks of 512 tokens are
enough, which is about 300 KB of text. It takes as long as reading a prompt of
so many tokens. Of a mixture of experts every expert must get some tokens: take
more text.

The model is the one to be quantized, in F32, F16 or BF16, or another file of
it. The text is cut into chunks, each computed alone; a rest is left out. OUT
has llama.cpp's form, and appears when all is done. With --json prints
{"file","matrices","tokens","chunks","chunkSize"}.

Examples:
  sluice imatrix model-f16.gguf -f text.txt model.imatrix.gguf
  sluice imatrix model-f16.gguf -f text.txt model.imatrix.gguf --chunks 200
  sluice quantize model-f16.gguf model-q4_k_m.gguf --type Q4_K_M \
    --imatrix model.imatrix.gguf)";

// Shows on a terminal how far the work is.
class Progress {
 public:
  // False if a signal came.
  bool show(const ImportanceProgress& now) {
    if (interrupted_by() != 0) return false;
    if (!can_show_status()) return true;
    const auto time = Clock::now();
    if (now.total == 0) {
      if (!encoding_) show_status("encoding the text");
      encoding_ = true;
      return true;
    }
    if (now.done == 0) begun_ = time;
    if (time - shown_ < kInterval) return true;
    shown_ = time;
    const double seconds = std::chrono::duration<double>(time - begun_).count();
    const auto left = static_cast<double>(now.total - now.done);
    show_status(
        concat("chunk ", now.chunk + 1, " of ", now.chunks,
               now.done == 0 || seconds < kPatience
                   ? ""
                   : concat(", ", human_duration(seconds * left / static_cast<double>(now.done)),
                            " left")));
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{300};
  static constexpr double kPatience = 0.5;  // seconds until the rate is believed
  bool encoding_ = false;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_{};
};

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

Status check_named(const ImatrixOptions& options) {
  if (options.model.empty())
    return fail(Code::invalid_argument, "no MODEL; name the one that is to be quantized");
  if (options.out.empty())
    return fail(Code::invalid_argument, "no OUT; name the file to write behind the model");
  if (options.text.empty())
    return fail(Code::invalid_argument, "no text; name a file of it with -f");
  return {};
}

// OUT must not replace what is read.
Status check_out(const ImatrixOptions& options, const ModelSource& model) {
  std::vector<std::string> read = model.paths;
  read.push_back(options.text);
  for (const std::string& path : read)
    if (is_same_file(path, options.out))
      return fail(Code::invalid_argument, "OUT is ", printable(path, kMaxShownPath),
                  ", which is read; name another file");
  return {};
}

// The text of the file, without the line end at its end.
Result<std::string> read_input(const std::string& path) {
  SLUICE_ASSIGN(std::string text, read_text(path, "text"));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<Importance> measure(Engine& engine, const std::string& text, const ImatrixOptions& options) {
  Progress progress;
  auto measured =
      measure_importance(engine, text, options.measured,
                         [&](const ImportanceProgress& now) { return progress.show(now); });
  erase_status();
  return measured;
}

// What an expert needs is unknown if no token was routed to it.
void warn_of_experts(const Importance& importance) {
  size_t all = 0, without = 0;
  for (const Importance::Matrix& matrix : importance.matrices) {
    if (matrix.n_experts == 1) continue;
    all += matrix.counts.size();
    without += static_cast<size_t>(std::ranges::count(matrix.counts, 0.0f));
  }
  if (without > 0)
    warn(concat(without, " of ", all,
                " matrices of experts got no tokens, so quantizing treats their columns alike; "
                "take a longer text"));
}

void print(const Importance& importance, const ImatrixOptions& options) {
  const uint64_t tokens = uint64_t{importance.chunk_count} * importance.chunk_size;
  if (options.json) {
    const nlohmann::ordered_json made{{"file", options.out},
                                      {"matrices", importance.matrices.size()},
                                      {"tokens", tokens},
                                      {"chunks", importance.chunk_count},
                                      {"chunkSize", importance.chunk_size}};
    write_json(made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  const std::string file = printable(options.out, kMaxShownPath);
  write_shown(concat(
      counted(importance.matrices.size(), "tensor"), " measured over ", counted(tokens, "token"),
      ": ", file, "\nTo use it: sluice quantize MODEL OUT --type Q4_K_M --imatrix ", file, "\n"));
}

// A model that knows fewer tokens than a chunk has gets chunks of as many, unless -c says another.
void fit_chunks(const Gguf& header, ImatrixOptions& options) {
  LoadOptions trained;
  trained.context_size = kTrainedContext;
  resolve_context(header, trained);
  const uint32_t known = trained.context_size;
  if (options.chunk_size_given || known == 0 || known >= options.measured.chunk_size) return;
  options.measured.chunk_size = known;
  note(concat("chunks have ", known, " tokens, all that the model knows (-c sets another number)"));
}

int imatrix(ImatrixOptions options) {
  const auto fail_with = [&](const Error& error) { return report_work(error, options.json); };
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  if (const auto named = check_named(options); !named) return fail_with(named.error());
  auto model = find_model(options.model, options.download);
  if (!model) return fail_with(model.error());
  if (const auto good = check_out(options, *model); !good) return fail_with(good.error());
  const auto text = read_input(options.text);
  if (!text) return fail_with(text.error());
  const auto plan = [&](const Gguf& header, LoadOptions& load) -> Status {
    fit_chunks(header, options);
    SLUICE_TRY(check_importance(header, options.measured));
    plan_importance(options.measured, load);
    return {};
  };
  const auto engine = load(*model, options.load, plan);
  if (!engine) return fail_with(with_file_name(*model, engine.error()));
  warn((*engine)->notes());
  defer_signals();
  auto out = OutputFile::create(options.out);
  if (!out) return fail_with(out.error());
  auto importance = measure(**engine, *text, options);
  if (!importance) return fail_with(with_file_name(*model, importance.error()));
  importance->datasets = {options.text == "-"
                              ? "standard input"
                              : std::filesystem::path(options.text).filename().string()};
  if (const auto written = write_importance(*importance, *out); !written)
    return fail_with(written.error());
  if (const auto kept = out->commit(); !kept) return fail_with(kept.error());
  warn_of_experts(*importance);
  print(*importance, options);
  return kDone;
}

}  // namespace

void add_imatrix(CLI::App& program, int& status) {
  auto options = std::make_shared<ImatrixOptions>();
  CLI::App* app =
      add_command(program, "imatrix", "measure what quantizing should keep exact", kImatrixFooter);
  const auto take_out = [options](const std::string& text) {
    if (text.empty()) refuse("OUT", "the path of a file", text);
    if (!options->out.empty()) throw CLI::ValidationError(too_many_arguments(text, false));
    options->out = text;
  };
  const auto take_model = [options](const std::string& text) {
    if (text.empty()) refuse("MODEL", "the path of a GGUF file, or an address", text);
    options->model = text;
  };
  // Values are read in this order: behind -m the first argument is OUT.
  add_value(*app, "-m,--model", "FILE", "the same as MODEL", take_model)->group("Input");
  add_value(*app, "MODEL", "FILE", "the model: a GGUF file, or what other commands take as MODEL",
            [options, take_model, take_out](const std::string& text) {
              options->model.empty() ? take_model(text) : take_out(text);
            })
      ->group(kNeededArgument);
  add_value(*app, "OUT", "FILE",
            "the file to write; or -o. An older GGUF file of that name is replaced", take_out)
      ->group(kNeededArgument);
  add_value(*app, "-o,--output-file", "FILE", "the same as OUT", take_out)->group("Output");
  add_text(*app, "-f,--file", "FILE", options->text, "the text, some 300 KB; - is standard input")
      ->group(kNeededOption);
  CLI::Option* const chunk_size =
      add_integer(*app, "-c,--ctx-size", options->measured.chunk_size, 1, 1 << 20, "N",
                  "tokens of a chunk (default 512, or all that the model knows if that is less)")
          ->group("Input");
  add_integer(*app, "--chunks", options->measured.n_chunks, 1, INT32_MAX, "N",
              "chunks at most (default: all of the text)")
      ->group("Input");
  add_flag(*app, "--output-tensor,--process-output", options->measured.output_tensor,
           "measure output.weight as well (quantized to Q6_K or better, it needs none)")
      ->group("Output");
  add_json(*app, options->json, "what was measured as JSON");
  add_options(*app, options->load);
  add_download_options(*app, options->download);
  app->callback([options, chunk_size, &status] {
    options->chunk_size_given = chunk_size->count() > 0;
    status = imatrix(*options);
  });
}

}  // namespace sluice::cli
