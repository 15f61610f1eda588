// What tests make of the rows of quant/types.inc: lists of types, and blocks of any of them.
#pragma once

#include <cstring>
#include <vector>

#include "quant/quant.h"

namespace sluice {

// The types that we compute with; those of integers; those of floats.
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

// Where the numbers of a block stand that may be NaN or infinite, and how many bytes they take.
inline std::vector<size_t> places_of_floats(const TypeTraits& t) {
  if (t.group == 0) return {0};
  if (!t.has_min) return {static_cast<size_t>(t.d)};
  return {static_cast<size_t>(t.d), static_cast<size_t>(t.min)};
}
inline size_t float_bytes(const TypeTraits& t) { return t.floats == FloatKind::f32 ? 4 : 2; }
// The bits of infinity in such a number.
inline uint32_t infinity_bits(const TypeTraits& t) {
  return t.floats == FloatKind::f32 ? 0x7f800000u : t.floats == FloatKind::bf16 ? 0x7f80u : 0x7c00u;
}

// make() as the bits of every such number of `bytes` bytes of blocks.
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
