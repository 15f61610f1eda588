// The replacement of characters by harmless ones of their class: letters by letters of the same
// case, signs by signs, of as many bytes. It is its own inverse, keeps what it is told to keep, and
// keeps the order of texts without the characters that only it makes (without_partners).
//
// A template does the same with replaced texts, character for character, if all characters are kept
// that it compares with, and all that its functions tell from others of their class.
#pragma once

#include <bitset>
#include <string>
#include <string_view>

namespace sluice {

// A set of characters: ASCII, then the others that can be replaced.
using Chars = std::bitset<160>;
Chars chars_of(std::string_view text);

class Harmless {
 public:
  // Keeps these, and with a letter its other case.
  explicit Harmless(const Chars& kept);
  std::string replace(std::string_view text) const;
  // Whether it keeps all of a text.
  bool keeps(std::string_view text) const { return replace(text) == text; }

 private:
  Chars kept_;
};

// The text without the characters that stand for others.
std::string without_partners(std::string_view text);

// What of it is no ASCII.
Chars replaced_wide();

}  // namespace sluice
