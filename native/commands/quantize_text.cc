#include "commands/quantize_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "app/text.h"
#include "base/format.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTableWidth = 80;

std::string name_of_type(Type type) { return file_type(static_cast<uint32_t>(type)).name; }

// The tensors of one kind ("attn_q.weight" of all layers) that go from one type to one other.
struct KindRow {
  std::string kind;
  std::string from, to;
  std::vector<uint64_t> layers;  // ascending; empty: it belongs to no layer
  uint64_t tensors = 0, before = 0, after = 0;
};

// Takes the N of "blk.N.rest" off a name.
std::optional<uint64_t> take_layer(std::string& name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  const size_t dot = name.find('.', 4);
  if (dot == std::string::npos || dot == 4 || dot > 10) return std::nullopt;
  uint64_t layer = 0;
  for (size_t i = 4; i < dot; ++i) {
    if (name[i] < '0' || name[i] > '9') return std::nullopt;
    layer = layer * 10 + static_cast<uint64_t>(name[i] - '0');
  }
  name = name.substr(dot + 1);
  return layer;
}

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

// "0 to 3, 6, 9"
std::string layer_ranges(const std::vector<uint64_t>& layers) {
  std::string out;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] <= layers[end - 1] + 1) ++end;
    out += concat(out.empty() ? "" : ", ", layers[i]);
    if (end > i + 1) out += concat(end == i + 2 ? ", " : " to ", layers[end - 1]);
    i = end;
  }
  return out;
}

uint64_t tensor_bytes(const std::vector<TensorInfo>& tensors) {
  uint64_t sum = 0;
  for (const TensorInfo& tensor : tensors) sum += tensor.bytes;
  return sum;
}

}  // namespace

std::string quantize_text(const std::string& model, const Gguf& source, const QuantizePlan& plan,
                          uint64_t bytes_before) {
  double weights = 0;
  for (const TensorInfo& tensor : source.tensors) {
    double n = 1;
    for (const uint64_t dim : tensor.dims) n *= static_cast<double>(dim);
    weights += n;
  }
  uint64_t after = 0;
  for (const Gguf& file : plan.files) after += tensor_bytes(file.tensors);
  const auto bits = [weights](uint64_t bytes) {
    return format("%.2f", weights > 0 ? 8 * static_cast<double>(bytes) / weights : 0.0);
  };
  std::string out =
      concat(printable(model, 200), " as ", plan.type, ": ", human_bytes(bytes_before), " -> ",
             human_bytes(plan.bytes()), ", ", bits(tensor_bytes(source.tensors)), " -> ",
             bits(after), " bits a weight\n\n");
  out += format("  %-28s %6s  %-7s    %-7s %10s %10s\n", "tensors", "number", "from", "to",
                "before", "after");
  const std::vector<KindRow> rows = kind_rows(source, plan);
  bool marked = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    const KindRow& row = rows[i];
    out += format("  %-28s %6llu  %-7s -> %-7s %10s %10s\n", printable(row.kind, 28).c_str(),
                  static_cast<unsigned long long>(row.tensors), row.from.c_str(), row.to.c_str(),
                  human_bytes(row.before).c_str(), human_bytes(row.after).c_str());
    marked |= row.to.ends_with('*');
    const bool only = (i == 0 || rows[i - 1].kind != row.kind) &&
                      (i + 1 == rows.size() || rows[i + 1].kind != row.kind);
    if (row.layers.empty() || only) continue;
    for (const std::string& line :
         wrapped("in layers " + layer_ranges(row.layers), kTableWidth - 6))
      out += "      " + line + "\n";
  }
  if (marked)
    out += "\n  * in place of a type whose blocks don't divide the rows of these tensors\n";
  return out;
}

std::string quantize_json(const Gguf& source, const QuantizePlan& plan, uint64_t bytes_before) {
  Json tensors = Json::array();
  std::vector<size_t> next(plan.files.size());
  for (const QuantizePlan::Tensor& planned : plan.tensors)
    tensors.push_back({{"name", source.tensors[planned.source].name},
                       {"from", name_of_type(planned.from)},
                       {"to", name_of_type(planned.to)},
                       {"bytes", plan.files[planned.file].tensors[next[planned.file]++].bytes}});
  const Json all = {{"type", plan.type},
                    {"fileType", plan.file_type},
                    {"bytesBefore", bytes_before},
                    {"bytesAfter", plan.bytes()},
                    {"tensors", std::move(tensors)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice::cli
