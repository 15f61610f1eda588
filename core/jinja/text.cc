#include "jinja/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/decimal.h"
#include "base/unicode.h"
#include "base/utf8.h"

namespace sluice::jinja {
namespace {

// Control and format characters, spaces other than ' ', what is for private use or no character.
constexpr std::pair<uint32_t, uint32_t> kHidden[] = {
    {0, 0x1f},        {0x7f, 0xa0},     {0xad, 0xad},     {0x378, 0x379},     {0x600, 0x605},
    {0x61c, 0x61c},   {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x1680, 0x1680},   {0x180e, 0x180e},
    {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},   {0xd800, 0xf8ff},
    {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
};

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

uint32_t code_of(const Utf8Char& c) { return c.valid ? c.code_point : 0xfffd; }
bool starts_with_space(std::string_view text) { return is_space(code_of(utf8_decode(text))); }

// The last character of a text that is not empty.
std::string_view last_char(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && continues(text[at])) --at;
  return text.substr(at);
}

size_t byte_offset(std::string_view text, size_t chars, size_t index) {
  if (index >= chars) return text.size();
  if (chars == text.size()) return index;
  size_t at = 0;
  for (; index > 0; --index) at += char_bytes(text.substr(at));
  return at;
}

// Without the characters at these ends that are `dropped`.
std::string_view strip_where(std::string_view text, bool left, bool right,
                             const std::function<bool(std::string_view)>& dropped) {
  while (left && !text.empty() && dropped(text.substr(0, char_bytes(text)))) {
    text.remove_prefix(char_bytes(text));
  }
  while (right && !text.empty() && dropped(last_char(text))) {
    text.remove_suffix(last_char(text).size());
  }
  return text;
}

uint32_t upper_of(uint32_t c) {
  // Those of two small letters that upper_case() doesn't know.
  constexpr std::pair<uint32_t, uint32_t> kSecond[] = {
      {0xb5, 0x39c}, {0x131, 'I'}, {0x17f, 'S'}, {0x3c2, 0x3a3}};
  for (const auto& [small, large] : kSecond) {
    if (c == small) return large;
  }
  return upper_case(c);
}

std::string small_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

size_t count_chars(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string_view sub_chars(std::string_view text, size_t chars, size_t begin, size_t end) {
  if (begin >= end) return {};
  const size_t first = byte_offset(text, chars, begin);
  return text.substr(first, byte_offset(text, chars, end) - first);
}

size_t char_bytes(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && continues(text[n])) ++n;
  return text.empty() ? 0 : n;
}

bool is_space(uint32_t c) { return (c >= 0x1c && c <= 0x1f) || char_class(c) == CharClass::space; }
bool is_alpha(uint32_t c) { return char_class(c) == CharClass::letter; }
bool is_decimal(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 0x660 && c <= 0x669) || (c >= 0x6f0 && c <= 0x6f9) ||
         (c >= 0x966 && c <= 0x96f) || (c >= 0xff10 && c <= 0xff19);
}
bool is_line_end(uint32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_upper(uint32_t c) { return lower_case(c) != c || c == 0x130; }
bool is_lower(uint32_t c) {
  return upper_of(c) != c || c == 0xaa || c == 0xba || c == 0x138 || c == 0x149;
}
bool is_printable(uint32_t c) {
  return std::none_of(std::begin(kHidden), std::end(kHidden),
                      [c](const auto& range) { return c >= range.first && c <= range.second; });
}

std::string_view strip(std::string_view text, bool left, bool right) {
  return strip_where(text, left, right, starts_with_space);
}

std::string_view strip_chars(Meter& meter, std::string_view text, std::string_view chars, bool left,
                             bool right) {
  return strip_where(text, left, right, [&](std::string_view c) {
    meter.pass(chars.size());
    return !meter.spent() && chars.find(c) != std::string_view::npos;
  });
}

bool Chars::next() {
  at_ += size_;
  if (at_ >= text_.size()) return false;
  const Utf8Char c = utf8_decode(text_.substr(at_));
  size_ = c.length;
  code_ = code_of(c);
  return true;
}

Vector<std::string_view> split_words(Meter& meter, std::string_view rest, size_t most, bool right) {
  Vector<std::string_view> parts(&meter);
  meter.scan(rest.size());
  while (!meter.spent()) {
    rest = strip(rest, !right, right);
    if (rest.empty()) break;
    std::string_view others;
    if (parts.size() < most) {
      others = strip_where(rest, !right, right,
                           [](std::string_view c) { return !starts_with_space(c); });
    }
    const size_t n = rest.size() - others.size();
    parts.push_back(rest.substr(right ? others.size() : 0, n));
    rest = others;
  }
  if (right) std::reverse(parts.begin(), parts.end());
  return parts;
}

Vector<std::string_view> split_lines(Meter& meter, std::string_view text, size_t most,
                                     bool keep_ends) {
  Vector<std::string_view> lines(&meter);
  size_t begin = 0;
  Chars chars(meter, text);
  while (chars.next() && lines.size() < most && !meter.spent()) {
    if (!is_line_end(chars.code()) || chars.at() < begin) continue;
    const size_t next = chars.end() + (text.substr(chars.at(), 2) == "\r\n" ? 1 : 0);
    lines.push_back(text.substr(begin, (keep_ends ? next : chars.at()) - begin));
    begin = next;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

void write_changed(TextWriter& to, const Text& text,
                   const std::function<std::string(uint32_t)>& change) {
  const std::string_view all = text.text;
  Meter& meter = to.meter();
  meter.scan(all.size());  // besides the reading, the choice of what stands for it
  Chars chars(meter, all);
  size_t done = 0;
  while (chars.next() && !meter.spent()) {
    const std::string changed = change(chars.code());
    if (changed.empty()) continue;
    if (chars.at() > done) to.copy(text, all.substr(done, chars.at() - done));
    to.change(changed, text, chars.at());
    done = chars.end();
  }
  to.copy(text, all.substr(done));
}

std::string in_case(uint32_t c, bool large) {
  if (large && c == 0xdf) return "SS";
  if (!large && c == 0x130) return "i\xcc\x87";
  // Georgian's large letters are for whole words: no single one begins a word.
  if (large && c >= 0x10d0 && c <= 0x10ff) return {};
  std::string changed;
  const uint32_t other = large ? upper_of(c) : lower_case(c);
  if (other != c) utf8_append(changed, other);
  return changed;
}

void escape_html(TextWriter& to, const Text& text) {
  write_changed(to, text, [](uint32_t c) -> std::string {
    constexpr std::pair<char, const char*> kEntities[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&#34;"}, {'\'', "&#39;"}};
    for (const auto& [sign, entity] : kEntities) {
      if (c == static_cast<uint8_t>(sign)) return entity;
    }
    return {};
  });
}

uint64_t decimal_work(double value, int64_t precision) {
  const int exponent = std::isfinite(value) && value != 0 ? std::abs(std::ilogb(value)) : 0;
  return 100 + 4 * static_cast<uint64_t>(exponent) +
         30 * static_cast<uint64_t>(std::clamp<int64_t>(precision, 0, 1000));
}

std::optional<int64_t> parse_int(std::string_view text) {
  text = strip(text, true, true);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  const std::string word = small_ascii(strip(text, true, true));
  const char* end = nullptr;
  const double value = read_decimal(word.c_str(), &end);
  if (end != word.c_str() && end == word.c_str() + word.size()) return value;
  const bool minus = word.starts_with('-');
  const std::string size = word.substr(minus || word.starts_with('+') ? 1 : 0);
  if (size == "nan") return std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (size == "inf" || size == "infinity") return minus ? -kInfinity : kInfinity;
  return std::nullopt;
}

}  // namespace sluice::jinja
