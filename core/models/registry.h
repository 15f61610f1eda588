// The list of architectures that Sluice computes; its rows are in registry.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pass/model.h"

namespace sluice {

// Whether all layers of a family's models are mixtures of experts: of some if the header has
// expert_count.
enum class WithExperts : uint8_t { never, sometimes, always };

// BERT and what was made of it (bert.cc).
enum class BertForm : uint8_t { plain, nomic, modern };

// The differences between families of one structure that no key of the file gives.
struct Variant {
  RopePairs rope_pairs = RopePairs::halves;
  bool qk_norm = false;  // RMS norm of each q and k head, before RoPE
  Biases qkv_biases = Biases::optional;
  WithExperts experts = WithExperts::never;
  BertForm bert = BertForm::plain;
};

// Whether the layers of a family's models see only what was before, or both ways; attention.causal
// must agree. `either`: that key says which.
enum class Sight : uint8_t { back, both_ways, either };

// Makes a model of a family's header, divided by `cut`: reads the numbers, finds every tensor, and
// checks them. Reads no weights. Fails with bad_file, unsupported_type, or unsupported_model for a
// model that would be computed wrongly.
using MakeModel = Result<std::unique_ptr<Model>>(const Gguf& gguf, const Config& config,
                                                 const Cut& cut, const Variant& variant);

struct Family {
  std::string_view architecture;  // general.architecture
  MakeModel* make;
  Variant variant;
  Sight sight = Sight::back;
};

// Makes the model of a file. Fails as MakeModel does, with unsupported_model for an architecture
// that is not in the list (the message names those in it), and with invalid_argument for a cut that
// the model doesn't allow.
Result<std::unique_ptr<Model>> make_model(const Gguf& gguf, const Cut& cut = {});

}  // namespace sluice
