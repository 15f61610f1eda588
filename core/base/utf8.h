// Reading and writing UTF-8 (RFC 3629): overlong forms, surrogates and values past 10FFFF are
// invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// One character at the start of a text. Invalid input: valid = false, length = 1 and code_point is
// the byte itself, so a loop over any bytes always moves on.
struct Utf8Char {
  uint32_t code_point;
  uint8_t length;  // bytes used, 1..4 (0 only for an empty text)
  bool valid;
};

Utf8Char utf8_decode(std::string_view text);

void utf8_append(std::string& out, uint32_t code_point);

// How many bytes at the end of `text` are the beginning of a character that later bytes may
// complete: 0..3.
size_t utf8_incomplete_tail(std::string_view text);

// The text with every invalid byte replaced by U+FFFD.
std::string utf8_sanitize(std::string_view text);

}  // namespace sluice
