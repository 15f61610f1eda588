#include "text/wordpiece.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/unicode.h"
#include "base/utf8.h"

namespace sluice {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Characters that are no text: of \p{Cc} (but tab and line ends), \p{Cf} of Unicode 8 and \p{Co},
// and U+FFFD.
constexpr Range kDropped[] = {
    {0x00, 0x08},         {0x0b, 0x0c},       {0x0e, 0x1f},       {0x7f, 0x9f},
    {0xad, 0xad},         {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
    {0x70f, 0x70f},       {0x180e, 0x180e},   {0x200b, 0x200f},   {0x202a, 0x202e},
    {0x2060, 0x2064},     {0x2066, 0x206f},   {0xe000, 0xf8ff},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},     {0xfffd, 0xfffd},   {0x110bd, 0x110bd}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},   {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0xffffd},
    {0x100000, 0x10fffd},
};
// Each of these characters is a word. (BERT's own program has 2B820 in place of 2B920.)
constexpr Range kChinese[] = {
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
    {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
};

template <size_t N>
bool is_in(const Range (&ranges)[N], uint32_t code_point) {
  const Range* range = std::ranges::lower_bound(ranges, code_point, {}, &Range::last);
  return range != std::end(ranges) && code_point >= range->first;
}

// \p{P}, and all signs of ASCII.
bool is_sign(uint32_t code_point) {
  const CharClass kind = bert_class(code_point);
  const bool ascii_symbol = code_point > ' ' && code_point < 0x7f && kind == CharClass::other;
  return kind == CharClass::punctuation || ascii_symbol;
}

// True inside a character.
bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

}  // namespace

bool WordPieceEncoder::encode(const Vocab& vocabulary, PlainText& plain, size_t& budget,
                              std::vector<TokenId>& out) const {
  const Output output{vocabulary, budget, out};
  while (budget > 0) {
    if (plain.text.empty()) {
      end_word(plain, output);
      return false;
    }
    const Utf8Char c = utf8_decode(plain.text);
    plain.text.remove_prefix(c.length);
    budget -= std::min<size_t>(budget, c.length);
    if (c.valid) add_character(plain, c.code_point, output);
  }
  return true;
}

void WordPieceEncoder::add_character(PlainText& plain, uint32_t code_point,
                                     const Output& out) const {
  const bool printable = code_point >= ' ' && code_point < 0x7f;
  if (!printable && is_in(kDropped, code_point)) return;
  if (bert_class(code_point) == CharClass::space) return end_word(plain, out);
  const bool chinese = is_in(kChinese, code_point);
  if (chinese) end_word(plain, out);
  if (rules_.strip_accents) {
    plain.parts.clear();
    forms_.decompose(code_point, plain.parts);
    for (const Nfc::Char& part : plain.parts) {
      if (bert_class(part.code_point) != CharClass::mark) {
        add_part(plain, part, out);
      } else if (part.rank == 0) {
        plain.fixed = plain.word.size();
      }
    }
  } else {
    add_part(plain, {code_point, 0}, out);
  }
  if (chinese) end_word(plain, out);
}

void WordPieceEncoder::add_part(PlainText& plain, Nfc::Char part, const Output& out) const {
  constexpr uint32_t kDottedI = 0x130, kDot = 0x307;
  const bool dotted = rules_.lowercase && part.code_point == kDottedI;
  if (rules_.lowercase) part.code_point = dotted ? 'i' : lower_case(part.code_point);
  const bool sign = is_sign(part.code_point);
  if (sign) end_word(plain, out);
  if (plain.word.size() <= kMaxWord) {
    // Marks that are kept stand in the order of their ranks.
    if (part.rank == 0) plain.fixed = plain.word.size();
    const auto after = [&](const Nfc::Char& other) { return other.rank <= part.rank; };
    const auto begin = plain.word.begin() + static_cast<std::ptrdiff_t>(plain.fixed);
    plain.word.insert(std::partition_point(begin, plain.word.end(), after), part);
  }
  if (dotted) add_part(plain, {kDot, 0}, out);
  if (sign) end_word(plain, out);
}

void WordPieceEncoder::end_word(PlainText& plain, const Output& out) const {
  plain.fixed = 0;
  if (plain.word.empty()) return;
  const size_t before = out.ids.size();
  std::string word(kSpaceSign);
  for (const Nfc::Char& c : plain.word) utf8_append(word, c.code_point);
  if (plain.word.size() > kMaxWord || !cut_word(word, out)) {
    out.ids.resize(before);
    if (rules_.unknown != kNoToken) out.ids.push_back(rules_.unknown);
  }
  plain.word.clear();
}

// False: some of it is no token.
bool WordPieceEncoder::cut_word(std::string_view word, const Output& out) const {
  // The sign in front belongs to the first piece. One in a word is a character of the text: in the
  // vocabulary it would look like the beginning of a word.
  size_t least = kSpaceSign.size() + 1;
  while (!word.empty()) {
    if (least == 1 && word.starts_with(kSpaceSign)) return false;
    TokenId id = kNoToken;
    size_t size = std::min(word.size(), out.vocabulary.longest_plain());
    for (; size >= least; --size) {
      if (size < word.size() && is_continuation(word[size])) continue;
      id = out.vocabulary.find_plain(word.substr(0, size));
      out.budget -= std::min<size_t>(out.budget, 1);
      if (id != kNoToken) break;
    }
    if (id == kNoToken) return false;
    out.ids.push_back(id);
    word.remove_prefix(size);
    least = 1;
  }
  return true;
}

}  // namespace sluice
