// Bytes as decisions: a fuzzer's input, or what a seed gives, chooses what is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // A number below n. Behind the last byte it is 0, so that what is made ends there.
  size_t below(size_t n) {
    if (n <= 1 || at_ >= bytes_.size()) return 0;
    size_t value = bytes_[at_++];
    if (n > 256 && at_ < bytes_.size()) value = value << 8 | bytes_[at_++];
    return value % n;
  }
  // True in `of` of 16 cases; false behind the last byte.
  bool sometimes(size_t of) { return !ended() && below(16) < of; }
  template <typename List>
  const auto& pick(const List& list) {
    return list[below(std::size(list))];
  }
  bool ended() const { return at_ >= bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

// The bytes of a seed.
inline std::vector<uint8_t> bytes_of_seed(uint64_t seed, size_t count) {
  std::vector<uint8_t> bytes(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<uint8_t>(state >> 32);
  }
  return bytes;
}

}  // namespace sluice
