// The architectures that we compute, one row each: how a family differs is data (models/config.h).
#pragma once

#include <string_view>

#include "models/config.h"

namespace sluice {

struct Family {
  std::string_view architecture;  // general.architecture, also the prefix of its keys
  RopePairs rope_pairs;
  bool qk_norm;
};

// Null for an architecture that we don't know.
const Family* find_family(std::string_view architecture);
// "llama, qwen2, qwen3": for messages.
std::string_view family_names();

}  // namespace sluice
