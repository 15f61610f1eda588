// Texts for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/token.h"

namespace sluice {
class Tokenizer;
}

namespace sluice::cli {

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);
// A text in quotes, with escapes for invisible characters and invalid UTF-8. One of more than 80
// bytes is cut.
std::string text_in_quotes(std::string_view text);
// A word of a command to be typed: in a shell's quotes if it needs them. `word` is printable().
std::string shell_word(std::string_view word);
// The text of a token in quotes, with escapes for invisible characters and invalid UTF-8. For a
// control token, which has no text, its name.
std::string readable(const Tokenizer& tokenizer, TokenId id);
// Divides a text between words into lines of at most `width` bytes. A longer word is a line by
// itself.
std::vector<std::string> wrapped(const std::string& text, size_t width);

}  // namespace sluice::cli
