// How the positions of a Hugging Face model turn (RoPE), as keys and tensors of a GGUF file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/convert/conversion.h"

namespace sluice {

// How positions turn, as the config has it: rope_parameters (transformers 5), or rope_theta with
// rope_scaling. By kind of layer if it has full_attention and sliding_attention; then the scaling
// is that of full_attention.
struct HfRope {
  std::optional<double> theta;
  std::optional<double> local_theta;        // of sliding_attention, or rope_local_base_freq
  std::string type;                         // "default", "linear", "yarn", "llama3", "longrope", ..
  const nlohmann::json* scaling = nullptr;  // the object that has it; null: none
  std::optional<double> partial;            // partial_rotary_factor
};
HfRope read_rope_config(Conversion& c);
// Writes rope.scaling.* and rope.freq_base. `allowed`: the types beside default that the family may
// have, with spaces between them; others are refused. Gives the factors of each pair
// ("rope_freqs.weight") of llama3; nothing for others. Adds those of longrope.
std::vector<float> set_rope(Conversion& c, const HfRope& rope, const ModelSizes& sizes,
                            std::string_view allowed);

}  // namespace sluice
