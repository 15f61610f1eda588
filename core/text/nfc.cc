#include "text/nfc.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/leb128.h"
#include "base/order.h"
#include "base/utf8.h"

namespace sluice {
namespace {

#include "text/nfc_tables.inc"

// Syllables of Hangul are computed (The Unicode Standard, 3.12): of a leading consonant, a vowel
// and perhaps a trailing consonant.
constexpr uint32_t kSyllables = 0xac00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11a7;
constexpr uint32_t kLeadings = 19, kVowelCount = 21, kTrailings = 28;  // the first trailing: none
constexpr uint32_t kOfLeading = kVowelCount * kTrailings;
constexpr uint32_t kSyllableCount = kLeadings * kOfLeading;

constexpr uint32_t kFirstDecomposed = 0xc0;
constexpr uint32_t kFirstMark = 0x300;      // characters before it are never changed or composed to
constexpr uint32_t kInvalid = 0x80000000u;  // a byte that is no character
constexpr size_t kMaxChars = 1u << 16;      // that follow each other and are put in order together

bool is_syllable(uint32_t c) { return c - kSyllables < kSyllableCount; }

uint32_t code_point_of(const Utf8Char& c) {
  return c.valid ? c.code_point : kInvalid | c.code_point;
}

}  // namespace

Nfc::Nfc() {
  const uint8_t* at = kRanks;
  uint32_t start = 0;
  for (uint32_t i = 0; i < kRankRuns; ++i) {
    start += read_leb128(at);
    ranks_.push_back(start * 256 + *at++);
  }
  at = kDecomposed;
  rows_.reserve(kDecompositions);
  std::array<bool, std::size(kSeconds)> composed{};
  Row row{0, 0, 0};
  for (uint32_t i = 0; i < kDecompositions; ++i) {
    const uint32_t distance = read_leb128(at);
    const uint32_t change = read_leb128(at);
    row.whole += distance / 2;
    row.first += change % 2 == 0 ? change / 2 : ~(change / 2);
    row.second = distance % 2 == 0 ? 0 : kSeconds[*at / 2];
    rows_.push_back(row);
    if (distance % 2 == 0) continue;
    composed[*at / 2] |= *at % 2 != 0;
    if (*at++ % 2 != 0) pairs_.push_back(i);
  }
  sort_indices(pairs_,
               [&](uint32_t a, uint32_t b) { return parts_of(rows_[a]) < parts_of(rows_[b]); });
  for (size_t i = 0; i < composed.size(); ++i)
    if (composed[i]) seconds_.push_back(kSeconds[i]);
}

uint32_t Nfc::rank_of(uint32_t c) const {
  if (c < kFirstMark || c >= kInvalid) return 0;
  return *std::prev(std::upper_bound(ranks_.begin(), ranks_.end(), c * 256 + 255)) % 256;
}

const Nfc::Row* Nfc::find(uint32_t code_point) const {
  const auto row = std::ranges::lower_bound(rows_, code_point, {}, &Row::whole);
  return row != rows_.end() && row->whole == code_point ? &*row : nullptr;
}

// The character that the two make, or 0.
uint32_t Nfc::compose(uint32_t first, uint32_t second) const {
  if (first - kLeading < kLeadings && second - kVowels < kVowelCount)
    return kSyllables + (first - kLeading) * kOfLeading + (second - kVowels) * kTrailings;
  if (is_syllable(first) && (first - kSyllables) % kTrailings == 0 &&
      second - kTrailing - 1 < kTrailings - 1)
    return first + (second - kTrailing);
  const Row wanted{0, first, second};
  const auto pair = std::ranges::lower_bound(pairs_, parts_of(wanted), {},
                                             [&](uint32_t i) { return parts_of(rows_[i]); });
  const bool found = pair != pairs_.end() && parts_of(rows_[*pair]) == parts_of(wanted);
  return found ? rows_[*pair].whole : 0;
}

// False: what comes before this character has no part in its form, nor it in theirs.
bool Nfc::may_follow(uint32_t code_point) const {
  if (code_point < kFirstMark || code_point >= kInvalid) return false;
  for (const Row* row = find(code_point); row != nullptr; row = find(code_point))
    code_point = row->first;
  return rank_of(code_point) != 0 || std::ranges::binary_search(seconds_, code_point) ||
         code_point - kVowels < kVowelCount || code_point - kTrailing < kTrailings;
}

void Nfc::decompose(uint32_t code_point, std::vector<Char>& out) const {
  if (is_syllable(code_point)) {
    const uint32_t index = code_point - kSyllables;
    out.push_back({kLeading + index / kOfLeading, 0});
    out.push_back({kVowels + index % kOfLeading / kTrailings, 0});
    if (index % kTrailings != 0) out.push_back({kTrailing + index % kTrailings, 0});
    return;
  }
  const bool may = code_point >= kFirstDecomposed && code_point < kInvalid;
  const Row* row = may ? find(code_point) : nullptr;
  if (row == nullptr) {
    out.push_back({code_point, rank_of(code_point)});
    return;
  }
  decompose(row->first, out);  // at most three deep
  if (row->second != 0) decompose(row->second, out);
}

// By their ranks; marks of one rank stay in their order.
void Nfc::sort_marks(std::span<Char> marks) {
  const auto precedes = [](const Char& a, const Char& b) { return a.rank < b.rank; };
  if (std::is_sorted(marks.begin(), marks.end(), precedes)) return;
  const std::vector<Char> before(marks.begin(), marks.end());
  const std::vector<uint32_t> order = order_of(before.size(), [&](uint32_t a, uint32_t b) {
    return before[a].rank != before[b].rank ? before[a].rank < before[b].rank : a < b;
  });
  for (size_t i = 0; i < order.size(); ++i) marks[i] = before[order[i]];
}

// Orders the marks and composes; empties `chars`.
void Nfc::write(std::vector<Char>& chars, std::string& out) const {
  for (auto from = chars.begin(); from != chars.end();) {
    const auto to = std::find_if(from, chars.end(), [](const Char& c) { return c.rank == 0; });
    sort_marks({from, to});
    from = to == chars.end() ? to : to + 1;
  }
  size_t size = 0;  // of what is done, at the front of `chars`
  size_t starter = chars.size();
  uint32_t last_rank = 0;  // of the last one that is done, if it stands behind the starter
  for (size_t i = 0; i < chars.size(); ++i) {
    const Char c = chars[i];
    if (starter < size && (last_rank == 0 || last_rank < c.rank)) {
      const uint32_t composed = compose(chars[starter].code_point, c.code_point);
      if (composed != 0) {
        chars[starter].code_point = composed;
        continue;
      }
    }
    if (c.rank == 0) starter = size;
    last_rank = c.rank;
    chars[size++] = c;
  }
  for (size_t i = 0; i < size; ++i) {
    if (chars[i].code_point >= kInvalid) {
      out.push_back(static_cast<char>(chars[i].code_point & 0xff));
    } else {
      utf8_append(out, chars[i].code_point);
    }
  }
  chars.clear();
}

size_t Nfc::append(std::string_view text, size_t part, std::string& out) const {
  std::vector<Char> chars;
  size_t at = 0;
  const auto is_ascii = [&](size_t i) { return static_cast<uint8_t>(text[i]) < 0x80; };
  while (at < text.size()) {
    if (chars.empty() && at < part && at + 1 < text.size() && is_ascii(at) && is_ascii(at + 1)) {
      out.push_back(text[at++]);  // most texts are only this
      continue;
    }
    const Utf8Char c = utf8_decode(text.substr(at));
    const uint32_t code_point = code_point_of(c);
    if (!chars.empty() && (chars.size() >= kMaxChars || !may_follow(code_point))) {
      write(chars, out);
      if (at >= part) break;
    }
    decompose(code_point, chars);
    at += c.length;
  }
  write(chars, out);
  return at;
}

}  // namespace sluice
