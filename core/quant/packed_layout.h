#pragma once  // face

#include <cstdint>

namespace sluice {

// The number of the layout of packed weights (quant/matrix.h). They are kept on disk with it:
// another layout needs another number.
inline constexpr uint32_t kPackedLayout = 1;

}  // namespace sluice
