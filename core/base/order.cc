#include "base/order.h"

#include <algorithm>

namespace sluice {

void sort_indices(std::span<uint32_t> indices,
                  bool (*precedes)(const void* context, uint32_t a, uint32_t b),
                  const void* context) {
  const auto call = [=](uint32_t a, uint32_t b) { return precedes(context, a, b); };
  if (std::is_sorted(indices.begin(), indices.end(), call)) return;  // as the tensors of most files
  std::sort(indices.begin(), indices.end(), call);
}

}  // namespace sluice
