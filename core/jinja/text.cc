#include "jinja/text.h"

#include <algorithm>

#include "base/utf8.h"

namespace sluice::jinja {
namespace {

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xc0) == 0x80; }

struct Block {
  uint32_t first, last;
};

template <size_t n>
bool within(const Block (&blocks)[n], uint32_t c) {
  for (const Block& block : blocks) {
    if (c >= block.first && c <= block.last) return true;
  }
  return false;
}

// Letters outside of ASCII, by large blocks.
constexpr Block kLetters[] = {
    {0xaa, 0xaa},     {0xb5, 0xb5},     {0xba, 0xba},     {0xc0, 0xd6},       {0xd8, 0xf6},
    {0xf8, 0x2c1},    {0x370, 0x374},   {0x376, 0x377},   {0x37a, 0x37d},     {0x37f, 0x37f},
    {0x386, 0x386},   {0x388, 0x3f5},   {0x3f7, 0x481},   {0x48a, 0x556},     {0x561, 0x587},
    {0x5d0, 0x5ea},   {0x620, 0x64a},   {0x671, 0x6d3},   {0x904, 0x939},     {0x985, 0x9b9},
    {0xe01, 0xe30},   {0x10a0, 0x10ff}, {0x1100, 0x11ff}, {0x1e00, 0x1fbc},   {0x2c00, 0x2ce4},
    {0x3041, 0x3096}, {0x309d, 0x309f}, {0x30a1, 0x30fa}, {0x30fc, 0x30ff},   {0x3105, 0x312f},
    {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xa000, 0xa48c}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xff21, 0xff3a}, {0xff41, 0xff5a}, {0xff66, 0xffdc}, {0x20000, 0x323af},
};

// Control and format characters, spaces other than ' ', what is for private use or no character.
constexpr Block kHidden[] = {
    {0, 0x1f},        {0x7f, 0xa0},     {0xad, 0xad},     {0x378, 0x379},     {0x600, 0x605},
    {0x61c, 0x61c},   {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x1680, 0x1680},   {0x180e, 0x180e},
    {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},   {0xd800, 0xf8ff},
    {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
};

// Letters whose large and small forms are neighbours: the even one is large (or the odd one).
bool even_is_large(uint32_t c) {
  return (c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14a && c <= 0x177) ||
         (c >= 0x1de && c <= 0x1ef) || (c >= 0x1f8 && c <= 0x21f) || (c >= 0x222 && c <= 0x233) ||
         (c >= 0x3d8 && c <= 0x3ef) || (c >= 0x460 && c <= 0x481) || (c >= 0x48a && c <= 0x4bf) ||
         (c >= 0x4d0 && c <= 0x52f) || (c >= 0x1e00 && c <= 0x1e95) || (c >= 0x1ea0 && c <= 0x1eff);
}
bool odd_is_large(uint32_t c) {
  return (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e) || (c >= 0x1cd && c <= 0x1dc) ||
         (c >= 0x4c1 && c <= 0x4ce);
}

uint32_t lower_of(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3ab && c != 0x3a2) ||
      (c >= 0x410 && c <= 0x42f) || (c >= 0xff21 && c <= 0xff3a)) {
    return c + 32;
  }
  if (c >= 0x400 && c <= 0x40f) return c + 80;
  if (c >= 0x531 && c <= 0x556) return c + 48;
  if (c == 0x178) return 0xff;
  if (c == 0x386) return 0x3ac;
  if (c >= 0x388 && c <= 0x38a) return c + 37;
  if (c == 0x38c) return 0x3cc;
  if (c == 0x38e || c == 0x38f) return c + 63;
  if (c == 0x1e9e) return 0xdf;
  if (even_is_large(c)) return c | 1;
  if (odd_is_large(c)) return c + (c & 1);
  return c;
}

uint32_t upper_of(uint32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  if ((c >= 0xe0 && c <= 0xfe && c != 0xf7) || (c >= 0x3b1 && c <= 0x3cb && c != 0x3c2) ||
      (c >= 0x430 && c <= 0x44f) || (c >= 0xff41 && c <= 0xff5a)) {
    return c - 32;
  }
  if (c >= 0x450 && c <= 0x45f) return c - 80;
  if (c >= 0x561 && c <= 0x586) return c - 48;
  if (c == 0xff) return 0x178;
  if (c == 0xb5) return 0x39c;
  if (c == 0x3c2) return 0x3a3;
  if (c == 0x3ac) return 0x386;
  if (c >= 0x3ad && c <= 0x3af) return c - 37;
  if (c == 0x3cc) return 0x38c;
  if (c == 0x3cd || c == 0x3ce) return c - 63;
  if (c == 0x131) return 'I';
  if (c == 0x17f) return 'S';
  if (even_is_large(c)) return c & ~1u;
  if (odd_is_large(c)) return c - (c % 2 == 0 ? 1 : 0);
  return c;
}

// The last character of a text that is not empty.
std::string_view last_char(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && continues(text[at])) --at;
  return text.substr(at);
}

}  // namespace

