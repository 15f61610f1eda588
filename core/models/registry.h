// The architectures that we compute, one row each.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/model.h"

namespace sluice {

// How families of one structure differ where no key of the file says so.
struct Variant {
  RopePairs rope_pairs = RopePairs::halves;
  bool qk_norm = false;  // RMS norm of each q and k head, before RoPE
};

// Reads the numbers and finds every tensor of a family's file, all checked; no weights are read.
// bad_file, unsupported_type; unsupported_model for what we would compute wrongly.
using MakeModel = Result<std::unique_ptr<Model>>(const Gguf& gguf, const Config& config,
                                                 const Variant& variant);

struct Family {
  std::string_view architecture;  // general.architecture
  MakeModel* make;
  Variant variant;
};

// The model of a file, as MakeModel says; unsupported_model, naming those that there are, for an
// architecture that isn't in the list; invalid_argument for a cut that can't be.
Result<std::unique_ptr<Model>> make_model(const Gguf& gguf, const Cut& cut = {});

}  // namespace sluice
