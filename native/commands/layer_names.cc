#include "commands/layer_names.h"

#include "app/text.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

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

}  // namespace

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

std::string layers_text(const std::vector<uint64_t>& layers) {
  constexpr size_t kColumns = 80, kIndent = 6;
  std::string out;
  for (const std::string& line :
       wrapped((layers.size() == 1 ? "in layer " : "in layers ") + layer_ranges(layers),
               kColumns - kIndent))
    out += std::string(kIndent, ' ') + line + "\n";
  return out;
}

}  // namespace sluice::cli
