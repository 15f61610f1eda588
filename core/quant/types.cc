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
static_assert(numbered(), "the rows of types.inc must be in the order of their numbers");

// Unpacking and the kernels rely on this.
constexpr bool sound(const TypeTraits& t, const Plane& plane) {
  if (plane.bits == 0) return true;
  if (plane.run == 1) return plane.at + 4u <= t.block_bytes;  // read as whole words
  return plane.run > 0 && plane.run % 4 == 0;
}
constexpr bool sound() {
  for (const TypeTraits& t : kTypes) {
    if (t.group == 0) continue;
    for (const Plane& plane : {t.low, t.high, t.scales.low, t.scales.high}) {
      if (!sound(t, plane)) return false;
    }
    if (t.group != 16 && t.group != 32) return false;
    if (t.block % 32 != 0 || 256 % t.block != 0) return false;
    if ((t.block_bytes - static_cast<uint32_t>(2 * t.halves)) % 4 != 0) return false;
    if (t.has_min && t.codebook != nullptr) return false;
  }
  return true;
}
static_assert(sound(), "a row of types.inc breaks a rule of types.h");

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
