// sluice diff: what differs between two files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/inspect.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/file_progress.h"
#include "app/help.h"
#include "app/model.h"
#include "app/output.h"
#include "app/signals.h"
#include "base/format.h"
#include "base/threads.h"
#include "commands/commands.h"
#include "commands/diff_text.h"
#include "files/compare.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

struct DiffOptions {
  std::string a, b;
  DownloadOptions download;
  int threads = 0;  // 0: one for each core
  bool all = false;
  bool json = false;
};

constexpr char kDiffFooter[] =
    R"(Compares the metadata, then the tensors of the same name, in whatever order the
files have them. Of tensors that differ in type or bytes it shows how far the
numbers are apart: the relative error (the RMS of A - B over the RMS of A), the
largest difference, and 1 - the cosine of the angle between the two; at the end
the mean and the worst error by type. Layers are grouped; --all shows each
tensor. Types that aren't computed here are compared by their bytes alone. How
the files are laid out doesn't count.

An importance matrix keeps what the weights compute exact, not the weights: the
error of a file that was quantized with one is often larger than without.

The exit status is 1 if the files differ; after a failure there is an error on
stderr, too, and an event with --json.

Examples:
  sluice diff model-f16.gguf model-q4_k.gguf
  sluice diff before.gguf after.gguf --json)";

using Json = nlohmann::ordered_json;

std::string type_of(const TensorInfo* tensor) { return file_type(tensor->type).name; }

// --- JSON ----------------------------------------------------------------------------------------

Json field_json(const MetadataValue* value) {
  return value == nullptr ? Json() : Json::parse(metadata_json(*value), nullptr, false);
}

Json tensor_side(const TensorInfo* tensor) {
  if (tensor == nullptr) return {};
  Json shape = Json::array();
  for (uint32_t i = 0; i < tensor->n_dims; ++i) shape.push_back(tensor->dims[i]);
  return {{"type", type_of(tensor)}, {"shape", std::move(shape)}};
}

Json number_json(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json tensor_json(const TensorDifference& difference) {
  static constexpr const char* kNames[] = {"only_a", "only_b", "shape", "values"};
  const TensorInfo* named = difference.a != nullptr ? difference.a : difference.b;
  Json out = {{"name", named->name},
              {"difference", kNames[static_cast<int>(difference.kind)]},
              {"a", tensor_side(difference.a)},
              {"b", tensor_side(difference.b)}};
  if (difference.kind != TensorDifference::Kind::values) return out;
  out["computed"] = difference.error.has_value();
  if (!difference.error) return out;
  const TensorError& error = *difference.error;
  out["relativeError"] = number_json(error.relative());
  out["rmsA"] = error.rms_a;
  out["rmsB"] = error.rms_b;
  out["rmsDifference"] = error.rms_difference;
  out["largestDifference"] = error.largest_difference;
  out["cosine"] = number_json(error.cosine());
  out["notFinite"] = error.n_not_finite;
  return out;
}

void print_json(const DiffOptions& options, const Difference& difference) {
  Json fields = Json::array(), tensors = Json::array();
  for (const FieldDifference& each : difference.fields) {
    fields.push_back({{"key", each.key}, {"a", field_json(each.a)}, {"b", field_json(each.b)}});
    if (each.first) fields.back()["first"] = *each.first;
  }
  for (const TensorDifference& each : difference.tensors.different)
    tensors.push_back(tensor_json(each));
  const Json out = {{"a", options.a},
                    {"b", options.b},
                    {"equal", difference.none()},
                    {"fields", std::move(fields)},
                    {"fieldsEqual", difference.n_equal_fields()},
                    {"tensors", std::move(tensors)},
                    {"tensorsEqual", difference.tensors.n_equal}};
  write_json(out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// --- the command ---------------------------------------------------------------------------------

Result<DiskModel> open_side(const std::string& name, const DownloadOptions& download) {
  SLUICE_ASSIGN(ModelSource model, find_model(name, download));
  const auto named = [&](Error error) {
    return std::unexpected(with_file_name(model, std::move(error)));
  };
  if (const Status there = fetch(model); !there) return named(there.error());
  auto opened = DiskModel::open(model.paths);
  if (!opened) return named(opened.error());
  return opened;
}

// The end of the help, with what 0 and 1 mean here.
std::string with_own_status(std::string footer) {
  constexpr std::string_view kCommon =
      "0 done, 1 failed while running, 2 wrong usage, 3 a file can't be\nused, 4 not enough "
      "memory, "
      "130 ended by Ctrl-C.";
  const size_t at = footer.find(kCommon);
  if (at == std::string::npos) return footer;
  return footer.replace(at, kCommon.size(),
                        "0 the files say the same, 1 they differ or it failed while\nrunning, 2 "
                        "wrong usage, 3 a file can't be used, 4 not enough memory, 130\nended by "
                        "Ctrl-C.");
}

int diff(const DiffOptions& options) {
  if (options.a.empty() || options.b.empty()) {
    return report({Code::invalid_argument, "two files are compared; see sluice diff --help"},
                  options.json);
  }
  auto a = open_side(options.a, options.download);
  if (!a) return report(a.error(), options.json);
  auto b = open_side(options.b, options.download);
  if (!b) return report(b.error(), options.json);
  defer_signals();
  Pool pool(options.threads > 0 ? options.threads : default_file_threads());
  auto tensors =
      compare_tensors({a->header(), *a}, {b->header(), *b}, pool, shown_progress("comparing"));
  if (!tensors) return report_work(tensors.error(), options.json);
  erase_status();
  const Difference difference{a->header(), b->header(), compare_fields(a->header(), b->header()),
                              std::move(*tensors)};
  if (options.json) {
    print_json(options, difference);
  } else {
    write_shown(diff_text({options.a, options.b, difference, options.all},
                          std::max<size_t>(terminal_columns(STDOUT_FILENO), 80)));
  }
  return difference.none() ? kDone : kFailed;
}

}  // namespace

void add_diff(CLI::App& program, int& status) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* app =
      add_command(program, "diff", "show what differs between two model files", kDiffFooter);
  app->footer(with_own_status(app->get_footer()));
  add_text(*app, "A", "FILE", options->a, "a GGUF file, or a name or an address as for inspect")
      ->required();
  add_text(*app, "B", "FILE", options->b, "another one")->required();
  add_integer(*app, "-t,--threads", options->threads, 1, Pool::kMaxThreads, "THREADS",
              "worker threads; 1 to 64 (default one for each core)")
      ->group("Work");
  add_flag(*app, "--all", options->all, "list each tensor, and what is equal, too")
      ->group("Output");
  add_json(*app, options->json, "what differs as one JSON object");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = diff(*options); });
}

}  // namespace sluice::cli
