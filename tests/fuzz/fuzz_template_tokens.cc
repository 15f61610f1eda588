// Fuzzes where the texts of templates come from: no text of the input becomes a control token.
// The input's bytes choose a template and an input of the grammar (template_truth.h).
#include <cstdio>
#include <cstdlib>

#include "template_truth.h"

namespace {

using namespace sluice;

TemplateTruth& truth() {
  static auto* const made = new TemplateTruth;
  return *made;
}

// Short runs, as of one input, tell nothing.
constexpr uint64_t kMany = 5000;

void end() {
  const TruthCounts& counts = truth().counts();
  std::fprintf(stderr, "%s\n", shown(counts).c_str());
  if (counts.runs < kMany || tell_something(counts)) return;
  std::fprintf(stderr, "these are too few to find anything\n");
  std::_Exit(1);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::atexit(end);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto wrong = truth().check({data, size});
  if (!wrong) return 0;
  std::fprintf(stderr, "%s\n", wrong->c_str());
  std::abort();
}
