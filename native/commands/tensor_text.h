// Statistics of tensors as text and as JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "files/statistics.h"
#include "gguf/gguf.h"

namespace sluice::cli {

struct TensorFigures {
  const TensorInfo* tensor = nullptr;
  std::optional<TensorStatistics> statistics;  // nothing: its type isn't computed here
};

// {"tensors":[..]}, one object a tensor.
std::string tensors_json(std::span<const TensorFigures> all);
// One tensor with all figures and a histogram, in `width` columns, at least 60; several as a table.
// `data`: where the tensors' data begins in the file.
std::string tensors_text(std::span<const TensorFigures> all, uint64_t data, size_t width);

}  // namespace sluice::cli
