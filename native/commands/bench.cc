// sluice bench: prompt and decode rates, compared with what the machine can reach.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_use.h"
#include "app/numbers.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/text.h"
#include "base/format.h"
#include "bench/bandwidth.h"
#include "bench/compute_rate.h"
#include "bench/profile.h"
#include "commands/commands.h"
#include "engine.h"
#include "gguf/gguf.h"
#include "kernels/choose.h"
#include "quant/types.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct BenchOptions {
  std::string model;
  DownloadOptions download;
  LoadOptions load;
  int64_t prompt = 256;
  int64_t tokens = 32;
  int64_t depth = 0;
  int repetitions = 3;
  std::vector<int> threads;
  bool profile = false;
  bool json = false;
};

constexpr char kBenchFooter[] =
    R"(Rates are medians of -r runs; runs with different numbers of threads take turns.
"read" is how fast so many threads read a buffer as large as the weights that a
token needs (at most 1 GiB); "memory" is the same for a buffer of four times the
largest cache. Decoding can't be faster than its weights are read, so decode
GB/s divided by read GB/s is the part of the machine's speed that is used.
"kernel" is how fast the same threads multiply by a strip of the model's main
type that stays in their caches, in 1e9 multiply-adds a second: the most that a
prompt could reach. --profile adds a run that measures each phase: busy is the
part of the time in which threads don't wait, unpacking is a part of the others.

Examples:
  sluice bench
  sluice bench model.gguf -t 1,2,4 -n 64 --depth 1000 --json
  sluice bench model.gguf --profile -r 1)";

constexpr uint64_t kMaxBuffer = uint64_t{1} << 30;

struct Rates {
  int threads = 0;
  std::vector<double> prompt;  // tokens per second, one for each repetition
  std::vector<double> decode;
  std::vector<double> load;  // milliseconds
  double read_gbps = 0;
  double memory_gbps = 0;
  double kernel_gmacs = 0;
  ProfiledRun prompt_profile, decode_profile;
};

// Facts about the model, known once it is loaded.
struct Subject {
  uint64_t bytes = 0;        // read for each decoded token
  uint64_t prompt_macs = 0;  // multiply-adds for each token of a prompt, without attention
  Type type = Type::F32;     // of most of its weights
  std::string kernels;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Tokens that aren't special, the same ones every time.
std::vector<TokenId> some_tokens(const Tokenizer& tokenizer, int64_t n) {
  std::vector<TokenId> ids;
  const auto n_vocab = static_cast<uint64_t>(std::max<int64_t>(1, tokenizer.vocab_size()));
  uint64_t state = 1;
  for (int64_t tries = 0; static_cast<int64_t>(ids.size()) < n; ++tries) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto id = static_cast<TokenId>((state >> 33) % n_vocab);
    // If the vocabulary has only special tokens, take those.
    if (tries > 64 * n || !(tokenizer.is_special(id) || tokenizer.is_end(id))) ids.push_back(id);
  }
  return ids;
}

Result<double> prompt_rate(Engine& engine, std::span<const TokenId> ids) {
  const auto start = Clock::now();
  SLUICE_TRY(engine.session().start_logits(ids, 0));
  while (true) {
    SLUICE_ASSIGN(const Event event, next_event(engine));
    if (event.kind == Event::Kind::done) break;
  }
  return static_cast<double>(ids.size()) / seconds_since(start);
}

// The rate of `n` tokens after `ids`. The first token is a result of the prompt's pass and isn't
// counted.
Result<double> decode_rate(Engine& engine, std::span<const TokenId> ids, int64_t n) {
  GenerateOptions options;
  options.temperature = 0;
  options.ignore_eos = true;
  options.max_tokens = n + 1;
  SLUICE_TRY(engine.session().start(ids, options));
  Clock::time_point start;
  int64_t tokens = 0;
  double seconds = 0;
  while (true) {
    SLUICE_ASSIGN(const Event event, next_event(engine));
    if (event.kind == Event::Kind::done) break;
    if (event.kind != Event::Kind::token) continue;
    if (++tokens == 1) {
      engine.take_profile();
      start = Clock::now();
    }
    seconds = seconds_since(start);
  }
  if (tokens < 2) return fail(Code::context_full, "the context is too short to decode in");
  return static_cast<double>(tokens - 1) / seconds;
}

