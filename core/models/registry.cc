#include "models/registry.h"

namespace sluice {
namespace {

constexpr Family kFamilies[] = {
    {"llama", RopePairs::adjacent, false},
    {"qwen2", RopePairs::halves, false},
    {"qwen3", RopePairs::halves, true},
};

}  // namespace

const Family* find_family(std::string_view architecture) {
  for (const Family& family : kFamilies) {
    if (family.architecture == architecture) return &family;
  }
  return nullptr;
}

std::string_view family_names() { return "llama, qwen2, qwen3"; }

}  // namespace sluice
