// sluice inspect: shows the header of a file, and what the numbers of its tensors are like.
#include "api/inspect.h"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/embedding_prompts.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/model.h"
#include "app/option_flags.h"
#include "app/output.h"
#include "app/signals.h"
#include "app/usage.h"
#include "base/format.h"
#include "base/threads.h"
#include "commands/commands.h"
#include "commands/inspect_text.h"
#include "commands/tensor_text.h"
#include "files/statistics.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

struct InspectOptions {
  std::string model;
  DownloadOptions download;
  LoadOptions load;
  std::vector<std::string> tensors;  // names and patterns
  bool all = false;
  bool json = false;
};

constexpr char kInspectFooter[] =
    R"(Shows name, architecture, sizes, tokenizer, metadata, the tensors by layer, and
the memory that running it needs: at the start, with a full context, and the
least --memory-budget that does. With --memory-budget it shows what is read
again for each token. A valid file that can't be run here is shown as well, with
the reason. --all groups nothing and leaves nothing out: arrays and texts whole,
each tensor with its place in the data.

With --tensor it reads a tensor's numbers and shows what they are like, with
percentiles and a histogram; of several tensors that a pattern names, a table.
Such a pattern has * for any text and ? for any character.

Examples:
  sluice inspect model.gguf
  sluice inspect model.gguf -c 8192 --kv-type q8_0
  sluice inspect model.gguf --memory-budget 300M
  sluice inspect model.gguf --tensor blk.0.attn_q.weight
  sluice inspect model.gguf --tensor 'blk.*.attn_norm.weight'
  sluice inspect model.gguf --json)";

// Adds the tensor of this name, or those that the pattern names, in the file's order. Fails with
// not_found.
Status find_tensors(const Gguf& header, const std::string& pattern,
                    std::vector<TensorFigures>& found) {
  std::vector<std::string> names;
  size_t n = 0;
  const auto add = [&](const TensorInfo& tensor) {
    ++n;
    if (std::ranges::find(found, &tensor, &TensorFigures::tensor) == found.end())
      found.push_back({&tensor, std::nullopt});
  };
  if (const TensorInfo* one = header.find_tensor(pattern)) {
    add(*one);
    return {};
  }
  for (const TensorInfo& tensor : header.tensors) {
    names.push_back(tensor.name);
    if (::fnmatch(pattern.c_str(), tensor.name.c_str(), FNM_NOESCAPE) == 0) add(tensor);
  }
  if (n > 0) return {};
  // A part of a name needs * on both sides.
  std::string part = pattern;
  std::erase(part, '*');
  const auto fits = part.empty() ? 0 : std::ranges::count_if(names, [&](const std::string& name) {
    return name.find(part) != std::string::npos;
  });
  std::string hint;
  if (fits > 0)
    hint =
        concat("; '*", printable(part), "*' fits ", counted(static_cast<uint64_t>(fits), "tensor"));
  if (pattern.find_first_of("*?[") != std::string::npos)
    return fail(Code::not_found, "no tensor fits the pattern '", printable(pattern), "'", hint);
  return fail(Code::not_found, "the file has no tensor '", printable(pattern), "'",
              hint.empty() ? did_you_mean(pattern, names) : hint);
}

int inspect_tensors(const InspectOptions& options, ModelSource& model) {
  const auto refuse = [&](const Error& error) {
    return report_work(with_file_name(model, error), options.json);
  };
  if (const Status there = fetch(model); !there) return refuse(there.error());
  auto file = DiskModel::open(model.paths);
  if (!file) return refuse(file.error());
  std::vector<TensorFigures> tensors;
  for (const std::string& pattern : options.tensors)
    if (const Status there = find_tensors(file->header(), pattern, tensors); !there)
      return refuse(there.error());
  defer_signals();
  Pool pool(options.load.threads > 0 ? options.load.threads : default_file_threads());
  const OnFileProgress progress = shown_progress("reading");
  for (TensorFigures& each : tensors) {
    // Of one that was asked for by name the reason is told.
    if (tensors.size() > 1 && find_traits(each.tensor->type) == nullptr) continue;
    auto statistics = tensor_statistics(*file, file->header(), *each.tensor, pool, progress);
    if (!statistics) return refuse(statistics.error());
    each.statistics = *statistics;
  }
  erase_status();
  if (options.json) {
    write_json(tensors_json(tensors) + "\n");
  } else {
    write_shown(tensors_text(tensors, file->header().data_offset, terminal_columns(STDOUT_FILENO)));
  }
  return kDone;
}

// The inspection and what sluice embed puts before texts, if the model wants any:
// "prompts": {"query": "..", "document": ".."}.
std::string with_prompts(std::string json, const Gguf& header) {
  const EmbeddingPrompts prompts = embedding_prompts(header);
  if (prompts.query.empty() && prompts.document.empty()) return json;
  const nlohmann::ordered_json both = {{"query", prompts.query}, {"document", prompts.document}};
  json.pop_back();
  return json + concat(",\"prompts\":", both.dump(), "}");
}

int inspect(const InspectOptions& options) {
  auto model = find_model(options.model, options.download);
  if (!model) return report(model.error(), options.json);
  if (!options.tensors.empty()) return inspect_tensors(options, *model);
  const auto header = read_header(*model);
  if (!header) return report(with_file_name(*model, header.error()), options.json);
  LoadOptions load = options.load;
  resolve_context(header->gguf, load);
  const std::string json =
      with_prompts(inspect_json(header->gguf, load, header->file_bytes, Access::rereadable,
                                options.all ? UINT64_MAX : kShownElements),
                   header->gguf);
  if (options.json) {
    write_json(json + "\n");
  } else {
    write_shown(inspect_text(model->name, json, options.all));
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& program, int& status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* app = add_command(program, "inspect", "show what a model file holds", kInspectFooter);
  add_model(*app, options->model);
  app->add_option(
         "--tensor",
         [options](const CLI::results_t& names) {
           options->tensors = names;
           return true;
         },
         "what the numbers of this tensor are like, or of those that a pattern names; several may "
         "be given")
      ->type_name("NAME")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Output");
  add_flag(*app, "--all", options->all, "show all elements of arrays, and each tensor by itself")
      ->group("Output");
  add_json(*app, options->json, "everything as one JSON object");
  add_options(*app, options->load);
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = inspect(*options); });
}

}  // namespace sluice::cli
