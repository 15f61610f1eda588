#include <iterator>

#include "quant/quant.h"

namespace sluice {
namespace {

constexpr bool numbered() {
  for (uint32_t i = 0; i < std::size(kTypes); ++i) {
    if (static_cast<uint32_t>(kTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(numbered(), "the rows of types.inc stand in the order of their numbers");

}  // namespace

const TypeTraits* find_traits(uint32_t type) {
  return type < std::size(kTypes) && kTypes[type].computed ? &kTypes[type] : nullptr;
}

const TypeTraits& traits(Type type) { return kTypes[static_cast<uint32_t>(type)]; }

FileType file_type(uint32_t type) {
  if (type >= std::size(kTypes)) return {nullptr, 0, 0};
  return {kTypes[type].name, kTypes[type].block, kTypes[type].block_bytes};
}

std::string computed_type_names() {
  std::string names;
  for (const TypeTraits& t : kTypes) {
    if (!t.computed) continue;
    if (!names.empty()) names += ", ";
    names += t.name;
  }
  return names;
}

}  // namespace sluice
