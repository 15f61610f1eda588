// sluice convert: a Hugging Face folder as a GGUF file.
#include "files/convert/convert.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/disk_folder.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/model.h"
#include "app/model_name.h"
#include "app/model_use.h"
#include "app/output.h"
#include "app/signals.h"
#include "base/format.h"
#include "base/threads.h"
#include "commands/commands.h"
#include "quant/quant.h"
#ifdef SLUICE_PULL
#include "app/hub_folder.h"
#include "app/shelf.h"
#endif

namespace sluice::cli {
namespace {

struct Arguments {
  std::string folder;
  std::string out;
  std::string type = "auto";
  std::string name;
  int threads = 0;
  bool json = false;
  DownloadOptions download;
};

constexpr char kConvertFooter[] =
    R"(FOLDER has a model as Hugging Face keeps it: config.json, tokenizer.json and
model.safetensors, or several of these with an index. It is a folder here or,
as hf:OWNER/REPO[@REVISION] or the address of its page, a repository of a hub:
what is needed of that is downloaded, all of one commit, and stays in the cache
for the next time, where sluice cache list shows it. OUT is there whole at the
end, or not at all. Classes, keys of the config and tensors that aren't known
are refused: nothing is guessed. The type auto is that of the weights where it
is F16 or BF16, else F16. Vectors stay F32 in any type, and so do norms, routers
of experts, short convolutions, positions and token types.

Examples:
  sluice convert qwen3-0.6b qwen3-0.6b.gguf
  sluice convert gemma-3-270m-it gemma.gguf --type Q8_0
  sluice convert hf:OWNER/REPO model.gguf
  sluice run gemma.gguf "Once upon a time")";

// A status line: how much of the file is written, and the time that the rest takes at that rate.
class ConvertLine {
 public:
  explicit ConvertLine(std::string file) : file_(std::move(file)) {}
  ~ConvertLine() { erase_status(); }
  ConvertLine(const ConvertLine&) = delete;
  ConvertLine& operator=(const ConvertLine&) = delete;

