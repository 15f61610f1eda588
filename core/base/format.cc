#include "base/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/decimal.h"
#include "base/utf8.h"

namespace sluice {
namespace {

template <typename Integer>
void append_integer(std::string& out, Integer value) {
  char digits[24];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

// Tries the precisions in turn. std::to_chars would find the shortest text by itself, but its
// tables for floats add 100 kB to a wasm file.
void append_shortest(std::string& out, double value, bool as_float) {
  std::string digits;
  for (int precision = 6; precision <= (as_float ? 9 : 17); ++precision) {
    digits = write_decimal(value, 'g', precision);
    const double read = read_decimal(digits.c_str());
    if (as_float ? static_cast<float>(read) == static_cast<float>(value) : read == value) break;
  }
  out.append(digits);
}

// "\\u00e9"
void append_escape(std::string& out, uint32_t unit) {
  out.append("\\u").append(hexadecimal(unit), 12);
}

// They turn what is near them a little, and texts in Arabic and Hebrew have them.
bool is_direction_mark(uint32_t code) { return code == 0x61c || code == 0x200e || code == 0x200f; }

}  // namespace

namespace detail {

void Part::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::c_text:
      out.append(text_);
      break;
    case Kind::string:
      out.append(*string_);
      break;
    case Kind::text:
      out.append(text_, size_);
      break;
    case Kind::i64:
      append_integer(out, static_cast<int64_t>(u64_));
      break;
    case Kind::u64:
      append_integer(out, u64_);
      break;
    case Kind::f64:
    case Kind::f32:
      append_shortest(out, f64_, kind_ == Kind::f32);
      break;
  }
}

std::string concat(const Part* parts, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) parts[i].append_to(out);
  return out;
}

Error* fail(Code code, const Part* parts, size_t n) { return new Error{code, concat(parts, n)}; }

Error take(Error* error) {
  Error taken = std::move(*error);
  delete error;
  return taken;
}

Error* with_facts(Error* error, Facts facts) {
  error->facts = std::move(facts);
  return error;
}

}  // namespace detail

bool is_unsafe(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || is_direction_mark(code) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t at = 0;
  while (at < text.size() && out.size() < max_bytes) {
    const Utf8Char c = utf8_decode(text.substr(at));
    if (c.valid && !is_unsafe(c.code_point)) {
      out.append(text.substr(at, c.length));
    } else {
      out.push_back('?');
    }
    at += c.length;
  }
  if (at < text.size()) out.append("...");
  return out;
}

std::string safe_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    const uint32_t code = c.code_point;
    if (c.valid && (!is_unsafe(code) || code == '\n' || code == '\t')) {
      out.append(text.substr(0, c.length));
    } else if (!c.valid || (code != '\r' && !is_direction_mark(code))) {
      out.push_back('?');
    }
    text.remove_prefix(c.length);
  }
  return out;
}

std::string safe_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Utf8Char c = utf8_decode(json);
    // What ASCII has of them a writer of JSON has escaped, but for U+007F. All are below U+10000.
    if (c.valid && c.code_point >= 0x7f && is_unsafe(c.code_point)) {
      append_escape(out, c.code_point);
    } else {
      out.append(json.substr(0, c.length));
    }
    json.remove_prefix(c.length);
  }
  return out;
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    const uint32_t code = c.valid ? c.code_point : 0xfffd;
    size_t length = c.length;
    constexpr std::string_view kNamed = "\"\\\n\r\t\b\f";
    const size_t name = code < 0x80 ? kNamed.find(static_cast<char>(code)) : std::string_view::npos;
    if (name != std::string_view::npos) {
      out += '\\';
      out += "\"\\nrtbf"[name];
    } else if (code < 0x20) {
      append_escape(out, code);
    } else {
      utf8_append(out, code);
    }
    for (size_t n = 3; n > 1 && !c.valid && length == 1; --n) {
      if (utf8_incomplete_tail(text.substr(0, n)) == n) length = n;
    }
    text.remove_prefix(length);
  }
  out += '"';
}

std::string counted(uint64_t n, std::string_view noun) {
  return concat(n, " ", noun, n == 1 ? "" : "s");
}

std::string human_bytes(uint64_t bytes, bool at_least) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1000 && unit < 6) {
    value /= 1000;
    ++unit;
  }
  const int precision = unit == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  if (at_least) {
    const double scale = precision == 0 ? 1 : precision == 1 ? 10 : 100;
    value = std::ceil(value * scale) / scale;
  }
  return concat(write_decimal(value, 'f', precision), " ", kUnits[unit]);
}

std::string hexadecimal(uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 0xf];
  return text;
}

std::string human_duration(double seconds) {
  const auto s = static_cast<int64_t>(std::round(std::min(std::max(1.0, seconds), 1e9)));
  if (s < 60) return concat(s, " s");
  const int64_t minutes = (s + 30) / 60;
  if (minutes < 60) return concat(minutes, " min");
  return concat(minutes / 60, " h ", minutes % 60, " min");
}

}  // namespace sluice
