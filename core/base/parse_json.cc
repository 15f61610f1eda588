#include "base/parse_json.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"

namespace sluice {
namespace {

bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, JsonReceiver& to) : text_(text), to_(to) {}

  bool run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (value()) {
      // Behind a value: the ends of what it is in, and the next value's beginning.
      for (;;) {
        skip_space();
        if (open_.empty() && at_ == text_.size()) return true;
        const char c = next();
        if (open_.empty()) return false;
        if (c == ',') break;
        if (c != open_.back() || !close()) return false;
      }
      if (open_.back() == '}' && !key()) return false;
    }
    return false;
  }
  size_t at() const { return at_; }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  // The end of the text is read as a byte 0, which JSON has nowhere.
  char next() {
    const char c = peek();
    ++at_;
    return c;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  bool word(std::string_view rest) {
    for (const char c : rest) {
      if (next() != c) return false;
    }
    return true;
  }

  // Also true behind the beginning and the first name of an object, before its first value.
  bool value() {
    for (;;) {
      skip_space();
      const char c = next();
      switch (c) {
        case '{':
        case '[':
          if (!(c == '{' ? to_.start_object() : to_.start_array())) return false;
          open_ += static_cast<char>(c + 2);  // "}" or "]"
          skip_space();
          if (peek() == open_.back()) {
            ++at_;
            return close();
          }
          if (c == '{' && !key()) return false;
          continue;
        case '"': {
          std::string text;
          return string(text) && to_.string(std::move(text));
        }
        case 't':
          return word("rue") && to_.boolean(true);
        case 'f':
          return word("alse") && to_.boolean(false);
        case 'n':
          return word("ull") && to_.null();
        default:
          return number(c);
      }
    }
  }

  bool close() {
    const bool object = open_.back() == '}';
    open_.pop_back();
    return object ? to_.end_object() : to_.end_array();
  }

  bool key() {
    skip_space();
    std::string text;
    if (next() != '"' || !string(text) || !to_.key(std::move(text))) return false;
    skip_space();
    return next() == ':';
  }

  bool digits() {
    if (!is_json_digit(next())) return false;
    while (is_json_digit(peek())) ++at_;
    return true;
  }

  // `c`: its first byte, which is read.
  bool number(char c) {
    const size_t begin = at_ - 1;
    const bool negative = c == '-';
    if (negative) c = next();
    if (!is_json_digit(c)) return false;
    uint64_t size = static_cast<uint64_t>(c - '0');
    bool whole = true;
    while (c != '0' && is_json_digit(peek())) {
      whole = !__builtin_mul_overflow(size, uint64_t{10}, &size) &&
              !__builtin_add_overflow(size, static_cast<uint64_t>(peek() - '0'), &size) && whole;
      ++at_;
    }
    if (peek() == '.') {
      ++at_;
      whole = false;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      whole = false;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    if (whole && !negative) return to_.integer(size);
    if (whole && size <= uint64_t{1} << 63)
      return to_.negative_integer(static_cast<int64_t>(0 - size));
    const std::string written(text_.substr(begin, at_ - begin));
    const double value = read_decimal(written.c_str());
    return std::isfinite(value) && to_.number(value);
  }

  // Four hexadecimal digits.
  bool unit(uint32_t& code) {
    code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next(), letter = static_cast<char>(c | 0x20);
      if (!is_json_digit(c) && (letter < 'a' || letter > 'f')) return false;
      code = code << 4 | static_cast<uint32_t>(is_json_digit(c) ? c - '0' : letter - 'a' + 10);
    }
    return true;
  }

  // Behind its first quote.
  bool string(std::string& out) {
    for (;;) {
      const Utf8Char read = utf8_decode(text_.substr(std::min(at_, text_.size())));
      const char c = next();
      if (c == '"') return true;
      if (!read.valid || read.code_point < 0x20) return false;
      if (c != '\\') {
        at_ += read.length - 1u;
        utf8_append(out, read.code_point);
        continue;
      }
      constexpr std::string_view kNames = "\"\\/bfnrt";
      const char name = next();
      if (const size_t which = kNames.find(name); which != std::string_view::npos) {
        out += "\"\\/\b\f\n\r\t"[which];
        continue;
      }
      uint32_t code = 0, second = 0;
      if (name != 'u' || !unit(code)) return false;
      if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || !word("\\u") || !unit(second)) return false;
        if (second < 0xdc00 || second >= 0xe000) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      }
      utf8_append(out, code);
    }
  }

  std::string_view text_;
  JsonReceiver& to_;
  size_t at_ = 0;
  std::string open_;  // the ends of the objects and arrays that are not complete
};

class JsonCounter final : public JsonReceiver {
 public:
  explicit JsonCounter(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return part(); }
  bool boolean(bool) override { return part(); }
  bool negative_integer(int64_t) override { return part(); }
  bool integer(uint64_t) override { return part(); }
  bool number(double) override { return part(); }
  bool string(std::string) override { return part(); }
  bool start_object() override { return start(); }
  bool key(std::string) override { return ++names_.back() <= limits_.names && part(); }
  bool end_object() override { return end(); }
  bool start_array() override { return start(); }
  bool end_array() override { return end(); }

  // What is beyond its limit; only if parse_json() failed.
  std::string problem() const {
    if (names_.size() > limits_.depth)
      return concat("it has values in more than ", limits_.depth, " others");
    if (!names_.empty() && names_.back() > limits_.names)
      return concat("an object of it has more than ", limits_.names, " names");
    if (parts_ > limits_.parts) return concat("its JSON has more than ", limits_.parts, " parts");
    return "it is no JSON";
  }

 private:
  bool part() { return ++parts_ <= limits_.parts; }
  bool start() {
    names_.push_back(0);
    return names_.size() <= limits_.depth && part();
  }
  bool end() {
    names_.pop_back();
    return part();
  }

  const JsonLimits& limits_;
  size_t parts_ = 0;
  std::vector<size_t> names_;  // so far, of each list or object that is not complete
};

}  // namespace

bool parse_json(std::string_view text, JsonReceiver& receiver, size_t* error_at) {
  Parser parser(text, receiver);
  const bool valid = parser.run();
  if (!valid && error_at != nullptr) *error_at = parser.at();
  return valid;
}

Status check_json(std::string_view text, const JsonLimits& limits, size_t* error_at) {
  JsonCounter counter(limits);
  if (parse_json(text, counter, error_at)) return {};
  return fail(Code::bad_file, counter.problem());
}

}  // namespace sluice
