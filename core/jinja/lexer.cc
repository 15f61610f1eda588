#include "jinja/lexer.h"

#include <algorithm>

#include "base/format.h"
#include "base/utf8.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

using enum LexemeType;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

struct Operator {
  const char* text;
  LexemeType type;
};
// Two characters come before one.
constexpr Operator kOperators[] = {
    {"//", floordiv}, {"**", pow},      {"==", eq},    {"!=", ne},    {">=", ge},    {"<=", le},
    {"+", add},       {"-", sub},       {"/", div},    {"*", mul},    {"%", mod},    {"~", tilde},
    {"[", lbracket},  {"]", rbracket},  {"(", lparen}, {")", rparen}, {"{", lbrace}, {"}", rbrace},
    {">", gt},        {"<", lt},        {"=", assign}, {".", dot},    {":", colon},  {"|", pipe},
    {",", comma},     {";", semicolon},
};

class Lexer {
 public:
  Lexer(std::string_view source, size_t max_tokens) : source_(source), max_tokens_(max_tokens) {}

  Result<Tokens> run() {
    while (at_ < source_.size() && error_.empty()) root();
    if (error_.empty()) push(end, {});
    if (!error_.empty()) return std::unexpected(template_error(line_, error_));
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }
  bool at(std::string_view text) const { return rest().starts_with(text); }

  Lexeme& push(LexemeType type, std::string_view text) {
    if (tokens_.list.size() >= max_tokens_) error_ = "the template is too large";
    tokens_.list.push_back({type, line_, text});
    return tokens_.list.back();
  }

  // Goes on, counting lines.
  void advance(size_t n) {
    const std::string_view passed = source_.substr(at_, n);
    line_ += static_cast<uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
    line_starts_ = passed.empty() ? line_starts_ : passed.back() == '\n';
  }

  void skip_space() { advance(rest().size() - strip(rest(), true, false).size()); }

  // The text before a tag, from here to `tag`. `sign` is what follows the tag's two characters.
  void text_before(size_t tag, char sign, bool variable) {
    std::string_view text = source_.substr(at_, tag - at_);
    std::string_view kept = text;
    if (sign == '-') {
      kept = strip(text, false, true);
    } else if (sign != '+' && !variable) {  // lstrip_blocks
      const size_t newline = text.rfind('\n');
      const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((start > 0 || line_starts_) && strip(text.substr(start), true, false).empty()) {
        kept = text.substr(0, start);
      }
    }
    if (!kept.empty()) push(data, kept);
    advance(text.size());
  }

  // The end of a tag, after its sign or none: `close` is "%}" or "#}". False if it isn't here.
  bool tag_end(std::string_view close, bool trim) {
    if (at(concat("-", close))) {
      advance(1 + close.size());
      skip_space();
    } else if (at(concat("+", close))) {
      advance(1 + close.size());
    } else if (at(close)) {
      advance(close.size());
      if (trim && at("\n")) advance(1);
    } else {
      return false;
    }
    return true;
  }

