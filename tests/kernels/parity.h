// Compares every kernel of a table, bit for bit, with scalar definitions written from kernels.h and
// quant.h. It needs no test framework, so that the checks run under GoogleTest and in wasm.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace sluice::parity {

// Counts comparisons, and keeps messages about the first few that failed.
class Report {
 public:
  // Compares n floats bit by bit. `what` names the case.
  void equal(const std::string& what, const float* got, const float* want, int64_t n);
  // Compares n bytes.
  void equal_bytes(const std::string& what, const void* got, const void* want, size_t n);

  int64_t comparisons = 0;
  int64_t failures = 0;
  std::vector<std::string> messages;
};

struct Check {
  const char* name;
  void (*run)(const Kernels& kernels, Report& report);
};
const std::vector<Check>& checks();

}  // namespace sluice::parity
