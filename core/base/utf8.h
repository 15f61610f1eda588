// Reads and writes UTF-8 (RFC 3629). Overlong forms, surrogates and values above 10FFFF are
// invalid.
#pragma once  // face

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// The character at the start of a text. If it is invalid, valid is false, length is 1 and
// code_point is the byte, so a loop over any bytes moves on.
struct Utf8Char {
  uint32_t code_point;
  uint8_t length;  // in bytes, 1..4; 0 only for an empty text
  bool valid;
};

Utf8Char utf8_decode(std::string_view text);

void utf8_append(std::string& out, uint32_t code_point);

// How many bytes at the end of `text`, 0..3, begin a character that later bytes may complete.
size_t utf8_incomplete_tail(std::string_view text);

// Returns the text with every invalid byte replaced by U+FFFD.
std::string utf8_sanitize(std::string_view text);

}  // namespace sluice
