// Folds weights for the tests: multiplies them by a Hadamard transform (core/ops/hadamard.h), as
// converters of such files do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_builder.h"

namespace sluice {

inline constexpr uint32_t kFoldBlock = 32;

// What a file's keys prism.hadamard.* say.
struct Folded {
  std::vector<std::string> names;  // of matrices
  std::vector<uint32_t> widths;    // of their rows and of the embedding's
  bool signs = true;               // explicit; else all are 1
  bool narrow = false;             // signs are i8, not i32
  bool tied = false;               // version 2
};

// Writes the keys, with the embedding among the inverse names and the signs of fold_signs().
void add_fold_keys(GgufBuilder& file, const Folded& folded);
// The signs of rows of a width.
std::vector<int32_t> fold_signs(uint32_t width);
// Multiplies rows of a width by signs, if these count, and by the transform.
void fold_rows(std::span<float> rows, uint32_t width, bool signs);

}  // namespace sluice