// Multiply-adds for each token of a prompt: those of the layers' matrices. (Norms have one
// dimension, and the head is computed only for the last token.)
uint64_t multiply_adds(const Gguf& header) {
  uint64_t sum = 0;
  for (const TensorInfo& tensor : header.tensors) {
    if (tensor.n_dims == 2 && tensor.name.starts_with("blk."))
      sum += tensor.dims[0] * tensor.dims[1];
  }
  return sum;
}

// A status line: the current measurement, and the remaining time if each takes as long as those
// before.
class BenchLine {
 public:
  explicit BenchLine(size_t n_runs) : n_runs_(n_runs) {}
  ~BenchLine() { erase_status(); }
  BenchLine(const BenchLine&) = delete;
  BenchLine& operator=(const BenchLine&) = delete;

  void begin(int threads) {
    ++run_;
    threads_ = threads;
    show("loading");
  }
  void show(std::string_view what) const {
    if (!can_show_status()) return;
    const double done = static_cast<double>(run_ - 1);
    const double left = seconds_since(start_) * (static_cast<double>(n_runs_) - done) / done;
    show_status(concat("run ", run_, " of ", n_runs_, ", ",
                       counted(static_cast<uint64_t>(threads_), "thread"), ": ", what,
                       run_ > 1 ? concat("; about ", human_duration(left), " left") : ""));
  }

 private:
  size_t n_runs_;
  size_t run_ = 0;
  int threads_ = 0;
  Clock::time_point start_ = Clock::now();
};

// One repetition with one number of threads. It has its own engine, so that only one model is in
// memory at a time. With `profiled` it measures phases instead of rates.
Status measure(ModelSource& model, const BenchOptions& options, bool profiled, Rates& rates,
               Subject& subject, BenchLine& line) {
  line.begin(rates.threads);
  LoadOptions load_options = options.load;
  load_options.threads = rates.threads;
  load_options.context_size =
      static_cast<uint32_t>(std::max(options.prompt, options.depth + options.tokens + 2));
  load_options.profile = profiled;
  const auto check = [](const Gguf& header, LoadOptions&) -> Status {
    if (const auto good = require_text(header); !good)
      return fail(good.error().code, good.error().message, "; sluice embed -f FILE shows texts/s");
    return {};
  };
  SLUICE_ASSIGN(const auto engine, load(model, load_options, check));
  // If not all threads could be started, shows the number that were measured. Warns only once.
  if (const int threads = engine->stats().threads; threads < rates.threads) {
    warn(engine->notes());
    rates.threads = threads;
  }
  const auto ids = some_tokens(engine->tokenizer(), std::max(options.prompt, options.depth + 1));
  const std::span<const TokenId> all = ids;
  line.show("warming up");
  // A warm-up that isn't measured, so that memory is allocated and threads are awake.
  SLUICE_TRY(
      prompt_rate(*engine, all.first(static_cast<size_t>(std::min<int64_t>(256, options.prompt)))));
  SLUICE_TRY(decode_rate(*engine, all.first(1), 2));
  engine->take_profile();
  line.show(concat("a prompt of ", counted(static_cast<uint64_t>(options.prompt), "token")));
  SLUICE_ASSIGN(const double prompt,
                prompt_rate(*engine, all.first(static_cast<size_t>(options.prompt))));
  const ProfiledRun prompt_run{static_cast<double>(options.prompt) / prompt, options.prompt,
                               engine->take_profile()};
  line.show(concat("decoding ", counted(static_cast<uint64_t>(options.tokens), "token")));
  SLUICE_ASSIGN(
      const double decode,
      decode_rate(*engine, all.first(static_cast<size_t>(options.depth + 1)), options.tokens));
  if (profiled) {
    rates.prompt_profile = prompt_run;
    rates.decode_profile = {static_cast<double>(options.tokens) / decode, options.tokens,
                            engine->take_profile()};
    return {};
  }
  rates.prompt.push_back(prompt);
  rates.decode.push_back(decode);
  rates.load.push_back(engine->stats().load_ms);
  subject = {engine->stats().bytes_per_token, multiply_adds(engine->header()),
             main_type(engine->header()), engine->stats().kernels};
  return {};
}

