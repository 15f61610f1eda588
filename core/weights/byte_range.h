#pragma once  // inside

#include <cstdint>

namespace sluice {

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // exclusive
  uint64_t size() const { return end - begin; }
};

}  // namespace sluice
