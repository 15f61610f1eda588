#include "commands/tensor_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/text.h"
#include "base/format.h"
#include "quant/quant.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string tensor_type(const TensorInfo& tensor) { return file_type(tensor.type).name; }

std::string tensor_shape(const TensorInfo& tensor) {
  std::string out;
  for (uint32_t i = 0; i < tensor.n_dims; ++i)
    out += concat(out.empty() ? "" : " x ", tensor.dims[i]);
  return out.empty() ? "one number" : out;
}

std::string figure_row(const std::string& name, const std::string& value) {
  return format("  %-12s %s\n", name.c_str(), value.c_str());
}

std::string with_share(uint64_t n, uint64_t all) {
  if (n == 0 || all == 0) return concat(n);
  return concat(n, format(" (%.2f%%)", 100 * static_cast<double>(n) / static_cast<double>(all)));
}

std::string short_number(double value) { return format("%.6g", value); }

// A row for each bin, with a bar whose length is its share of the fullest one.
std::string histogram_text(const TensorStatistics& all, size_t width) {
  const auto low = static_cast<double>(all.low), high = static_cast<double>(all.high);
  const uint64_t most = std::max<uint64_t>(1, *std::ranges::max_element(all.bins));
  constexpr size_t kEdge = 12, kCount = 12;
  const size_t room = width > kEdge + kCount + 10 ? width - kEdge - kCount - 6 : 10;
  const auto bar_row = [&](const std::string& edge, uint64_t n) {
    // In 128 bits: counts may be as many as a file has elements.
    const auto length = static_cast<size_t>(static_cast<unsigned __int128>(n) * room / most);
    const std::string bar(std::clamp<size_t>(length, n > 0 ? 1 : 0, room), '#');
    return format("  %*s %*llu %s\n", static_cast<int>(kEdge), edge.c_str(),
                  static_cast<int>(kCount), static_cast<unsigned long long>(n), bar.c_str());
  };
  std::string out = concat("\n", format("  %*s %*s\n", static_cast<int>(kEdge), "from",
                                        static_cast<int>(kCount), "numbers"));
  if (all.below > 0) out += bar_row("below", all.below);
  const size_t n_bins = low < high ? all.bins.size() : 1;
  for (size_t i = 0; i < n_bins; ++i) {
    const double edge =
        low + (high - low) * static_cast<double>(i) / static_cast<double>(all.bins.size());
    out += bar_row(format("%.5g", edge), all.bins[i]);
  }
  if (all.above > 0) out += bar_row("above", all.above);
  return out;
}

std::string one_tensor(const TensorFigures& figures, uint64_t data, size_t width) {
  const TensorInfo& tensor = *figures.tensor;
  std::string out =
      concat(printable(tensor.name), ": ", tensor_type(tensor), ", ", tensor_shape(tensor), ", ",
             counted(tensor.bytes, "byte"), " at byte ", data + tensor.offset, " of the file\n\n");
  if (!figures.statistics)
    return out + "  its type isn't computed here, so its numbers can't be read\n";
  const TensorStatistics& all = *figures.statistics;
  out += figure_row("numbers", concat(all.elements));
  if (all.n_nan > 0) out += figure_row("NaN", with_share(all.n_nan, all.elements));
  if (all.n_infinite > 0) out += figure_row("infinite", with_share(all.n_infinite, all.elements));
  if (all.n_finite() == 0) return out;
  out += figure_row("zero", with_share(all.n_zero, all.n_finite()));
  out += figure_row("min", concat(all.min));
  out += figure_row("max", concat(all.max));
  out += figure_row("largest |x|", concat(all.largest));
  out += figure_row("mean", short_number(all.mean));
  out += figure_row("deviation", short_number(all.deviation));
  out += figure_row("RMS", short_number(all.rms));
  out += "\n  percentiles\n";
  for (size_t i = 0; i < all.percentiles.size(); ++i) {
    out += format("  %11.1f%% %s\n", TensorStatistics::kPercents[i],
                  short_number(all.percentiles[i]).c_str());
  }
  return out + histogram_text(all, width);
}

std::string tensor_table(std::span<const TensorFigures> all, size_t width) {
  constexpr size_t kFigures = 50;
  const size_t names = std::clamp<size_t>(width > kFigures ? width - kFigures : 0, 20, 63);
  std::string out = format("%-*s %-8s %9s %9s %9s %9s\n", static_cast<int>(names), "tensor", "type",
                           "min", "max", "mean", "RMS");
  for (const TensorFigures& figures : all) {
    // A cut name ends with three dots.
    const std::string& name = figures.tensor->name;
    out += format("%-*s %-8s", static_cast<int>(names),
                  printable(name, name.size() > names ? names - 3 : names).c_str(),
                  tensor_type(*figures.tensor).c_str());
    if (!figures.statistics) {
      out += " not computed here\n";
      continue;
    }
    const TensorStatistics& each = *figures.statistics;
    if (each.n_finite() == 0) {
      out += format(" %9s %9s %9s %9s", "-", "-", "-", "-");
    } else {
      out += format(" %9.3g %9.3g %9.3g %9.3g", static_cast<double>(each.min),
                    static_cast<double>(each.max), each.mean, each.rms);
    }
    if (const uint64_t wrong = each.elements - each.n_finite(); wrong > 0)
      out += concat("\n  ", wrong, " of them are NaN or infinite");
    out += "\n";
  }
  return out;
}

}  // namespace

std::string tensors_json(std::span<const TensorFigures> all) {
  Json list = Json::array();
  for (const TensorFigures& figures : all) {
    const TensorInfo& tensor = *figures.tensor;
    Json shape = Json::array();
    for (uint32_t i = 0; i < tensor.n_dims; ++i) shape.push_back(tensor.dims[i]);
    Json& out = list.emplace_back(Json{{"name", tensor.name},
                                       {"type", tensor_type(tensor)},
                                       {"shape", std::move(shape)},
                                       {"bytes", tensor.bytes},
                                       {"offset", tensor.offset},
                                       {"computed", figures.statistics.has_value()}});
    if (!figures.statistics) continue;
    const TensorStatistics& each = *figures.statistics;
    out["elements"] = each.elements;
    out["nan"] = each.n_nan;
    out["infinite"] = each.n_infinite;
    out["zeros"] = each.n_zero;
    if (each.n_finite() == 0) continue;
    out["min"] = each.min;
    out["max"] = each.max;
    out["largest"] = each.largest;
    out["mean"] = each.mean;
    out["deviation"] = each.deviation;
    out["rms"] = each.rms;
    Json percentiles = Json::array();
    for (size_t i = 0; i < each.percentiles.size(); ++i)
      percentiles.push_back({TensorStatistics::kPercents[i], each.percentiles[i]});
    out["percentiles"] = std::move(percentiles);
    out["histogram"] = {{"low", each.low},
                        {"high", each.high},
                        {"below", each.below},
                        {"above", each.above},
                        {"bins", each.bins}};
  }
  return Json{{"tensors", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string tensors_text(std::span<const TensorFigures> all, uint64_t data, size_t width) {
  if (all.size() == 1) return one_tensor(all.front(), data, std::max<size_t>(width, 60));
  return tensor_table(all, std::max<size_t>(width, 60));
}

}  // namespace sluice::cli
