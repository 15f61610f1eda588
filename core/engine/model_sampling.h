// How a file recommends to sample its model (general.sampling.*).
#pragma once  // face

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "options/options.h"

namespace sluice {

struct ModelSampling {
  // The defaults, with the file's values in place of some of them. Whoever makes options for this
  // model begins with these; what a user sets goes before, one option at a time.
  GenerateOptions defaults;
  // The options that the file sets, by their names in options.json, with their values. Empty: it
  // recommends nothing.
  std::vector<std::pair<std::string_view, float>> given;
  // Values that no option may have: left out.
  Notes notes;
};

// Never fails. Other keys than those of options are left alone: mirostat and an order of samplers
// are none of ours.
ModelSampling read_model_sampling(const Gguf& header);

}  // namespace sluice
