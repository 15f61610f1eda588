// Unicode's normalization form C (UAX 15): characters with marks as single characters where there
// are such. Some vocabularies are made for texts in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class Nfc {
 public:
  struct Char {
    uint32_t code_point;
    uint32_t rank;  // of marks: they stand in its order; 0 for all others
  };

  // Unpacks the tables (about 40 KB).
  Nfc();
  // Appends to `out` the form C of the text's first `part` bytes or some more: up to a place where
  // what follows changes nothing before it. Returns how many bytes those are. Invalid bytes stay as
  // they are. `part` is 1 or more. The form may be longer than the text, up to three times; it has
  // a third of its bytes or more. More than 65,536 characters that depend on each other are
  // divided.
  size_t append(std::string_view text, size_t part, std::string& out) const;
  // Appends what a character is made of (its canonical decomposition), one character or more.
  void decompose(uint32_t code_point, std::vector<Char>& out) const;

 private:
  struct Row {
    uint32_t whole;
    uint32_t first;
    uint32_t second;  // 0: none
  };

  static uint64_t parts_of(const Row& row) { return uint64_t{row.first} << 32 | row.second; }
  static void sort_marks(std::span<Char> marks);
  uint32_t rank_of(uint32_t code_point) const;
  const Row* find(uint32_t code_point) const;
  uint32_t compose(uint32_t first, uint32_t second) const;
  bool may_follow(uint32_t code_point) const;
  void write(std::vector<Char>& chars, std::string& out) const;

  std::vector<uint32_t> ranks_;    // where each run of one rank starts: code point * 256 + rank
  std::vector<Row> rows_;          // by what decomposes
  std::vector<uint32_t> pairs_;    // rows that compose, by first and second
  std::vector<uint32_t> seconds_;  // of those, ascending
};

}  // namespace sluice
