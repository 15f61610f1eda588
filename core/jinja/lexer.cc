#include "jinja/lexer.h"

#include <algorithm>

#include "base/format.h"
#include "base/utf8.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

bool begins_name(char c) {
  return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || (c & 0x80) != 0;
}

bool is_sign(char c) { return c == '-' || c == '+'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<Vector<Lexeme>> run() {
    while (at_ < source_.size() && !failed_) root();
    if (failed_) return std::unexpected(std::move(error_));
    push(end, {});
    return std::move(tokens_);
  }

 private:
  using enum LexemeType;

  struct Operator {
    char text[3];
    LexemeType type;
  };
  // Two characters come before one.
  static constexpr Operator kOperators[] = {
      {"//", floordiv}, {"**", pow},   {"==", eq},      {"!=", ne},      {">=", ge},
      {"<=", le},       {"+", add},    {"-", sub},      {"/", div},      {"*", mul},
      {"%", mod},       {"~", tilde},  {"[", lbracket}, {"]", rbracket}, {"(", lparen},
      {")", rparen},    {"{", lbrace}, {"}", rbrace},   {">", gt},       {"<", lt},
      {"=", assign},    {".", dot},    {":", colon},    {"|", pipe},     {",", comma},
      {";", semicolon},
  };

  char look(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }
  std::string_view rest() const { return source_.substr(at_); }
  size_t past_sign(size_t i) const { return i + (is_sign(look(i)) ? 1 : 0); }

  Lexeme& push(LexemeType type, std::string_view written) {
    tokens_.push_back({type, line_, written, {}});
    return tokens_.back();
  }
  // A token of the next `n` bytes.
  Lexeme& take(LexemeType type, size_t n) {
    Lexeme& token = push(type, source_.substr(at_, n));
    advance(n);
    return token;
  }
  void fail(const char* message, std::string_view found = {}, const char* after = "") {
    failed_ = true;
    error_ = template_error(line_, message, found, after);
  }

  // Goes on, counting lines.
  void advance(size_t n) {
    const std::string_view passed = source_.substr(at_, n);
    line_ += static_cast<uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
    line_starts_ = passed.empty() ? line_starts_ : passed.back() == '\n';
  }

  void skip_space() { advance(rest().size() - strip(rest(), true, false).size()); }

  // The text from here to `tag`, whose sign says what white space stays. `lstrip`: without a sign,
  // what is before the tag on its line goes if it is white space.
  void text_before(size_t tag, bool lstrip) {
    const std::string_view before = source_.substr(at_, tag - at_);
    std::string_view kept = before;
    if (look(tag + 2) == '-') {
      kept = strip(before, false, true);
    } else if (look(tag + 2) != '+' && lstrip) {
      const size_t start = before.rfind('\n') + 1;  // 0 if there is none
      if ((start > 0 || line_starts_) && strip(before.substr(start), true, false).empty()) {
        kept = before.substr(0, start);
      }
    }
    if (!kept.empty()) push(data, kept).value = Value::text(std::string(kept));
    advance(before.size());
  }

  // The bytes of a tag's end at this place, with its sign; 0 if there is none. Only an end that
  // trims (the newline behind it goes) may have a "+", which is against that.
  size_t end_bytes(size_t place, std::string_view close, bool trims) const {
    const char sign = look(place);
    const size_t n = close.size() + (sign == '-' || (sign == '+' && trims) ? 1 : 0);
    return source_.substr(place, n).ends_with(close) ? n : 0;
  }

  void pass_end(std::string_view close, bool trims) {
    const char sign = look(at_);
    advance(end_bytes(at_, close, trims));
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && trims && look(at_) == '\n') {
      advance(1);
    }
  }

  // Text up to the next tag, and the tag.
  void root() {
    constexpr std::string_view kKinds = "%{#";
    size_t tag = source_.find('{', at_);
    while (tag < source_.size() && !kKinds.contains(look(tag + 1)))
      tag = source_.find('{', tag + 1);
    tag = std::min(tag, source_.size());
    const char kind = look(tag + 1);
    text_before(tag, kind == '%' || kind == '#');
    if (tag == source_.size() || (kind == '%' && raw())) return;
    const size_t opening = past_sign(at_ + 2) - at_;
    if (kind == '#') {
      advance(opening);
      comment();
    } else {
      take(kind == '%' ? block_begin : variable_begin, opening);
      tag_tokens(kind == '%');
    }
  }

  void comment() {
    size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) {
      return fail("a comment has no end; #} is missing");
    }
    if (close > at_ && is_sign(source_[close - 1])) --close;
    advance(close - at_);
    pass_end("#}", true);
  }

  // Whether {% word %} is at this place; `close` is then where its end is.
  bool is_tag(size_t place, std::string_view word, bool trims, size_t& close) const {
    std::string_view inside = strip(source_.substr(past_sign(place + 2)), true, false);
    if (!inside.starts_with(word)) return false;
    inside.remove_prefix(word.size());
    close = source_.size() - strip(inside, true, false).size();
    return end_bytes(close, "%}", trims) > 0;
  }

  // {% raw %}...{% endraw %}. False if the tag here is another one.
  bool raw() {
    size_t close = 0;
    if (!is_tag(at_, "raw", false, close)) return false;
    advance(close - at_);
    pass_end("%}", false);
    size_t tag = source_.find("{%", at_);
    while (tag < source_.size() && !is_tag(tag, "endraw", true, close)) {
      tag = source_.find("{%", tag + 1);
    }
    if (tag < source_.size()) {
      text_before(tag, true);
      advance(close - at_);
      pass_end("%}", true);
    } else {
      fail("{% raw %} has no end; {% endraw %} is missing");
    }
    return true;
  }

  // The tokens inside of {% %} or {{ }}.
  void tag_tokens(bool block) {
    const std::string_view close = block ? "%}" : "}}";
    size_t open = 0;  // brackets
    while (!failed_) {
      skip_space();
      const char c = look(at_);
      if (at_ == source_.size()) {
        fail("the template ends inside of a tag; ", close, " is missing");
      } else if (open == 0 && end_bytes(at_, close, block) > 0) {
        push(block ? block_end : variable_end, close);
        return pass_end(close, block);
      } else if (is_digit(c)) {
        digits();
      } else if (begins_name(c)) {
        size_t stop = at_ + 1;
        while (begins_name(look(stop)) || is_digit(look(stop))) ++stop;
        take(name, stop - at_);
      } else if (c == '"' || c == '\'') {
        quoted(c);
      } else {
        operator_sign(open);
      }
    }
  }

  void operator_sign(size_t& open) {
    for (const auto& [sign, type] : kOperators) {
      if (!rest().starts_with(sign)) continue;
      // The parser finds brackets that don't match.
      if (type >= lparen && type <= lbrace) ++open;
      if (type >= rparen && type <= rbrace && open > 0) --open;
      take(type, std::string_view(sign).size());
      return;
    }
    fail("unexpected character '", rest().substr(0, char_bytes(rest())), "'");
  }

  void digits() {
    size_t stop = at_;
    const auto pass = [&](size_t from) {
      if (is_digit(look(from))) stop = from;
      while (is_digit(look(stop))) ++stop;
    };
    pass(at_);
    const size_t whole = stop;
    if (look(at_ - 1) != '.') {  // else it is the index in list.0
      if (look(stop) == '.') pass(stop + 1);
      if ((look(stop) | 32) == 'e') pass(past_sign(stop + 1));
    }
    const std::string_view written = source_.substr(at_, stop - at_);
    if (stop != whole) {
      take(number, written.size()).value = Value::number(parse_float(written).value_or(0));
    } else if (const auto value = parse_int(written)) {
      take(integer, written.size()).value = Value::integer(*value);
    } else {
      fail("the number ", written, " does not fit into 64 bits");
    }
  }

  void quoted(char quote) {
    size_t stop = at_ + 1;
    for (; stop < source_.size() && source_[stop] != quote; ++stop) {
      if (source_[stop] == '\\') ++stop;
    }
    if (stop >= source_.size()) {
      return fail("a text has no end; ", source_.substr(at_, 1), " is missing");
    }
    const std::string_view content = source_.substr(at_ + 1, stop - at_ - 1);
    take(text, content.size() + 2).value = Value::text(unescape(content));
  }

  // Python's escapes. Half of a surrogate pair becomes U+FFFD, because our texts are UTF-8.
  std::string unescape(std::string_view content) {
    constexpr std::string_view kNames = "abfnrtv\\'\"";
    constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\'\"";
    std::string out;
    for (;;) {
      const size_t plain = std::min(content.find('\\'), content.size());
      out += content.substr(0, plain);
      content.remove_prefix(plain);
      if (content.empty()) return out;
      const char escaped = content[1];  // a text doesn't end with a single backslash
      content.remove_prefix(2);
      const size_t n = escaped == 'x' ? 2 : escaped == 'u' ? 4 : escaped == 'U' ? 8 : 0;
      if (const size_t place = kNames.find(escaped); place < kNames.size()) {
        out += kMeant[place];
      } else if (escaped >= '0' && escaped <= '7') {
        uint32_t code = static_cast<uint32_t>(escaped - '0');
        read_code(content, 2, 8, code);
        utf8_append(out, code);
      } else if (n > 0) {
        uint32_t code = 0;
        if (read_code(content, n, 16, code) < n || code > 0x10ffff) {
          fail("a text has an escape that is cut short or too large");
        }
        utf8_append(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
      } else if (escaped == 'N') {
        fail("characters by name (\\N{...}) aren't supported here");
      } else if (escaped != '\n') {
        out += '\\';
        out += escaped;
      }
    }
  }

  // Reads up to `most` digits of a base. Returns how many there are.
  static size_t read_code(std::string_view& text, size_t most, uint32_t base, uint32_t& code) {
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    size_t n = 0;
    for (; n < most && n < text.size(); ++n) {
      const size_t place = kDigits.find(text[n]);
      const size_t digit = place < 16 ? place : place - 6;
      if (digit >= base) break;
      code = code * base + static_cast<uint32_t>(digit);
    }
    text.remove_prefix(n);
    return n;
  }

  std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_starts_ = true;  // whether what was read last ends with a newline
  Vector<Lexeme> tokens_{nullptr};
  bool failed_ = false;
  Error error_;
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

Result<Vector<Lexeme>> read_tokens(std::string_view source) { return Lexer(source).run(); }

Error template_error(uint32_t line, std::string_view message, std::string_view found,
                     const char* after) {
  return {Code::invalid_argument, concat("line ", line, " of the template: ",
                                         printable(message, 2000), printable(found, 40), after)};
}

}  // namespace sluice::jinja
