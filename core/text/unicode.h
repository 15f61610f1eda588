// Which class a character has, as far as pre-tokenizers care (Unicode 15.1).
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

// The values are those of unicode_ranges.inc.
enum class CharClass : uint8_t {
  other = 0,        // marks, symbols, controls, unassigned
  letter = 1,       // \p{L}
  number = 2,       // \p{N}
  punctuation = 3,  // \p{P}
  space = 4,        // \s: White_Space
  end = 5,          // no character: the end of the text
};

CharClass char_class(uint32_t code_point);

// The character at the start of a text: code point, class and length in bytes. An invalid byte is
// one character of class `other`; an empty text gives class `end`, length 0.
struct ClassifiedChar {
  uint32_t code_point;
  CharClass kind;
  uint8_t length;
};
ClassifiedChar classify(std::string_view text);

}  // namespace sluice
