// What sluice diff prints for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "files/compare.h"
#include "gguf/gguf.h"

namespace sluice::cli {

struct Difference {
  const Gguf& a;
  const Gguf& b;
  std::vector<FieldDifference> fields;
  TensorComparison tensors;

  // How many keys count that both have with the same value.
  uint64_t n_equal_fields() const;
  bool none() const { return fields.empty() && tensors.different.empty(); }
};

// All of it is the caller's.
struct DiffReport {
  const std::string &a, &b;  // the names of the files
  const Difference& difference;
  bool all = false;  // each tensor by itself, and what is equal
};

// Fields, tensors, and the errors by type, in about `width` columns (80 at least).
std::string diff_text(const DiffReport& report, size_t width);

}  // namespace sluice::cli
