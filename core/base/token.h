#pragma once  // face

#include <cstdint>

namespace sluice {

// An index into a model's vocabulary.
using TokenId = int32_t;
inline constexpr TokenId kNoToken = -1;

}  // namespace sluice
