// Divides a template into tokens, with jinja2's rules for white space: trim_blocks and
// lstrip_blocks are on, "-" and "+" in tags are obeyed, a newline at the end of the template is
// dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/vector.h"

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
  lparen, rparen, lbracket, rbracket, lbrace, rbrace,
  // clang-format on
  end,
};

struct Lexeme {
  LexemeType type = LexemeType::end;
  uint32_t line = 1;
  std::string_view text;  // data, a name, the content of a text, an operator as it is written
  int64_t integer = 0;
  double number = 0;
};

// The template's text with newlines as jinja2 reads them.
std::string normalized_source(std::string_view source);

struct Tokens {
  Vector<Lexeme> list{nullptr};                         // ends with LexemeType::end
  Vector<std::unique_ptr<std::string>> texts{nullptr};  // of literals with escapes
};

// The tokens refer to `source`, which comes from normalized_source().
Result<Tokens> read_tokens(std::string_view source, size_t max_tokens);

// "line 7 of the template: ..."
Error template_error(uint32_t line, std::string_view message);

}  // namespace sluice::jinja
