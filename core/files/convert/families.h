// The classes of Hugging Face models that can be converted; the rows are in families.cc. Each
// family has a file of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/convert/conversion.h"
#include "quant/types.h"

namespace sluice {

// Sets a family's keys and adds its tensors, in the order in which a pass needs them. Problems go
// to `c.config`. `type`: what the file's matrices become.
using ConvertFamily = void(Conversion& c, Type type);

struct HfFamily {
  std::string_view class_name;    // "LlamaForCausalLM"
  std::string_view architecture;  // general.architecture
  ConvertFamily* convert;
  // Names of tensors may begin with one of these; the longest come first.
  std::vector<std::string> starts;
  // Names of other parts, of models that see and hear: these tensors are left out.
  std::vector<std::string_view> dropped;
};

// The family of a class; null: none.
const HfFamily* find_family(std::string_view class_name);
// All class names with commas between them, for messages.
std::string family_names();

}  // namespace sluice
