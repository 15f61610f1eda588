#include "base/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/leb128.h"
#include "base/utf8.h"

namespace sluice {
namespace {

#include "base/lower_case.inc"
#include "base/unicode_ranges.inc"

// What only bert_class() tells apart.
constexpr uint32_t kNewPunctuation = 6, kKeptMark = 7;

// A run of characters of one class: where it starts, times 8, and the class.
constexpr uint32_t next_run(const uint8_t*& at, uint32_t last) {
  return (last & ~7u) + read_leb128(at);
}

// All runs, ascending. They are written in fewer bytes than they have here.
std::array<uint32_t, kRuns> read_runs() {
  std::array<uint32_t, kRuns> runs;
  const uint8_t* at = kClasses;
  uint32_t last = 0;
  for (uint32_t& run : runs) run = last = next_run(at, last);
  return runs;
}

// Each character from `first` to `last`, or every second one, has its other case `change` after it
// (before it, modulo 2^32).
struct CaseRun {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  uint32_t change;

  bool has(uint32_t c) const { return first <= c && c <= last && (c - first) % step == 0; }
};
// Without overlaps, ascending.
using CaseRuns = std::array<CaseRun, kLowerRuns>;

CaseRuns read_lower_runs() {
  CaseRuns runs;
  const uint8_t* at = kLower;
  uint32_t last = 0;
  for (CaseRun& run : runs) {
    run.first = last + read_leb128(at);
    const uint32_t others = read_leb128(at);
    run.step = others % 2 + 1;
    run.last = last = run.first + others / 2 * run.step;
    const uint32_t change = read_leb128(at);
    run.change = change % 2 == 0 ? change / 2 : ~(change / 2);
  }
  return runs;
}

// The same from the small letters. Of two large ones the first counts; only the first letter of a
// run has another before it.
CaseRuns read_upper_runs() {
  CaseRuns runs;
  size_t n = 0;
  for (const CaseRun& large : read_lower_runs()) {
    CaseRun run = {large.first + large.change, large.last + large.change, large.step,
                   0 - large.change};
    const auto has_first = [&](const CaseRun& other) { return other.has(run.first); };
    if (std::any_of(runs.begin(), runs.begin() + n, has_first)) run.first += run.step;
    if (run.first > run.last) continue;
    size_t at = n++;
    for (; at > 0 && runs[at - 1].last > run.last; --at) runs[at] = runs[at - 1];
    runs[at] = run;
  }
  // What is left has no character.
  for (; n < runs.size(); ++n) runs[n] = {UINT32_MAX, UINT32_MAX, 1, 0};
  return runs;
}

uint32_t in_other_case(const CaseRuns& runs, uint32_t code_point) {
  const auto run = std::ranges::lower_bound(runs, code_point, {}, &CaseRun::last);
  return run != runs.end() && run->has(code_point) ? code_point + run->change : code_point;
}

uint32_t listed_class(uint32_t code_point) {
  static const std::array<uint32_t, kRuns> runs = read_runs();
  // Finds the last run that starts at or before the character. (The low 3 bits are the class.)
  const auto after = std::upper_bound(runs.begin(), runs.end(), code_point * 8 + 7);
  return *std::prev(after) % 8;
}

}  // namespace

constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  const uint8_t* at = kClasses;
  uint32_t run = 0, next = next_run(at, 0);
  for (uint32_t c = 0; c < classes.size(); ++c) {
    for (; next / 8 <= c; next = next_run(at, run)) run = next;
    classes[c] = static_cast<CharClass>(run % 8);
  }
  return classes;
}();

CharClass char_class(uint32_t code_point) {
  if (code_point < kAsciiClasses.size()) return kAsciiClasses[code_point];
  const uint32_t listed = listed_class(code_point);
  if (listed == kNewPunctuation) return CharClass::punctuation;
  return listed == kKeptMark ? CharClass::mark : static_cast<CharClass>(listed);
}

CharClass bert_class(uint32_t code_point) {
  if (code_point < kAsciiClasses.size()) return kAsciiClasses[code_point];
  constexpr uint32_t kOldPunctuation[] = {0x166d, 0x111c9};  // of another class since
  if (std::ranges::find(kOldPunctuation, code_point) != std::end(kOldPunctuation))
    return CharClass::punctuation;
  const uint32_t listed = listed_class(code_point);
  const bool other = listed == kNewPunctuation || listed == kKeptMark;
  return other ? CharClass::other : static_cast<CharClass>(listed);
}

uint32_t lower_case(uint32_t code_point) {
  if (code_point < kAsciiClasses.size())
    return code_point - 'A' < 26 ? code_point - 'A' + 'a' : code_point;
  static const CaseRuns runs = read_lower_runs();
  return in_other_case(runs, code_point);
}

uint32_t upper_case(uint32_t code_point) {
  if (code_point < kAsciiClasses.size())
    return code_point - 'a' < 26 ? code_point - 'a' + 'A' : code_point;
  static const CaseRuns runs = read_upper_runs();
  return in_other_case(runs, code_point);
}

ClassifiedChar classify_any(std::string_view text) {
  if (text.empty()) return {0, CharClass::end, 0};
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < kAsciiClasses.size()) return {first, kAsciiClasses[first], 1};
  const Utf8Char c = utf8_decode(text);
  return {c.code_point, c.valid ? char_class(c.code_point) : CharClass::other, c.length};
}

}  // namespace sluice
