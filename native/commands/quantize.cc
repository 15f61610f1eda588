// sluice quantize: writes a model with its weights in another type.
#include "files/quantize/quantize.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "api/inspect.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/help.h"
#include "app/model.h"
#include "app/output.h"
#include "app/output_files.h"
#include "app/signals.h"
#include "app/usage.h"
#include "base/format.h"
#include "commands/commands.h"
#include "commands/quantize_text.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

struct QuantizeArguments {
  std::string model;
  std::string out;
  DownloadOptions download;
  QuantizeOptions quantize;
  int threads = 0;  // 0: one for each core
  bool dry_run = false;
  bool json = false;
};

constexpr char kQuantizeFooter[] =
    R"(Writes what llama-quantize writes, byte for byte. A type such as Q4_K_M is a
mix: tensors that need it get more bits; --pure gives all of them the type
itself. IQ1, IQ2 and IQ3 types can't be written (status 3), only planned by
--dry-run. Rows that are no multiple of a type's block get another type. OUT
appears when all of it is written, or not at all.

Examples:
  sluice quantize model-f16.gguf model-q4.gguf --type Q4_K_M
  sluice quantize model-f16.gguf q2.gguf --type Q2_K --imatrix imatrix.gguf
  sluice quantize model-f16.gguf q4.gguf --type Q4_K --tensor-type attn_v=Q8_0
  sluice quantize model-f16.gguf --type Q3_K --dry-run)";

