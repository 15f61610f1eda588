// Classes of characters, as the pre-tokenizers tell them apart, and their case (Unicode 15.1).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

// The values are those of unicode_ranges.inc.
enum class CharClass : uint8_t {
  other = 0,        // symbols, controls, unassigned
  letter = 1,       // \p{L}
  number = 2,       // \p{N}
  punctuation = 3,  // \p{P}
  space = 4,        // \s: White_Space
  mark = 5,         // \p{M}
  end = 6,          // the end of the text, not a character
};

CharClass char_class(uint32_t code_point);
// The same as Hugging Face's WordPiece has it, whose tables are of Unicode 8: newer punctuation is
// `other`; `mark` is only what it drops as an accent (\p{Mn}), any other mark is `other`.
CharClass bert_class(uint32_t code_point);

// The small letter of a character, or the character itself. U+0130 is the only one with a small
// letter of two characters; it stays as it is.
uint32_t lower_case(uint32_t code_point);
// The large letter whose small one the character is, or the character itself.
uint32_t upper_case(uint32_t code_point);

// The first character of a text: code point, class and length in bytes. An invalid byte is a
// character of class `other`; an empty text has class `end` and length 0.
struct ClassifiedChar {
  uint32_t code_point;
  CharClass kind;
  uint8_t length;
};
ClassifiedChar classify_any(std::string_view text);

extern const std::array<CharClass, 128> kAsciiClasses;

// The same as classify_any(), inline for ASCII, since most characters are ASCII.
inline ClassifiedChar classify(std::string_view text) {
  if (text.empty() || static_cast<uint8_t>(text[0]) >= kAsciiClasses.size())
    return classify_any(text);
  const auto c = static_cast<uint8_t>(text[0]);
  return {c, kAsciiClasses[c], 1};
}

}  // namespace sluice
