#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"

namespace sluice {
namespace {

constexpr uint32_t kRanges[] = {
#include "text/unicode_ranges.inc"
};

}  // namespace

constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  size_t range = 0;
  for (uint32_t c = 0; c < classes.size(); ++c) {
    while (kRanges[range + 1] / 8 <= c) ++range;
    classes[c] = static_cast<CharClass>(kRanges[range] % 8);
  }
  return classes;
}();

CharClass char_class(uint32_t code_point) {
  if (code_point < kAsciiClasses.size()) return kAsciiClasses[code_point];
  // Finds the last range that starts at or before the character. (The low 3 bits are the class.)
  const auto after = std::upper_bound(std::begin(kRanges), std::end(kRanges), code_point * 8 + 7);
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