  void show(const FileProgress& p) {
    constexpr double kEvery = 0.1;  // seconds
    if (!can_show_status() || p.total == 0 ||
        std::chrono::duration<double>(Clock::now() - shown_).count() < kEvery)
      return;
    shown_ = Clock::now();
    const double took = std::chrono::duration<double>(shown_ - start_).count();
    const double part = static_cast<double>(p.done) / static_cast<double>(p.total);
    const std::string left =
        part > 0 && took > 1 ? concat(", ", human_duration(took * (1 - part) / part), " left") : "";
    show_status(concat("writing ", file_, " ", static_cast<int>(100 * part), "% of ",
                       human_bytes(p.total), left));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string file_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = {};
};

#ifdef SLUICE_PULL
Result<std::unique_ptr<Folder>> download(const std::string& address, const Arguments& arguments) {
  // A wrong OUT is found before a long download.
  SLUICE_TRY(OutputFile::create(arguments.out));
  SLUICE_ASSIGN(HubFolder folder,
                HubFolder::at(address, arguments.download, !arguments.json, check_convertible));
  return std::make_unique<HubFolder>(std::move(folder));
}
#else
Result<std::unique_ptr<Folder>> download(const std::string&, const Arguments&) {
  return fail(Code::invalid_argument,
              "this build of the program has no downloads; expected the path of a folder");
}
#endif

// What people give in place of a folder of this machine gets a message that helps.
Status check_is_folder(const Arguments& arguments) {
  std::error_code error;
  const std::string name = printable(arguments.folder, kMaxShownPath);
  const auto status = std::filesystem::status(arguments.folder, error);
  if (std::filesystem::is_directory(status)) return {};
  const std::string out = printable(arguments.out, kMaxShownPath);
  if (std::filesystem::is_directory(arguments.out, error))
    return fail(Code::invalid_argument, out, " is a folder, and ", name,
                " is none; the folder comes first: sluice convert ", out, " ", name);
  if (arguments.folder.ends_with(".gguf") && std::filesystem::exists(status))
    return fail(Code::invalid_argument, name,
                " is a file of GGUF by its name; a folder of Hugging Face is converted. sluice "
                "quantize gives a file other types");
#ifdef SLUICE_PULL
  if (std::filesystem::exists(status)) return {};
  const auto offered = find_on_shelf(arguments.folder);
  if (offered && *offered)
    return fail(Code::invalid_argument, "no folder is named ", name,
                "; the model of sluice models with that name is a GGUF file already: sluice run ",
                name, ". A repository of a hub is converted as hf:OWNER/REPO");
#endif
  return {};
}

// The folder that FOLDER means: the path of one or, if nothing is there, a repository of a hub.
Result<std::unique_ptr<Folder>> open_folder(const Arguments& arguments) {
  std::error_code error;
  const bool is_path = std::filesystem::exists(arguments.folder, error);
  const std::string address = is_path ? "" : as_address(arguments.folder);
  if (!address.empty()) return download(address, arguments);
  if (arguments.download.refresh)
    return fail(Code::invalid_argument, "--refresh is for what is downloaded");
  SLUICE_TRY(check_is_folder(arguments));
  SLUICE_ASSIGN(DiskFolder folder, DiskFolder::at(arguments.folder));
  SLUICE_TRY(folder.check_apart(arguments.out));
  return std::make_unique<DiskFolder>(std::move(folder));
}

struct Written {
  ConversionPlan plan;
  std::vector<std::string> remarks;
};

// Whether it reads texts, but writes none.
bool is_encoder(const Gguf& header) {
  return header.find(concat(header.find("general.architecture")->text(), ".attention.causal")) !=
         nullptr;
}

// What a user should know of the file.
std::vector<std::string> remarks_of(const ConversionPlan& plan) {
  std::vector<std::string> remarks = plan.remarks();
  const Gguf& header = plan.header();
  if (!is_encoder(header) && header.find("tokenizer.chat_template") == nullptr) {
    remarks.emplace_back(
        "no chat template: sluice chat guesses one by the family; sluice edit --template FILE "
        "sets one");
  }
  return remarks;
}

Result<Written> write(const Arguments& arguments) {
  SLUICE_ASSIGN(const auto type, convert_type_named(arguments.type));
  SLUICE_ASSIGN(const std::unique_ptr<Folder> folder, open_folder(arguments));
  defer_signals();  // a download ends at once, and goes on the next time
  SLUICE_ASSIGN(ConversionPlan plan,
                plan_conversion(*folder, {.type = type, .name = arguments.name}));
  warn(plan.notes());
  std::vector<std::string> remarks = remarks_of(plan);
  for (const std::string& remark : remarks) note(remark);
  SLUICE_ASSIGN(OutputFile out, OutputFile::create(arguments.out));
  Pool pool(arguments.threads > 0 ? arguments.threads : default_file_threads());
  {
    ConvertLine line(arguments.out);
    SLUICE_TRY(convert(plan, pool, out, [&](const FileProgress& progress) {
      line.show(progress);
      return interrupted_by() == 0;
    }));
  }
  SLUICE_TRY(out.commit());
  return Written{std::move(plan), std::move(remarks)};
}

void print(const Arguments& arguments, const Written& written) {
  const ConversionPlan& plan = written.plan;
  const Gguf& header = plan.header();
  if (arguments.json) {
    nlohmann::ordered_json json = {{"file", arguments.out},
                                   {"bytes", header.file_bytes()},
                                   {"type", traits(plan.type()).name},
                                   {"class", plan.class_name()},
                                   {"architecture", header.find("general.architecture")->text()},
                                   {"tensors", header.tensors.size()},
                                   {"remarks", written.remarks}};
    write_json(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  write_shown(concat("wrote ", arguments.out, ": ", human_bytes(header.file_bytes()), ", ",
                     traits(plan.type()).name, ", ", counted(header.tensors.size(), "tensor"),
                     try_it(header, arguments.out), "\n"));
}

int run_convert(const Arguments& arguments) {
  const auto written = write(arguments);
  if (!written) return report_work(written.error(), arguments.json);
  print(arguments, *written);
  return kDone;
}

}  // namespace

void add_convert(CLI::App& program, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* app = add_command(program, "convert", "make a GGUF file of a Hugging Face folder",
                              kConvertFooter, Environment::cache);
  app->add_option("FOLDER", arguments->folder,
                  "the folder of the model, or hf:OWNER/REPO[@REVISION]")
      ->type_name("FOLDER")
      ->required();
  app->add_option("OUT", arguments->out,
                  "the file to write; an older GGUF file of that name is replaced")
      ->type_name("OUT")
      ->required();
  add_text(*app, "--type", "TYPE", arguments->type,
           "of the matrices: F32, F16, BF16, Q8_0, or auto (default)");
  add_text(*app, "--name", "NAME", arguments->name,
           "the model's name in the file (default: made of the folder's)");
  add_integer(*app, "-t,--threads", arguments->threads, 1, Pool::kMaxThreads, "THREADS",
              "worker threads (default one for each core)");
  add_json(*app, arguments->json, "what was written as one JSON object");
  add_transfer_options(*app, arguments->download);
  app->callback([arguments, &status] { status = run_convert(*arguments); });
}

}  // namespace sluice::cli
