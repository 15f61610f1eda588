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
#include "app/text.h"
#include "base/format.h"
#include "base/threads.h"
#include "commands/commands.h"
#include "files/compare.h"
#include "files/value_text.h"
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
largest difference, and the cosine of the angle between the two. Types that
aren't computed here are compared by their bytes alone.

The exit status is 0 if the files say the same, and 1 if they differ; how they
are laid out doesn't count. After a failure there is an error on stderr, and an
event with --json.

Examples:
  sluice diff model-f16.gguf model-q4_k.gguf
  sluice diff before.gguf after.gguf --json)";

using Json = nlohmann::ordered_json;

struct Difference {
  const Gguf& a;
  const Gguf& b;
  std::vector<FieldDifference> fields;
  TensorComparison tensors;

  // How many keys count that both have with the same value.
  uint64_t n_equal_fields() const {
    const auto of_a = std::ranges::count_if(
        a.metadata, [](const auto& field) { return !is_layout_key(field.first); });
    const auto different = std::ranges::count_if(
        fields, [](const FieldDifference& each) { return each.a != nullptr; });
    return static_cast<uint64_t>(of_a - different);
  }
  bool none() const { return fields.empty() && tensors.different.empty(); }
};

std::string type_of(const TensorInfo* tensor) {
  return tensor == nullptr ? "-" : file_type(tensor->type).name;
}

std::string extents_of(const TensorInfo& tensor) {
  std::string out;
  for (uint32_t i = 0; i < tensor.n_dims; ++i)
    out += concat(out.empty() ? "" : " x ", tensor.dims[i]);
  return out.empty() ? "one number" : out;
}

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

// --- text ----------------------------------------------------------------------------------------

// What stands at the first difference of two values, or all of them.
std::string side_text(const FieldDifference& each, const MetadataValue* value, size_t width) {
  if (value == nullptr) return "-";
  if (!each.first) return value_text(*value, width);
  if (!value->is_array()) {
    constexpr size_t kBefore = 12;  // bytes that show where it is
    return element_text(*value, 0, width,
                        *each.first > kBefore ? static_cast<size_t>(*each.first) - kBefore : 0);
  }
  if (*each.first >= value->count) return concat("ends after ", value->count);
  return element_text(*value, *each.first, width);
}

std::string field_text(const FieldDifference& each, size_t width) {
  const size_t column = width - 15;  // quotes, dots on both sides, and the letter in front
  std::string out = concat("  ", printable(each.key, width - 2));
  if (each.a != nullptr && each.b != nullptr && each.first) {
    out += each.a->is_array() ? concat(", from element ", *each.first, " on") : std::string();
  }
  if (each.a != nullptr && each.b != nullptr &&
      (each.a->type != each.b->type || each.a->element != each.b->element))
    out += ", of another type";
  out += "\n";
  if (each.a != nullptr) out += concat("    A  ", side_text(each, each.a, column), "\n");
  if (each.b != nullptr) out += concat("    B  ", side_text(each, each.b, column), "\n");
  return out;
}

std::string error_text(const TensorError& error) {
  const auto relative = error.relative();
  const auto cosine = error.cosine();
  std::string out =
      format("%11s %11.4g %11s", relative ? format("%.5f", *relative).c_str() : "-",
             error.largest_difference, cosine ? format("%.7f", *cosine).c_str() : "-");
  if (error.n_not_finite > 0) out += concat("  ", error.n_not_finite, " not finite");
  return out;
}

std::string tensors_text(const Difference& difference, size_t width) {
  using Kind = TensorDifference::Kind;
  // Name, types, three figures.
  const size_t names = std::clamp<size_t>(width < 54 ? 0 : width - 54, 26, 63);
  const auto named = [&](const std::string& name) {
    return format("  %-*s ", static_cast<int>(names), printable(name, names).c_str());
  };
  std::string others, rows;
  for (const TensorDifference& each : difference.tensors.different) {
    const TensorInfo& tensor = each.a != nullptr ? *each.a : *each.b;
    if (each.kind == Kind::only_a || each.kind == Kind::only_b) {
      others += concat(named(tensor.name), "only in ", each.kind == Kind::only_a ? "A" : "B", ": ",
                       type_of(&tensor), ", ", extents_of(tensor), "\n");
    } else if (each.kind == Kind::shape) {
      others += concat(named(tensor.name), "shape ", extents_of(*each.a), " -> ",
                       extents_of(*each.b), "\n");
    } else {
      const std::string types = each.a->type == each.b->type
                                    ? type_of(each.a)
                                    : concat(type_of(each.a), ">", type_of(each.b));
      rows += concat(
          named(tensor.name), format("%-13s ", types.c_str()),
          each.error ? error_text(*each.error) : std::string("not computed; other bytes"), "\n");
    }
  }
  if (rows.empty()) return others;
  return concat(others,
                format("  %-*s %-13s %11s %11s %11s\n", static_cast<int>(names), "tensor", "type",
                       "rel. error", "largest", "cosine"),
                rows);
}

std::string count_line(std::string_view what, uint64_t different, uint64_t equal) {
  return concat(what, ": ", different, different == 1 ? " differs, " : " differ, ", equal,
                equal == 1 ? " is equal\n" : " are equal\n");
}

void print_text(const DiffOptions& options, const Difference& difference) {
  const size_t width = std::max<size_t>(terminal_columns(STDOUT_FILENO), 80);
  std::string out = concat("A  ", printable(options.a, kMaxShownPath), "\nB  ",
                           printable(options.b, kMaxShownPath), "\n\n");
  out += count_line("Fields", difference.fields.size(), difference.n_equal_fields());
  for (const FieldDifference& each : difference.fields) out += field_text(each, width);
  if (options.all) {
    for (const auto& [key, value] : difference.a.metadata) {
      if (!is_layout_key(key) &&
          std::ranges::none_of(difference.fields,
                               [&](const FieldDifference& each) { return each.key == key; }))
        out += concat("  = ", printable(key, width - 4), "\n");
    }
  }
  out +=
      "\n" + count_line("Tensors", difference.tensors.different.size(), difference.tensors.n_equal);
  out += tensors_text(difference, width);
  if (options.all) {
    std::vector<std::string_view> names;
    for (const TensorDifference& each : difference.tensors.different)
      if (each.a != nullptr) names.push_back(each.a->name);
    std::ranges::sort(names);
    for (const TensorInfo& tensor : difference.a.tensors) {
      if (!std::ranges::binary_search(names, std::string_view(tensor.name)))
        out += concat("  = ", printable(tensor.name), "\n");
    }
  }
  write_shown(out);
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
    print_text(options, difference);
  }
  return difference.none() ? kDone : kFailed;
}

}  // namespace

void add_diff(CLI::App& program, int& status) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* app =
      add_command(program, "diff", "show what differs between two model files", kDiffFooter);
  add_text(*app, "A", "FILE", options->a, "a GGUF file, or a name or an address as for inspect");
  add_text(*app, "B", "FILE", options->b, "another one");
  add_integer(*app, "-t,--threads", options->threads, 1, Pool::kMaxThreads, "THREADS",
              "worker threads; 1 to 64 (default one for each core)")
      ->group("Work");
  add_flag(*app, "--all", options->all, "list what is equal, too")->group("Output");
  add_json(*app, options->json, "what differs as one JSON object");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = diff(*options); });
}

}  // namespace sluice::cli