  // Text up to the next tag, and the tag.
  void root() {
    size_t tag = at_;
    char kind = 0;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 >= source_.size()) break;
      kind = source_[tag + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
    }
    if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
      push(data, rest());
      advance(rest().size());
      return;
    }
    char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (sign != '-' && sign != '+') sign = '\0';
    text_before(tag, sign, kind == '{');
    if (kind == '%' && raw()) return;
    const size_t opening = sign == '\0' ? 2 : 3;
    if (kind == '#') {
      advance(opening);
      comment();
      return;
    }
    push(kind == '%' ? block_begin : variable_begin, source_.substr(at_, 2));
    advance(opening);
    tag_tokens(kind == '%');
  }

  void comment() {
    size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) {
      error_ = "a comment has no end; #} is missing";
      return;
    }
    if (close > at_ && (source_[close - 1] == '-' || source_[close - 1] == '+')) --close;
    advance(close - at_);
    tag_end("#}", true);
  }

  // {% raw %}...{% endraw %}. False if the tag here is another one.
  bool raw() {
    const auto read_tag = [this](size_t place, std::string_view name) {
      size_t i = place + 2;
      if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) ++i;
      std::string_view inside = strip(source_.substr(i), true, false);
      if (!inside.starts_with(name)) return std::string_view::npos;
      inside = strip(inside.substr(name.size()), true, false);
      const bool ends = inside.starts_with("%}") || inside.starts_with("-%}") ||
                        (name == "endraw" && inside.starts_with("+%}"));
      return ends ? source_.size() - inside.size() : std::string_view::npos;
    };
    const size_t begin = read_tag(at_, "raw");
    if (begin == std::string_view::npos) return false;
    advance(begin - at_);
    tag_end("%}", false);
    for (size_t tag = at_; (tag = source_.find("{%", tag)) != std::string_view::npos; ++tag) {
      const size_t close = read_tag(tag, "endraw");
      if (close == std::string_view::npos) continue;
      const char sign = source_[tag + 2];
      text_before(tag, sign, false);
      advance(close - at_);
      tag_end("%}", true);
      return true;
    }
    error_ = "{% raw %} has no end; {% endraw %} is missing";
    return true;
  }

  // The tokens inside of {% %} or {{ }}.
  void tag_tokens(bool block) {
    std::string open;  // the closing brackets that are to come
    while (error_.empty()) {
      skip_space();
      if (at_ >= source_.size()) {
        error_ = concat("the template ends inside of a tag; ", block ? "%}" : "}}", " is missing");
        return;
      }
      if (open.empty()) {
        const size_t start = at_;
        const uint32_t line = line_;
        if (block && tag_end("%}", true)) {
          tokens_.list.push_back({block_end, line, source_.substr(start, 2)});
          return;
        }
        if (!block && (at("}}") || at("-}}"))) {
          push(variable_end, "}}");
          tag_end("}}", false);
          return;
        }
      }
      const char c = source_[at_];
      if (is_digit(c)) {
        digits();
      } else if (begins_name(c)) {
        size_t n = 1;
        while (at_ + n < source_.size() &&
               (begins_name(source_[at_ + n]) || is_digit(source_[at_ + n]))) {
          ++n;
        }
        push(name, source_.substr(at_, n));
        advance(n);
      } else if (c == '"' || c == '\'') {
        quoted(c);
      } else {
        operator_sign(open);
      }
    }
  }

  void operator_sign(std::string& open) {
    for (const Operator& candidate : kOperators) {
      const std::string_view text = candidate.text;
      if (!at(text)) continue;
      const char c = text[0];
      if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      if (c == ')' || c == ']' || c == '}') {
        if (open.empty() || open.back() != c) {
          error_ = concat("unexpected '", text, "'");
          return;
        }
        open.pop_back();
      }
      push(candidate.type, source_.substr(at_, text.size()));
      advance(text.size());
      return;
    }
    error_ = concat("unexpected character '", printable(rest().substr(0, char_bytes(rest()))), "'");
  }

  size_t digits_end(size_t i) const {
    while (i < source_.size() && is_digit(source_[i])) ++i;
    return i;
  }

  void digits() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const size_t whole = digits_end(at_);
    size_t stop = whole;
    const auto digit_at = [this](size_t i) { return i < source_.size() && is_digit(source_[i]); };
    if (!after_dot) {
      if (stop < source_.size() && source_[stop] == '.' && digit_at(stop + 1))
        stop = digits_end(stop + 1);
      if (stop < source_.size() && (source_[stop] | 32) == 'e') {
        const bool sign =
            stop + 1 < source_.size() && (source_[stop + 1] == '+' || source_[stop + 1] == '-');
        const size_t exponent = stop + (sign ? 2 : 1);
        if (digit_at(exponent)) stop = digits_end(exponent);
      }
    }
    const std::string_view written = source_.substr(at_, stop - at_);
    if (stop != whole) {
      push(number, {}).number = parse_float(written).value_or(0);
    } else if (const auto value = parse_int(written)) {
      push(integer, {}).integer = *value;
    } else {
      error_ = concat("the number ", printable(written, 40), " does not fit into 64 bits");
      return;
    }
    advance(written.size());
  }

  void quoted(char quote) {
    size_t stop = at_ + 1;
    bool escapes = false;
    while (stop < source_.size() && source_[stop] != quote) {
      if (source_[stop] == '\\') {
        escapes = true;
        ++stop;
      }
      ++stop;
    }
    if (stop >= source_.size()) {
      error_ = concat("a text has no end; ", std::string_view(&quote, 1), " is missing");
      return;
    }
    std::string_view content = source_.substr(at_ + 1, stop - at_ - 1);
    if (escapes) {
      tokens_.texts.push_back(std::make_unique<std::string>(unescape(content)));
      content = *tokens_.texts.back();
    }
    push(text, content);
    advance(stop + 1 - at_);
  }

  // Reads up to `most` digits of a base. False if there are fewer than `least`.
  static bool read_code(std::string_view& text, size_t least, size_t most, int base,
                        uint32_t& code) {
    size_t n = 0;
    code = 0;
    for (; n < most && n < text.size(); ++n) {
      const char c = text[n];
      const int digit = is_digit(c)                          ? c - '0'
                        : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                             : 99;
      if (digit >= base) break;
      code = code * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    }
    text.remove_prefix(n);
    return n >= least;
  }

  // Python's escapes. Half of a surrogate pair becomes U+FFFD, because our texts are UTF-8.
  std::string unescape(std::string_view content) {
    std::string out;
    while (!content.empty()) {
      const char c = content[0];
      content.remove_prefix(1);
      if (c != '\\' || content.empty()) {
        out += c;
        continue;
      }
      const char escaped = content[0];
      constexpr std::string_view kNames = "abfnrtv\\'\"";
      constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\'\"";
      uint32_t code = 0;
      if (const size_t place = kNames.find(escaped); place != std::string_view::npos) {
        out += kMeant[place];
        content.remove_prefix(1);
      } else if (escaped == '\n') {
        content.remove_prefix(1);
      } else if (escaped >= '0' && escaped <= '7') {
        read_code(content, 1, 3, 8, code);
        utf8_append(out, code);
      } else if (escaped == 'x' || escaped == 'u' || escaped == 'U') {
        const size_t n = escaped == 'x' ? 2 : escaped == 'u' ? 4 : 8;
        content.remove_prefix(1);
        if (!read_code(content, n, n, 16, code) || code > 0x10ffff) {
          error_ = "a text has an escape that is cut short or too large";
          return out;
        }
        utf8_append(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
      } else if (escaped == 'N') {
        error_ = "characters by name (\\N{...}) are not supported";
        return out;
      } else {
        out += '\\';
      }
    }
    return out;
  }

  std::string_view source_;
  size_t max_tokens_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_starts_ = true;  // whether what was read last ends with a newline
  Tokens tokens_;
  std::string error_;
};

}  // namespace

std::string normalized_source(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] != '\r') {
      out += source[at];
    } else if (at + 1 == source.size() || source[at + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return utf8_sanitize(out);
}

Result<Tokens> read_tokens(std::string_view source, size_t max_tokens) {
  return Lexer(source, max_tokens).run();
}

Error template_error(uint32_t line, std::string_view message) {
  return {Code::invalid_argument,
          concat("line ", line, " of the template: ", printable(message, 2000))};
}

}  // namespace sluice::jinja
