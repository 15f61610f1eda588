#include "base/utf8.h"

namespace sluice {

Utf8Char utf8_decode(std::string_view text) {
  if (text.empty()) return {0, 0, false};
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const Utf8Char invalid{first, 1, false};
  const uint8_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return invalid;
  uint32_t code_point = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code_point = code_point << 6 | (byte(i) & 0x3fu);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kSmallest[length] || code_point > 0x10ffff ||
      (code_point >= 0xd800 && code_point < 0xe000)) {
    return invalid;
  }
  return {code_point, length, true};
}

void utf8_append(std::string& out, uint32_t code_point) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

size_t utf8_incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    if (byte > 0xf4 || length <= back) return 0;
    // Can these bytes become a valid character? Completes them with the lowest and with the highest
    // continuation byte and sees whether either result is valid.
    for (const char filler : {'\x80', '\xbf'}) {
      std::string candidate(text.substr(text.size() - back));
      candidate.append(length - back, filler);
      if (utf8_decode(candidate).valid) return back;
    }
    return 0;
  }
  return 0;
}

std::string utf8_sanitize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_decode(text.substr(at));
    if (c.valid) {
      out.append(text.substr(at, c.length));
    } else {
      utf8_append(out, 0xfffd);
    }
    at += c.length;
  }
  return out;
}

}  // namespace sluice
