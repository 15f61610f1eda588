#include "commands/quantize_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "app/model.h"
#include "app/model_use.h"
#include "app/text.h"
#include "base/format.h"
#include "commands/layer_names.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of_type(Type type) { return file_type(static_cast<uint32_t>(type)).name; }

// The tensors of one kind ("attn_q.weight" of all layers) that go from one type to one other.
struct KindRow {
  std::string kind;
  std::string from, to;
  std::vector<uint64_t> layers;  // ascending; empty: it belongs to no layer
  uint64_t tensors = 0, before = 0, after = 0;
};

// In the order of the file, those of a kind together.
std::vector<KindRow> kind_rows(const Gguf& source, const QuantizePlan& plan) {
  std::vector<KindRow> rows;
  std::map<std::string, size_t> kinds;  // in the order in which they are met
  std::map<std::tuple<size_t, std::string, std::string>, KindRow> found;
  std::vector<size_t> next(plan.files.size());
  for (const QuantizePlan::Tensor& planned : plan.tensors) {
    const TensorInfo& tensor = source.tensors[planned.source];
    std::string kind = tensor.name;
    const auto layer = take_layer(kind);
    const std::string key = concat(layer ? "blk." : "", kind);
    const size_t place = kinds.try_emplace(key, kinds.size()).first->second;
    const std::string to = name_of_type(planned.to) + (planned.instead_of ? " *" : "");
    KindRow& row = found[{place, name_of_type(planned.from), to}];
    row.kind = kind;
    row.from = name_of_type(planned.from);
    row.to = to;
    if (layer) row.layers.push_back(*layer);
    ++row.tensors;
    row.before += tensor.bytes;
    row.after += plan.files[planned.file].tensors[next[planned.file]++].bytes;
  }
  for (auto& [key, row] : found) {
    std::ranges::sort(row.layers);
    rows.push_back(std::move(row));
  }
  return rows;
}

// "rows of 640 are no multiple of 256: 83 tensors got a larger type", a line for each length.
std::string fallbacks_text(const Gguf& source, const QuantizePlan& plan) {
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> lengths;  // row, block: tensors
  for (const QuantizePlan::Tensor& planned : plan.tensors) {
    if (!planned.instead_of) continue;
    const uint32_t block = file_type(static_cast<uint32_t>(*planned.instead_of)).block;
    ++lengths[{source.tensors[planned.source].dims[0], block}];
  }
  constexpr size_t kMost = 8;  // lines
  std::string out;
  size_t n = 0;
  for (const auto& [length, tensors] : lengths) {
    if (n++ == kMost) return out + "    and so do rows of other lengths\n";
    out += concat(out.empty() ? "\n  * " : "    ", "rows of ", length.first, " are no multiple of ",
                  length.second, ": ", counted(tensors, "tensor"), " got a larger type\n");
  }
  return out;
}

// How many tensors are rounded, and how many of them with importance.
struct Measured {
  uint64_t rounded = 0, with_importance = 0;
};
Measured measured(const QuantizeReport& report) {
  Measured out;
  const Importance* importance = report.options.importance;
  for (const QuantizePlan::Tensor& planned : report.plan.tensors) {
    if (planned.from == planned.to || file_type(static_cast<uint32_t>(planned.to)).block == 1)
      continue;
    ++out.rounded;
    out.with_importance += importance != nullptr &&
                           importance->find(report.source.tensors[planned.source].name) != nullptr;
  }
  return out;
}

uint64_t n_weights(const Gguf& source) {
  uint64_t sum = 0;
  for (const TensorInfo& tensor : source.tensors) {
    uint64_t n = 1;
    for (const uint64_t dim : tensor.dims) n *= dim;
    sum += n;
  }
  return sum;
}

std::string type_title(const QuantizeReport& report) {
  if (!report.options.pure) return report.plan.type;
  // The name of the mix without its size: Q4_K of Q4_K_M.
  std::string type = report.plan.type;
  for (const std::string_view end : {"_S", "_M", "_L"})
    if (type.ends_with(end) && type.find("_K") != std::string::npos) type.resize(type.size() - 2);
  return type + " for all";
}