size_t count_chars(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += continues(c) ? 0 : 1;
  return count;
}

size_t byte_offset(std::string_view text, size_t chars, size_t index) {
  if (index >= chars) return text.size();
  if (chars == text.size()) return index;
  // Bytes that continue nothing, at the start, belong to the first character.
  size_t at = 0;
  while (at < text.size() && continues(text[at])) ++at;
  if (index == 0) return 0;
  for (; index > 0; --index) at += char_bytes(text.substr(at));
  return at;
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

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_line_end(uint32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_alpha(uint32_t c) {
  if (c < 0x80) return (c | 32) >= 'a' && (c | 32) <= 'z';
  return within(kLetters, c);
}

bool is_decimal(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 0x660 && c <= 0x669) || (c >= 0x6f0 && c <= 0x6f9) ||
         (c >= 0x966 && c <= 0x96f) || (c >= 0xff10 && c <= 0xff19);
}

bool is_upper(uint32_t c) { return lower_of(c) != c || c == 0x130; }
bool is_lower(uint32_t c) {
  return upper_of(c) != c || c == 0xdf || c == 0xaa || c == 0xba || c == 0x138 || c == 0x149;
}
bool is_printable(uint32_t c) { return !within(kHidden, c); }

std::string in_case(uint32_t c, Case to) {
  if (to == Case::upper && c == 0xdf) return "SS";
  if (to == Case::lower && c == 0x130) return "i\xcc\x87";
  std::string out;
  utf8_append(out, to == Case::upper ? upper_of(c) : lower_of(c));
  return out;
}

std::string ascii_case(std::string_view text, Case to) {
  std::string out;
  for (const char c : text)
    out += c & 0x80 ? c
                    : static_cast<char>(to == Case::upper ? upper_of(static_cast<uint8_t>(c))
                                                          : lower_of(static_cast<uint8_t>(c)));
  return out;
}

bool Chars::next() {
  at_ += size_;
  if (at_ >= text_.size()) return false;
  const Utf8Char c = utf8_decode(text_.substr(at_));
  size_ = c.length;
  code_ = c.code_point;
  valid_ = c.valid;
  return true;
}

std::string_view strip(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    const Utf8Char c = utf8_decode(text);
    if (!is_space(c.code_point) || !c.valid) break;
    text.remove_prefix(c.length);
  }
  while (right && !text.empty()) {
    const std::string_view last = last_char(text);
    const Utf8Char c = utf8_decode(last);
    if (!is_space(c.code_point) || !c.valid) break;
    text.remove_suffix(last.size());
  }
  return text;
}

std::string_view strip_chars(Meter& meter, std::string_view text, std::string_view chars, bool left,
                             bool right) {
  const auto has = [&](std::string_view c) {
    meter.pass(chars.size());
    return !meter.spent() && chars.find(c) != std::string_view::npos;
  };
  while (left && !text.empty() && has(text.substr(0, char_bytes(text)))) {
    text.remove_prefix(char_bytes(text));
  }
  while (right && !text.empty() && has(last_char(text))) {
    text.remove_suffix(last_char(text).size());
  }
  return text;
}

Vector<std::string_view> split_words(Meter& meter, std::string_view rest, size_t most, bool right) {
  Vector<std::string_view> parts(&meter);
  meter.scan(rest.size());
  for (;;) {
    rest = strip(rest, !right, right);
    if (rest.empty() || meter.spent()) break;
    size_t n = 0;
    if (parts.size() >= most) {
      n = rest.size();
    } else if (right) {
      while (n < rest.size()) {
        const std::string_view last = last_char(rest.substr(0, rest.size() - n));
        if (is_space(utf8_decode(last).code_point)) break;
        n += last.size();
      }
    } else {
      while (n < rest.size() && !is_space(utf8_decode(rest.substr(n)).code_point))
        n += char_bytes(rest.substr(n));
    }
    parts.push_back(right ? rest.substr(rest.size() - n) : rest.substr(0, n));
    if (right) {
      rest.remove_suffix(n);
    } else {
      rest.remove_prefix(n);
    }
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
    if (chars.at() < begin || !chars.valid() || !is_line_end(chars.code())) continue;
    size_t next = chars.at() + chars.bytes().size();
    if (chars.code() == '\r' && next < text.size() && text[next] == '\n') ++next;
    lines.push_back(text.substr(begin, (keep_ends ? next : chars.at()) - begin));
    begin = next;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

void escape_html(TextWriter& to, const Text& text) {
  constexpr std::string_view kSigns = "&<>\"'";
  constexpr const char* kEntities[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
  const std::string_view all = text.text;
  to.meter().work(all.size() / 8);
  for (size_t at = 0; at < all.size() && !to.meter().spent();) {
    const size_t sign = std::min(all.find_first_of(kSigns, at), all.size());
    to.copy(text, all.substr(at, sign - at));
    if (sign < all.size()) to.change(kEntities[kSigns.find(all[sign])], text, sign);
    at = sign + 1;
  }
}

}  // namespace sluice::jinja