// A status line with the progress; false to Ctrl-C.
class QuantizeLine {
 public:
  bool show(const FileProgress& progress) {
    if (interrupted_by() != 0) return false;
    const auto now = Clock::now();
    if (!can_show_status() || now - shown_ < kInterval || progress.total == 0) return true;
    shown_ = now;
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    const double seconds = std::chrono::duration<double>(now - start_).count();
    show_status(concat("quantizing ", static_cast<int>(100 * part), "%",
                       part > 0 && seconds > 1
                           ? concat(", ", human_duration(seconds / part - seconds), " left")
                           : std::string(),
                       progress.tensor.empty() ? "" : ", ", printable(progress.tensor)));
    return true;
  }
  ~QuantizeLine() { erase_status(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_;
};

// Reads the source and writes the files. All of them get their names at the end.
Status write_quantized(DiskModel& source, const std::vector<std::string>& read,
                       const QuantizePlan& plan, const QuantizeArguments& options) {
  SLUICE_ASSIGN(const std::vector<std::string> paths,
                split_output_paths(options.out, plan.files.size()));
  SLUICE_TRY(check_other_files(paths, read));
  SLUICE_TRY(check_room(paths[0], plan.bytes()));
  std::deque<OutputFile> files;
  std::vector<ByteSink*> sinks;
  for (const std::string& path : paths) {
    SLUICE_ASSIGN(OutputFile file, OutputFile::create(path));
    files.push_back(std::move(file));
    sinks.push_back(&files.back());
  }
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Pool pool(options.threads > 0 ? options.threads : cores);
  QuantizeLine line;
  SLUICE_TRY(quantize(source, source.header(), plan, options.quantize, pool, sinks,
                      [&line](const FileProgress& progress) { return line.show(progress); }));
  for (OutputFile& file : files) SLUICE_TRY(file.commit());
  return {};
}

Result<uint64_t> bytes_of_files(const std::vector<std::string>& paths) {
  SLUICE_ASSIGN(const ModelFiles files, ModelFiles::open(paths));
  return files.size();
}

// The type that was probably meant by a name that is none; "" if that can't be said.
std::string meant_type(std::string name) {
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  const std::vector<std::string> types = quantize_types();
  if (const auto found = nearest(name, types)) return types[*found];
  // A name with the number of bits: q4, int8, 4-bit.
  std::string digits;
  for (const char c : name)
    if (c >= '0' && c <= '9') digits += c;
  constexpr const char* kBits[] = {"Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", nullptr, "Q8_0"};
  if (digits == "16") return "F16";
  if (digits == "32") return "F32";
  if (digits.size() != 1 || digits[0] < '2' || digits[0] > '8') return "";
  const char* type = kBits[digits[0] - '2'];
  return type == nullptr ? "" : type;
}

// Says what is missing or isn't a type, before a model is read.
Status check_arguments_of(const QuantizeArguments& options) {
  const std::string& type = options.quantize.type;
  if (type.empty() && is_quantize_type(options.out))
    return fail(Code::invalid_argument, "'", options.out, "' is a type: write --type ", options.out,
                "; the new file's name stands behind the model");
  if (type.empty())
    return fail(Code::invalid_argument, "no type; give one with --type: ", quantize_type_names());
  if (!is_quantize_type(type)) {
    if (is_copy(type)) return fail(Code::invalid_argument, kNoCopy);
    const std::string meant = meant_type(type);
    return fail(Code::invalid_argument, "'", printable(type), "' is no type; ",
                meant.empty() ? concat("expected ", quantize_type_names())
                              : concat("did you mean ", meant,
                                       "? These can be written: ", quantize_type_names()));
  }
  if (options.model.empty()) return fail(Code::invalid_argument, "no model to quantize; name one");
  if (options.out.empty() && !options.dry_run)
    return fail(Code::invalid_argument,
                "no output; name the new file behind the model, or give --dry-run");
  return {};
}

// What has weights to quantize.
Status check_source(const Gguf& header) {
  const auto type = header.get_string("general.type");
  if (type && *type && **type == "imatrix")
    return fail(Code::invalid_argument,
                "it is an importance matrix and no model; name the model, and give this file with "
                "--imatrix");
  return {};
}

// Says what the user may not expect of the new file.
void tell_of(const QuantizePlan& plan) {
  std::vector<std::string> others;
  bool changed = false;
  for (const QuantizePlan::Tensor& tensor : plan.tensors) {
    changed |= tensor.from != tensor.to;
    const auto type = static_cast<uint32_t>(tensor.to);
    if (find_traits(type) != nullptr || tensor.from == tensor.to) continue;
    if (std::ranges::find(others, file_type(type).name) == others.end())
      others.emplace_back(file_type(type).name);
  }
  std::string names;
  for (const std::string& name : others) names += concat(names.empty() ? "" : ", ", name);
  if (!names.empty())
    note(concat("Sluice doesn't run files with ", names, " yet; other programs do"));
  if (!changed) note("no tensor changes its type: all of them stay as they are");
}

// Whether Sluice runs the new file. Of a split one the first file alone doesn't tell.
bool runs(const QuantizePlan& plan) {
  if (plan.files.size() != 1) return false;
  const auto info = nlohmann::json::parse(
      inspect_json(plan.files[0], {}, plan.bytes(), Access::rereadable, kShownElements), nullptr,
      false);
  return info.is_object() && info.value("supported", false);
}

int print(const QuantizeArguments& options, const QuantizeReport& report) {
  if (options.json)
    write_json(quantize_json(report) + "\n");
  else
    write_shown(quantize_text(report));
  return kDone;
}

// The sizes and types; of a model at an address only its header is read.
Result<int> show_plan(const QuantizeArguments& options, ModelSource& model) {
  SLUICE_ASSIGN(ModelHeader header, read_header(model));
  if (header.file_bytes == 0) header.file_bytes = header.gguf.file_bytes();
  SLUICE_TRY(check_source(header.gguf));
  SLUICE_ASSIGN(const QuantizePlan plan, plan_quantization(header.gguf, options.quantize));
  if (const Status can = check_quantization(header.gguf, plan, options.quantize); !can)
    note(concat("this can be planned but not done: ", can.error().message));
  else
    tell_of(plan);
  return print(options, {model.file, header.gguf, plan, options.quantize, header.file_bytes});
}

Result<int> carry_out(const QuantizeArguments& options, ModelSource& model) {
  SLUICE_TRY(fetch(model));
  SLUICE_ASSIGN(DiskModel source, DiskModel::open(model.paths));
  SLUICE_TRY(check_source(source.header()));
  SLUICE_ASSIGN(const QuantizePlan plan, plan_quantization(source.header(), options.quantize));
  SLUICE_TRY(check_quantization(source.header(), plan, options.quantize));
  SLUICE_ASSIGN(const uint64_t bytes, bytes_of_files(model.paths));
  tell_of(plan);
  defer_signals();
  std::vector<std::string> read = model.paths;
  if (!options.quantize.importance_file.empty()) read.push_back(options.quantize.importance_file);
  SLUICE_TRY(write_quantized(source, read, plan, options));
  SLUICE_ASSIGN(const std::vector<std::string> paths,
                split_output_paths(options.out, plan.files.size()));
  return print(options, {model.file, source.header(), plan, options.quantize, bytes, paths.front(),
                         runs(plan)});
}

Result<int> quantize_model(QuantizeArguments& options) {
  SLUICE_TRY(check_arguments_of(options));
  Importance importance;
  if (!options.quantize.importance_file.empty()) {
    const std::string& path = options.quantize.importance_file;
    SLUICE_ASSIGN(DiskFile file, DiskFile::open(path, "an importance matrix"));
    auto read = read_importance(file);
    if (!read) {
      read.error().message = concat(printable(path, kMaxShownPath), ": ", read.error().message);
      return std::unexpected(read.error());
    }
    importance = std::move(*read);
    options.quantize.importance = &importance;
  }
  SLUICE_ASSIGN(ModelSource model, find_model(options.model, options.download));
  auto done = options.dry_run ? show_plan(options, model) : carry_out(options, model);
  if (!done) done = std::unexpected(with_file_name(model, done.error()));
  return done;
}

int quantize_or_report(QuantizeArguments& options) {
  const Result<int> done = quantize_model(options);
  if (done) return *done;
  if (done.error().code == Code::aborted && interrupted_by() != 0) return 128 + interrupted_by();
  return report(done.error(), options.json);
}

}  // namespace

void add_quantize(CLI::App& program, int& status) {
  auto options = std::make_shared<QuantizeArguments>();
  QuantizeOptions& quantize = options->quantize;
  CLI::App* app = add_command(program, "quantize", "write a model with its weights in another type",
                              kQuantizeFooter);
  const auto take_out = [options](const std::string& text) {
    if (text.empty()) refuse("OUT", "the path of a file", text);
    if (!options->out.empty() && options->out != text)
      throw CLI::ValidationError(concat("the new file is named twice, ",
                                        printable(options->out, kMaxShownPath), " and ",
                                        printable(text, kMaxShownPath), "; leave one of them out"));
    options->out = text;
  };
  const auto take_model = [options](const std::string& text) { options->model = text; };
  // Values are read in this order: behind -m the first argument is OUT.
  add_value(*app, "-m,--model", "FILE", "the same as MODEL", take_model);
  add_value(
      *app, "MODEL", "FILE",
      "the model: a GGUF file, or what other commands take as MODEL; of a split model any file",
      [options, take_model, take_out](const std::string& text) {
        options->model.empty() ? take_model(text) : take_out(text);
      })
      ->group(kNeededArgument);
  add_value(
      *app, "OUT", "FILE",
      "the new file; an older GGUF file of that name is replaced. Or -o; --dry-run needs none",
      take_out)
      ->group(kNeededArgument);
  add_value(*app, "-o,--output,--output-file", "FILE", "the same as OUT", take_out);
  add_text(*app, "--type", "TYPE", quantize.type, "the type: " + quantize_type_names())
      ->group(kNeededOption);
  add_text(*app, "--imatrix", "FILE", quantize.importance_file,
           "an importance matrix (sluice imatrix, llama-imatrix): which columns need precision");
  app->add_option(
         "--tensor-type",
         [options](const CLI::results_t& rules) {
           for (const std::string& text : rules) {
             auto rule = parse_tensor_type(text);
             if (!rule) throw CLI::ValidationError("--tensor-type: " + rule.error().message);
             options->quantize.tensor_types.push_back(std::move(*rule));
           }
           return true;
         },
         "tensors in whose names the regular expression PATTERN is found get TYPE; several may be "
         "given, the first that fits counts")
      ->type_name("PATTERN=TYPE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_flag(*app, "--pure", quantize.pure, "all tensors get the type itself, not those of its mix");
  add_flag(*app, "--leave-output-tensor", quantize.leave_output, "output.weight stays as it is");
  add_flag(*app, "--allow-requantize", quantize.allow_requantize,
           "also quantize tensors that are quantized already, which costs more quality");
  add_flag(*app, "--keep-split", quantize.keep_split,
           "as many files as the model has, OUT-0000I-of-0000N.gguf; without it, one");
  add_flag(*app, "--dry-run", options->dry_run, "show types and sizes; write nothing");
  add_integer(*app, "-t,--threads", options->threads, 1, Pool::kMaxThreads, "THREADS",
              "worker threads (default one for each core)");
  add_json(*app, options->json, "types and sizes as one JSON object");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = quantize_or_report(*options); });
}

}  // namespace sluice::cli