void print_rates_as_json(const BenchOptions& options, const std::string& file,
                         const Subject& subject, const std::vector<Rates>& all,
                         uint64_t read_buffer, uint64_t memory_buffer) {
  Json runs = Json::array();
  Json read = Json::object();
  Json memory = Json::object();
  Json peak = Json::object();
  for (const Rates& rates : all) {
    runs.push_back({{"threads", rates.threads},
                    {"prompt_tps", median(rates.prompt)},
                    {"decode_tps", median(rates.decode)},
                    {"load_ms", median(rates.load)}});
    if (options.profile) {
      runs.back()["profile"] = {
          {"prompt", profile_json(rates.prompt_profile, rates.threads, false)},
          {"decode", profile_json(rates.decode_profile, rates.threads, true)}};
    }
    read[std::to_string(rates.threads)] = rates.read_gbps;
    memory[std::to_string(rates.threads)] = rates.memory_gbps;
    peak[std::to_string(rates.threads)] = rates.kernel_gmacs;
  }
  const Json out = {{"model", file},
                    {"bytes", subject.bytes},
                    {"kernels", subject.kernels},
                    {"prompt_tokens", options.prompt},
                    {"decode_tokens", options.tokens},
                    {"depth", options.depth},
                    {"repetitions", options.repetitions},
                    {"runs", runs},
                    {"read_gbps", read},
                    {"read_buffer_bytes", read_buffer},
                    {"memory_gbps", memory},
                    {"memory_buffer_bytes", memory_buffer},
                    {"prompt_macs", subject.prompt_macs},
                    {"peak_gmacs", peak}};
  write_json(out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void print_rates(const BenchOptions& options, const std::string& file, const Subject& subject,
                 const std::vector<Rates>& all, uint64_t read_buffer, uint64_t memory_buffer) {
  write_shown(concat(printable(file), ", ", subject.kernels, " kernels\na prompt of ",
                     counted(static_cast<uint64_t>(options.prompt), "token"), ", then ",
                     counted(static_cast<uint64_t>(options.tokens), "token"), " behind ",
                     options.depth, "; medians of ", options.repetitions,
                     "\n\nthreads  prompt tokens/s  decode tokens/s\n"));
  for (const Rates& rates : all) {
    write_out(
        format("%7d  %15.1f  %15.1f\n", rates.threads, median(rates.prompt), median(rates.decode)));
  }
  write_out(
      "\nbeside what this machine reaches\n"
      "threads  prompt GMAC/s  kernel GMAC/s  decode GB/s  read GB/s  memory GB/s\n");
  for (const Rates& rates : all) {
    const double macs = median(rates.prompt) * static_cast<double>(subject.prompt_macs);
    const double bytes = median(rates.decode) * static_cast<double>(subject.bytes);
    write_out(format("%7d  %13.1f  %13.1f  %11.2f  %9.2f  %11.2f\n", rates.threads, macs / 1e9,
                     rates.kernel_gmacs, bytes / 1e9, rates.read_gbps, rates.memory_gbps));
  }
  write_out(concat("a token reads ", human_bytes(subject.bytes), " of weights; read: a buffer of ",
                   human_bytes(read_buffer), ", memory: ", human_bytes(memory_buffer), "\n"));
  if (!options.profile) return;
  for (const Rates& rates : all) {
    write_out(profile_text(rates.prompt_profile, rates.threads, false));
    write_out(profile_text(rates.decode_profile, rates.threads, true));
  }
}

// One for each repetition, and with --profile one more that measures the phases.
int n_rounds(const BenchOptions& options) {
  return options.repetitions + (options.profile ? 1 : 0);
}

int bench(const BenchOptions& options) {
  const auto fail_with = [&](const Error& error) { return report(error, options.json); };
  if (const auto kernels = check_kernels(); !kernels) return fail_with(kernels.error());
  auto model = find_model(options.model, options.download);
  if (!model) return fail_with(model.error());
  std::vector<Rates> all;
  for (const int threads : options.threads) all.emplace_back().threads = threads;
  Subject subject;
  std::optional<BenchLine> line(std::in_place, all.size() * static_cast<size_t>(n_rounds(options)));
  for (int i = 0; i < n_rounds(options); ++i) {
    const bool profiled = i == options.repetitions;
    for (Rates& rates : all) {
      const auto done = measure(*model, options, profiled, rates, subject, *line);
      if (done) continue;
      line.reset();
      return fail_with(with_file_name(*model, done.error()));
    }
  }
  if (can_show_status()) show_status("measuring what this machine reaches");
  const uint64_t read_buffer = std::min(subject.bytes, kMaxBuffer);
  const uint64_t memory_buffer = std::min(4 * last_level_cache(), kMaxBuffer);
  for (Rates& rates : all) {
    rates.read_gbps = read_bandwidth(read_buffer, rates.threads);
    rates.memory_gbps = read_bandwidth(memory_buffer, rates.threads);
    rates.kernel_gmacs = multiply_rate(*choose_kernels(), subject.type, rates.threads);
    if (rates.kernel_gmacs == 0) {
      warn(concat("what ", counted(static_cast<uint64_t>(rates.threads), "thread"),
                  " reach is shown as 0: not so many could be started"));
    }
  }
  line.reset();
  const auto print = options.json ? print_rates_as_json : print_rates;
  print(options, model->file, subject, all, read_buffer, memory_buffer);
  return kDone;
}

// 1 and the number of cores, at most 8.
std::vector<int> default_threads() {
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8);
  return cores == 1 ? std::vector{1} : std::vector{1, cores};
}

}  // namespace

