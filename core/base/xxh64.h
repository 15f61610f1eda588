// XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), with seed 0: a fast hash
// that finds damage. It doesn't stop anybody who changes bytes on purpose.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class Xxh64 {
 public:
  void update(std::span<const uint8_t> bytes);
  // Of all bytes so far. More may follow.
  uint64_t value() const;

 private:
  static constexpr size_t kStripe = 32;
  void stripes(const uint8_t* bytes, size_t n);

  uint64_t lanes_[4] = {0x60ea27eeadc0b5d6u, 0xc2b2ae3d27d4eb4fu, 0, 0x61c8864e7a143579u};
  uint64_t total_ = 0;
  uint8_t rest_[kStripe] = {};  // total_ % kStripe bytes that are in no lane yet
};

uint64_t xxh64(std::span<const uint8_t> bytes);

}  // namespace sluice
