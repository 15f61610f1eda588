#include "harmless.h"

#include <cstdint>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace sluice {
namespace {

struct Pair {
  uint32_t shown;    // in tokens and texts
  uint32_t partner;  // what it becomes, and the other way round
};
// Neighbours, so that the order stays whichever of them are kept: nothing that occurs lies between.
constexpr Pair kPairs[] = {
    {'a', 'b'},       {'d', 'c'},       {'e', 'f'},         {'i', 'j'},   {'m', 'l'},
    {'n', 'o'},       {'r', 'q'},       {'t', 'u'},         {'A', 'B'},   {'D', 'C'},
    {'E', 'F'},       {'I', 'J'},       {'M', 'L'},         {'N', 'O'},   {'R', 'Q'},
    {'T', 'U'},       {'<', '='},       {'>', '?'},         {'|', '}'},   {'/', '.'},
    {'_', '`'},       {'&', '%'},       {0xe9, 0xea},       {0xc9, 0xca}, {0xff5c, 0xff5d},
    {0x2581, 0x2582}, {0x65e5, 0x65e6}, {0x1f389, 0x1f38a},
};
constexpr size_t kAscii = 128;
static_assert(kAscii + std::size(kPairs) <= Chars().size());

bool is_letter(uint32_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z' && c < kAscii; }

// The place of a character in a set; the set's size if it has none.
size_t place_of(uint32_t c) {
  if (c < kAscii) return c;
  for (size_t i = 0; i < std::size(kPairs); ++i)
    if (kPairs[i].shown == c || kPairs[i].partner == c) return kAscii + i;
  return Chars().size();
}

template <typename Change>
std::string each_char(std::string_view text, const Change& change) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    change(out, c.valid ? c.code_point : 0, text.substr(0, c.length));
    text.remove_prefix(c.length);
  }
  return out;
}

}  // namespace

Chars chars_of(std::string_view text) {
  Chars chars;
  each_char(text, [&](std::string&, uint32_t c, std::string_view) {
    if (const size_t place = place_of(c); place < chars.size()) chars.set(place);
  });
  return chars;
}

Harmless::Harmless(const Chars& kept) : kept_(kept) {
  const auto join = [this](uint32_t a, uint32_t b) {
    if (!kept_[place_of(a)] && !kept_[place_of(b)]) return;
    kept_.set(place_of(a));
    kept_.set(place_of(b));
  };
  for (const Pair& pair : kPairs) {
    join(pair.shown, pair.partner);
    if (is_letter(pair.shown)) join(pair.shown, pair.shown ^ 32);
  }
  join(0xe9, 0xc9);
  for (const Pair& pair : kPairs) join(pair.shown, pair.partner);
}

std::string Harmless::replace(std::string_view text) const {
  return each_char(text, [this](std::string& out, uint32_t c, std::string_view bytes) {
    for (const Pair& pair : kPairs) {
      if ((pair.shown != c && pair.partner != c) || kept_[place_of(c)]) continue;
      return utf8_append(out, pair.shown == c ? pair.partner : pair.shown);
    }
    out += bytes;
  });
}

std::string without_partners(std::string_view text) {
  return each_char(text, [](std::string& out, uint32_t c, std::string_view bytes) {
    for (const Pair& pair : kPairs)
      if (pair.partner == c) return;
    out += bytes;
  });
}

Chars replaced_wide() {
  Chars chars;
  for (size_t place = kAscii; place < chars.size(); ++place) chars.set(place);
  return chars;
}

}  // namespace sluice