void add_bench(CLI::App& program, int& status) {
  auto options = std::make_shared<BenchOptions>();
  options->threads = default_threads();
  CLI::App* app = add_command(program, "bench", "measure how fast a model runs here", kBenchFooter);
  add_model(*app, options->model);
  add_integer(*app, "-p", options->prompt, 1, 1 << 18, "N", "tokens of the prompt (default 256)")
      ->group("Work");
  add_integer(*app, "-n", options->tokens, 1, 1 << 18, "N", "tokens to decode (default 32)")
      ->group("Work");
  add_integer(*app, "-r", options->repetitions, 1, 1000, "N", "repetitions (default 3)")
      ->group("Work");
  add_integer(*app, "--depth", options->depth, 0, 1 << 18, "N",
              "decode after so many tokens of context (default 0)")
      ->group("Work");
  add_value(*app, "-t,--threads", "LIST",
            "numbers of threads, like 1,2,4 (default: 1 and one for each core)",
            [options](const std::string& text) {
              const auto list = read_integers("-t", text, 1, 64);
              options->threads.assign(list.begin(), list.end());
            })
      ->group("Work");
  add_flag(*app, "--profile", options->profile, "where the time goes, by phase")->group("Work");
  add_json(*app, options->json, "the figures as one JSON object");
  add_options(*app, options->load);
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = bench(*options); });
}

}  // namespace sluice::cli
