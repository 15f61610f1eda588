// The parity checks as a wasm module without a test framework, for Node and the browser:
//   const module = await create(); const failures = module._run_parity();
// Prints a line for each failure and one for each table. Returns the number of failed comparisons,
// or -1 if nothing was compared.
#include <cstdio>

#include "parity.h"

extern "C" int run_parity() {
  int64_t failures = 0;
  int64_t comparisons = 0;
  for (const sluice::Kernels* kernels : sluice::all_kernels()) {
    sluice::parity::Report report;
    for (const sluice::parity::Check& check : sluice::parity::checks()) {
      check.run(*kernels, report);
    }
    for (const std::string& message : report.messages) {
      std::printf("%s: %s\n", kernels->name, message.c_str());
    }
    std::printf("%s: %d comparisons, %d failed\n", kernels->name,
                static_cast<int>(report.comparisons), static_cast<int>(report.failures));
    comparisons += report.comparisons;
    failures += report.failures;
  }
  return comparisons == 0 ? -1 : static_cast<int>(failures);
}
