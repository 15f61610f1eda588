#include "fold.h"

#include <bit>
#include <cmath>
#include <string>

namespace sluice {

std::vector<int32_t> fold_signs(uint32_t width) {
  std::vector<int32_t> signs;
  uint32_t state = width;
  for (uint32_t i = 0; i < width; ++i) {
    state = state * 1664525 + 1013904223;
    signs.push_back(state >> 31 != 0 ? -1 : 1);
  }
  return signs;
}

void fold_rows(std::span<float> rows, uint32_t width, bool signs) {
  const std::vector<int32_t> of = fold_signs(width);
  const double factor = 1 / std::sqrt(static_cast<double>(kFoldBlock));
  for (size_t first = 0; first < rows.size(); first += kFoldBlock) {
    double block[kFoldBlock];
    for (size_t i = 0; i < kFoldBlock; ++i)
      block[i] = double{rows[first + i]} * (signs ? of[(first + i) % width] : 1);
    for (uint32_t r = 0; r < kFoldBlock; ++r) {
      double sum = 0;
      for (uint32_t c = 0; c < kFoldBlock; ++c)
        sum += std::popcount(r & c) % 2 == 0 ? block[c] : -block[c];
      rows[first + r] = static_cast<float>(sum * factor);
    }
  }
}

void add_fold_keys(GgufBuilder& file, const Folded& folded) {
  const std::string prefix = "prism.hadamard.";
  file.kv_u32(prefix + "version", folded.tied ? 2 : 1)
      .kv_u32(prefix + "block_size", kFoldBlock)
      .kv_string(prefix + "transform", "normalized-sylvester-walsh-hadamard")
      .kv_string(prefix + "axis", "input-last-dimension")
      .kv_string(prefix + "sign_mode", folded.signs ? "explicit" : "identity")
      .kv_strings(prefix + "weight_names", folded.names)
      .kv_strings(prefix + "inverse_weight_names", {"token_embd.weight"});
  if (folded.tied) file.kv_bool(prefix + "tied_output", true);
  if (!folded.signs) return;
  std::vector<int32_t> widths, values;
  for (const uint32_t width : folded.widths) {
    widths.push_back(static_cast<int32_t>(width));
    for (const int32_t sign : fold_signs(width)) values.push_back(sign);
  }
  file.kv_array(prefix + "sign_widths", ValueType::i32, widths);
  if (folded.narrow)
    file.kv_array(prefix + "sign_values", ValueType::i8,
                  std::vector<int8_t>(values.begin(), values.end()));
  else
    file.kv_array(prefix + "sign_values", ValueType::i32, values);
}

}  // namespace sluice
