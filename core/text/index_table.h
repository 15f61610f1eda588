// A hash table of indexes into arrays of the caller, with open addressing and four bytes per slot.
// It doesn't hold keys: callers give a hash and a function that tells whether an index matches.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace sluice {

class IndexTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Empties the table and makes room for so many entries.
  void reset(size_t entries) { slots_.assign(std::bit_ceil(entries * 2 + 2), kNone); }

  // Of the indexes inserted with `hash`, the one for which matches(index) is true, or kNone.
  template <typename Matches>
  uint32_t find(uint64_t hash, Matches matches) const {
    if (slots_.empty()) return kNone;
    return slots_[slot(hash, matches)];
  }

  // Inserts `index` unless one that matches is there. Returns that one, or kNone if it inserted.
  template <typename Matches>
  uint32_t insert(uint64_t hash, uint32_t index, Matches matches) {
    uint32_t& place = slots_[slot(hash, matches)];
    if (place != kNone) return place;
    place = index;
    return kNone;
  }

 private:
  template <typename Matches>
  size_t slot(uint64_t hash, Matches matches) const {
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(hash ^ hash >> 32) & mask;
    while (slots_[at] != kNone && !matches(slots_[at])) at = (at + 1) & mask;
    return at;
  }

  std::vector<uint32_t> slots_;
};

inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

inline uint64_t hash_text(std::string_view text) {
  uint64_t hash = text.size();
  uint64_t word = 0;
  while (text.size() >= sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
    hash = hash_mix(hash, word);
    text.remove_prefix(sizeof word);
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  return hash_mix(hash_mix(hash, word), 0);
}

}  // namespace sluice
