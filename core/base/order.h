// Orders of things, by their indices.
//
// What is sorted rarely is sorted by one function, which calls `precedes` through a pointer: each
// std::sort with an order of its own would take 3 KB of a page's modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

namespace sluice {

// Sorts `indices` by precedes(context, a, b), a strict weak order. Equal ones have no fixed order.
void sort_indices(std::span<uint32_t> indices,
                  bool (*precedes)(const void* context, uint32_t a, uint32_t b),
                  const void* context);

// The same by precedes(a, b), for indices or ids of 32 bits with or without a sign.
template <typename Index, typename Precedes>
void sort_indices(std::vector<Index>& indices, const Precedes& precedes) {
  static_assert(std::is_integral_v<Index> && sizeof(Index) == sizeof(uint32_t));
  const auto call = [](const void* context, uint32_t a, uint32_t b) {
    return (*static_cast<const Precedes*>(context))(static_cast<Index>(a), static_cast<Index>(b));
  };
  sort_indices({reinterpret_cast<uint32_t*>(indices.data()), indices.size()}, call, &precedes);
}

// The indices [0, n), sorted in the same way. n is below 2^32.
template <typename Precedes>
std::vector<uint32_t> order_of(size_t n, const Precedes& precedes) {
  std::vector<uint32_t> indices(n);
  std::iota(indices.begin(), indices.end(), uint32_t{0});
  sort_indices(indices, precedes);
  return indices;
}

}  // namespace sluice
