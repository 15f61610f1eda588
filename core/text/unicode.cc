#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"
#include "text/leb128.h"

namespace sluice {
namespace {

#include "text/unicode_ranges.inc"

// A run of characters of one class: where it starts, times 8, and the class.
constexpr uint32_t next_run(const uint8_t*& at, uint32_t last) {
  return (last & ~7u) + read_leb128(at);
}

// All runs, ascending. They are written in fewer bytes than they have here.
std::array<uint32_t, kRuns> read_runs() {
  std::array<uint32_t, kRuns> runs;
  const uint8_t* at = kClasses;
  uint32_t last = 0;
  for (uint32_t& run : runs) run = last = next_run(at, last);
  return runs;
}

}  // namespace

constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  const uint8_t* at = kClasses;
  uint32_t run = 0, next = next_run(at, 0);
  for (uint32_t c = 0; c < classes.size(); ++c) {
    for (; next / 8 <= c; next = next_run(at, run)) run = next;
    classes[c] = static_cast<CharClass>(run % 8);
  }
  return classes;
}();

CharClass char_class(uint32_t code_point) {
  if (code_point < kAsciiClasses.size()) return kAsciiClasses[code_point];
  static const std::array<uint32_t, kRuns> runs = read_runs();
  // Finds the last run that starts at or before the character. (The low 3 bits are the class.)
  const auto after = std::upper_bound(runs.begin(), runs.end(), code_point * 8 + 7);
  return static_cast<CharClass>(*std::prev(after) % 8);
}

ClassifiedChar classify_any(std::string_view text) {
  if (text.empty()) return {0, CharClass::end, 0};
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < kAsciiClasses.size()) return {first, kAsciiClasses[first], 1};
  const Utf8Char c = utf8_decode(text);
  return {c.code_point, c.valid ? char_class(c.code_point) : CharClass::other, c.length};
}

}  // namespace sluice
