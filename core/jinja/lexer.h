// Divides a template into tokens, with jinja2's rules for white space: trim_blocks and
// lstrip_blocks are on, "-" and "+" in tags are obeyed, a newline at the end of the template is
// dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice::jinja {

enum class LexemeType : uint8_t {
  data,  // text outside of tags
  block_begin,
  block_end,
  variable_begin,
  variable_end,
  name,
  text,
  integer,
  number,
  // clang-format off
  add, sub, mul, div, floordiv, mod, pow, tilde,
  eq, ne, lt, le, gt, ge,
  assign, dot, comma, colon, pipe, semicolon,
  lparen, lbracket, lbrace, rparen, rbracket, rbrace,
  // clang-format on
  end,
};

struct Lexeme {
  LexemeType type;
  uint32_t line;
  std::string_view text;  // as it is written
  Value value;            // of data, texts and numbers
};

template <>
inline constexpr bool kMovesAsBytes<Lexeme> = true;

// The template's text with newlines as jinja2 reads them.
std::string normalized_source(std::string_view source);

// The tokens, the last of which is LexemeType::end. They refer to `source`, which comes from
// normalized_source().
Result<Vector<Lexeme>> read_tokens(std::string_view source);

// "line 7 of the template: ...". What is found in the template stands behind the message.
Error template_error(uint32_t line, std::string_view message, std::string_view found = {},
                     const char* after = "");

}  // namespace sluice::jinja
