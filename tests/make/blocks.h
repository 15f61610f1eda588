// Lists of the types in quant/types.inc, and helpers to fill blocks of any type.
#pragma once

#include <cstring>
#include <vector>

#include "quant/quant.h"

namespace sluice {

// The types that we compute: those that match, all, integer types, float types.
inline std::vector<Type> types_where(bool (*wanted)(const TypeTraits&)) {
  std::vector<Type> types;
  for (const TypeTraits& t : kTypes) {
    if (t.computed && wanted(t)) types.push_back(t.type);
  }
  return types;
}
inline std::vector<Type> every_type() {
  return types_where([](const TypeTraits&) { return true; });
}
inline std::vector<Type> integer_types() {
  return types_where([](const TypeTraits& t) { return t.group != 0; });
}
inline std::vector<Type> float_types() {
  return types_where([](const TypeTraits& t) { return t.group == 0; });
}

// The offsets in a block of the numbers that may be NaN or infinite, and the size of each.
inline std::vector<size_t> places_of_floats(const TypeTraits& t) {
  if (t.group == 0) return {0};
  if (!t.has_min) return {static_cast<size_t>(t.d)};
  return {static_cast<size_t>(t.d), static_cast<size_t>(t.min)};
}
inline size_t float_bytes(const TypeTraits& t) { return t.floats == FloatKind::f32 ? 4 : 2; }
// The bits of infinity in these numbers.
inline uint32_t infinity_bits(const TypeTraits& t) {
  return t.floats == FloatKind::f32 ? 0x7f800000u : t.floats == FloatKind::bf16 ? 0x7f80u : 0x7c00u;
}

// Writes make() as the bits of each of these numbers in `bytes` bytes of blocks.
template <typename Make>
void set_floats(const TypeTraits& t, uint8_t* blocks, size_t bytes, const Make& make) {
  for (size_t at = 0; at + t.block_bytes <= bytes; at += t.block_bytes) {
    for (const size_t place : places_of_floats(t)) {
      const uint32_t bits = make();
      std::memcpy(blocks + at + place, &bits, float_bytes(t));
    }
  }
}

}  // namespace sluice
