#include "base/xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {
namespace {

constexpr uint64_t kPrime1 = 0x9e3779b185ebca87u;
constexpr uint64_t kPrime2 = 0xc2b2ae3d27d4eb4fu;
constexpr uint64_t kPrime3 = 0x165667b19e3779f9u;
constexpr uint64_t kPrime4 = 0x85ebca77c2b2ae63u;
constexpr uint64_t kPrime5 = 0x27d4eb2f165667c5u;

template <typename T>
uint64_t load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

}  // namespace

void Xxh64::stripes(const uint8_t* bytes, size_t n) {
  uint64_t lanes[4];
  std::memcpy(lanes, lanes_, sizeof lanes);
  for (; n > 0; --n, bytes += kStripe) {
    for (size_t i = 0; i < 4; ++i) lanes[i] = round(lanes[i], load<uint64_t>(bytes + 8 * i));
  }
  std::memcpy(lanes_, lanes, sizeof lanes);
}

void Xxh64::update(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const auto held = static_cast<size_t>(total_ % kStripe);
  total_ += bytes.size();
  if (held > 0) {
    const size_t n = std::min(kStripe - held, bytes.size());
    std::memcpy(rest_ + held, bytes.data(), n);
    if (held + n < kStripe) return;
    stripes(rest_, 1);
    bytes = bytes.subspan(n);
  }
  stripes(bytes.data(), bytes.size() / kStripe);
  const auto rest = bytes.last(bytes.size() % kStripe);
  if (!rest.empty()) std::memcpy(rest_, rest.data(), rest.size());
}

uint64_t Xxh64::value() const {
  uint64_t hash = kPrime5;
  if (total_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += total_;
  const uint8_t* at = rest_;
  const uint8_t* const end = rest_ + total_ % kStripe;
  for (; at + 8 <= end; at += 8)
    hash = std::rotl(hash ^ round(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (at + 4 <= end) {
    hash = std::rotl(hash ^ load<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at) hash = std::rotl(hash ^ *at * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

uint64_t xxh64(std::span<const uint8_t> bytes) {
  Xxh64 hash;
  hash.update(bytes);
  return hash.value();
}

}  // namespace sluice