uint64_t tensor_bytes(const std::vector<TensorInfo>& tensors) {
  uint64_t sum = 0;
  for (const TensorInfo& tensor : tensors) sum += tensor.bytes;
  return sum;
}

}  // namespace

std::string quantize_text(const QuantizeReport& report) {
  const QuantizePlan& plan = report.plan;
  const auto weights = static_cast<double>(n_weights(report.source));
  uint64_t after = 0;
  for (const Gguf& file : plan.files) after += tensor_bytes(file.tensors);
  const auto bits = [weights](uint64_t bytes) {
    return format("%.2f", weights > 0 ? 8 * static_cast<double>(bytes) / weights : 0.0);
  };
  std::string out =
      concat(printable(report.model, 200), " as ", type_title(report), ": ",
             human_bytes(report.bytes_before), " -> ", human_bytes(plan.bytes()), ", ",
             bits(tensor_bytes(report.source.tensors)), " -> ", bits(after), " bits a weight\n\n");
  out += format("  %-26s %6s  %-7s    %-9s %10s %10s\n", "tensors", "number", "from", "to",
                "before", "after");
  const std::vector<KindRow> rows = kind_rows(report.source, plan);
  for (size_t i = 0; i < rows.size(); ++i) {
    const KindRow& row = rows[i];
    out += format("  %-26s %6llu  %-7s -> %-9s %10s %10s\n",
                  printable(row.kind, row.kind.size() > 26 ? 23 : 26).c_str(),
                  static_cast<unsigned long long>(row.tensors), row.from.c_str(), row.to.c_str(),
                  human_bytes(row.before).c_str(), human_bytes(row.after).c_str());
    const bool only = (i == 0 || rows[i - 1].kind != row.kind) &&
                      (i + 1 == rows.size() || rows[i + 1].kind != row.kind);
    if (row.layers.empty() || only) continue;
    out += layers_text(row.layers);
  }
  out += fallbacks_text(report.source, plan) + "\n";
  if (report.options.importance != nullptr) {
    const Measured used = measured(report);
    out += concat("importance matrix: it has ", used.with_importance, " of the ",
                  counted(used.rounded, "tensor"), " that ", used.rounded == 1 ? "is" : "are",
                  " quantized\n");
  }
  const std::string figures = concat(human_bytes(plan.bytes()), ", ", type_title(report), ", ",
                                     bits(after), " bits a weight");
  if (report.written.empty()) return concat(out, "would write ", figures, "; nothing is written\n");
  return concat(out, "wrote ", printable(report.written, kMaxShownPath), ": ", figures,
                report.runs ? try_it(plan.files[0], report.written) : std::string(), "\n");
}

std::string quantize_json(const QuantizeReport& report) {
  const QuantizePlan& plan = report.plan;
  Json tensors = Json::array();
  std::vector<size_t> next(plan.files.size());
  for (const QuantizePlan::Tensor& planned : plan.tensors) {
    Json& tensor = tensors.emplace_back(
        Json{{"name", report.source.tensors[planned.source].name},
             {"from", name_of_type(planned.from)},
             {"to", name_of_type(planned.to)},
             {"bytes", plan.files[planned.file].tensors[next[planned.file]++].bytes}});
    if (planned.instead_of) tensor["insteadOf"] = name_of_type(*planned.instead_of);
  }
  Json all = Json::object();
  if (!report.written.empty()) all["file"] = report.written;
  all["type"] = plan.type;
  all["fileType"] = plan.file_type;
  all["bytesBefore"] = report.bytes_before;
  all["bytesAfter"] = plan.bytes();
  if (report.options.importance != nullptr)
    all["importanceTensors"] = measured(report).with_importance;
  all["tensors"] = std::move(tensors);
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice::cli
