#pragma once  // face

#include <cstdint>
#include <span>

namespace sluice {

// Bytes of the file that are needed, and where they go.
struct Want {
  uint64_t offset = 0;  // in the file
  std::span<uint8_t> place;
  uint64_t unit = 1;  // bytes that are packed together; divide a want between units
};

}  // namespace sluice
