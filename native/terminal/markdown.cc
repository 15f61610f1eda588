#include "terminal/markdown.h"

#include <algorithm>
#include <utility>

namespace sluice::terminal {
namespace {

constexpr size_t kMostHeld = 400;  // bytes that are held back for the end of a span or a mark
constexpr int kMostDepth = 6;      // spans in spans
constexpr char kDim[] = "\033[2m";
constexpr char kPlain[] = "\033[0m";
constexpr size_t kNone = std::string_view::npos;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The length of the run of equal characters that begins at text[at].
size_t run_at(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_not_of(text[at], at), text.size());
  return end - at;
}

std::string dimmed(std::string_view text) { return kDim + std::string(text) + kPlain; }

// The position of the `run` backquotes that end the code span whose text begins at `from`.
size_t end_of_code(std::string_view text, size_t from, size_t run, bool whole) {
  for (size_t at = text.find('`', from); at < text.size(); at = text.find('`', at)) {
    const size_t found = run_at(text, at);
    if (found == run && (whole || at + found < text.size())) return at;
    at += found;
  }
  return kNone;
}

// True if `found` marks can end a span that `run` marks have begun: ** and *** end **; * and ***
// end *, but ** would begin another span in it.
bool ends_span(size_t found, size_t run) {
  return run == 1 ? found == 1 || found == 3 : found >= run && found <= 3;
}

// The position of the `run` marks that end the span whose text begins at `from`.
size_t end_of_span(std::string_view text, size_t from, size_t run, bool whole) {
  const char mark = text[from - 1];
  for (size_t at = from; at < text.size();) {
    if (text[at] == '\\') {
      at += 2;
    } else if (text[at] == '`') {
      const size_t quotes = run_at(text, at);
      const size_t end = end_of_code(text, at + quotes, quotes, whole);
      if (end == kNone && !whole) return kNone;
      at = end == kNone ? at + quotes : end + quotes;
    } else if (text[at] != mark) {
      ++at;
    } else {
      const size_t found = run_at(text, at);
      const size_t next = at + found;
      if (next == text.size() && !whole) return kNone;
      const bool within_word = next < text.size() && is_letter(text[next]);
      if (at > from && !is_blank(text[at - 1]) && !within_word && ends_span(found, run))
        return next - run;
      at = next;
    }
  }
  return kNone;
}

}  // namespace

std::string MarkdownFilter::escape(const Style& style) {
  std::string out = "\033[0";
  if (style.bold) out += ";1";
  if (style.italic) out += ";3";
  if (style.underlined) out += ";4";
  if (style.struck) out += ";9";
  if (style.code) out += ";36";
  return out + "m";
}

// Renders the beginning of `text`, a part of a line, as far as its format is certain; returns the
// number of bytes. `whole`: the line ends after it. `before`: the character before it.
size_t MarkdownFilter::format(std::string_view text, bool whole, const Style& style, char before,
                              int depth, std::string& out) {
  size_t at = 0;
  // The search for the end of a span looks at no more than this, so that long lines cost little.
  const auto held = [&] { return text.substr(0, std::min(text.size(), at + kMostHeld)); };
  const auto enough = [&] { return whole || text.size() - at >= kMostHeld; };
  const auto show = [&](size_t n) {
    out += text.substr(at, n);
    at += n;
    before = text[at - 1];
  };
  while (at < text.size()) {
    const char mark = text[at];
    if (mark == '\\') {
      if (at + 1 == text.size() && !whole) return at;
      if (at + 1 < text.size() && std::string_view("*_`#~").contains(text[at + 1])) ++at;
      show(1);
      continue;
    }
    if (mark != '`' && mark != '*' && mark != '_' && mark != '~') {
      show(std::min(text.find_first_of("\\`*_~", at), text.size()) - at);
      continue;
    }
    const size_t run = run_at(text, at);
    const size_t from = at + run;
    if (from == text.size() && !enough()) return at;
    const bool code = mark == '`';
    const bool opens =
        from < text.size() && (code || (!is_blank(text[from]) && !is_letter(before) &&
                                        depth < kMostDepth && (mark == '~' ? run == 2 : run <= 3)));
    if (!opens) {
      show(run);
      continue;
    }
    const bool all = whole && held().size() == text.size();
    const size_t end =
        code ? end_of_code(held(), from, run, all) : end_of_span(held(), from, run, all);
    if (end == kNone) {
      if (!enough()) return at;
      show(run);
      continue;
    }
    std::string_view inner = text.substr(from, end - from);
    Style own = style;
    own.code |= code;
    own.struck |= mark == '~';
    own.italic |= (mark == '*' || mark == '_') && run != 2;
    own.bold |= (mark == '*' || mark == '_') && run >= 2;
    out += escape(own);
    if (code) {
      const bool padded = inner.size() > 2 && inner.front() == ' ' && inner.back() == ' ';
      out += padded ? inner.substr(1, inner.size() - 2) : inner;
    } else {
      format(inner, true, own, ' ', depth + 1, out);
    }
    out += escape(style);
    at = end + run;
    before = text[at - 1];
  }
  return at;
}

void MarkdownFilter::take(size_t n) {
  if (n > 0) before_ = pending_[n - 1];
  pending_.erase(0, n);
}

// Renders a line of a code block, or its last line. False: it isn't known yet which.
bool MarkdownFilter::begin_code_line(std::string_view line, bool whole, std::string& out) {
  rest_ = Rest::plain;
  const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t run = indent < line.size() && line[indent] == fence_[0] ? run_at(line, indent) : 0;
  const bool may_end = line.find_first_not_of(" \t", indent + run) == kNone;
  if (!may_end) return true;
  if (!whole && line.size() < kMostHeld) {
    rest_ = Rest::begins;
    return false;
  }
  if (run < fence_.size()) return true;
  out += dimmed(line);
  fence_.clear();
  take(line.size());
  return true;
}

// Renders the beginning of a line: a heading, a list item, ... False: it isn't known yet which.
bool MarkdownFilter::begin_line(std::string_view line, bool whole, std::string& out) {
  if (!fence_.empty()) return begin_code_line(line, whole, out);
  const bool wait = !whole && line.size() < kMostHeld;
  const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  if (indent == line.size()) {
    if (wait) return false;
    rest_ = Rest::formatted;
    return true;
  }
  const char mark = line[indent];
  const size_t run = run_at(line, indent);
  const size_t next = indent + run;
  if (next == line.size() && wait && std::string_view("`~#>-*+_").contains(mark)) return false;
  const bool blank = next < line.size() && is_blank(line[next]);
  rest_ = Rest::formatted;
  switch (mark) {
    case '|':
      rest_ = Rest::plain;
      break;
    case '`':
    case '~':
      if (run < 3 || (mark == '`' && line.find('`', next) != kNone)) break;
      if (wait) {
        rest_ = Rest::begins;
        return false;
      }
      out += dimmed(line);
      fence_.assign(run, mark);
      rest_ = Rest::plain;
      take(line.size());
      break;
    case '#':
      if (run > 6 || !blank) break;
      style_.bold = true;
      style_.underlined = run <= 2;
      out += escape(style_);
      take(std::min(line.find_first_not_of(" \t", next), line.size()));
      break;
    case '>': {
      out += std::string(line.substr(0, indent)) + dimmed("\u2502") + " ";
      take(indent + 1 + (indent + 1 < line.size() && line[indent + 1] == ' ' ? 1 : 0));
      rest_ = Rest::begins;  // a quote in a quote, a list, ...
      break;
    }
    case '-':
    case '*':
    case '+':
    case '_': {
      const bool only = std::ranges::all_of(line.substr(indent),
                                            [&](char c) { return c == mark || is_blank(c); });
      if (only && wait) {
        rest_ = Rest::begins;
        return false;
      }
      if (only && mark != '+' && std::ranges::count(line, mark) >= 3) {
        std::string rule;
        for (int i = 0; i < 24; ++i) rule += "\u2500";
        out += dimmed(rule);
        take(line.size());
      } else if (mark != '_' && run == 1 && blank) {
        out += std::string(line.substr(0, indent)) + "\u2022 ";
        take(next + 1);
      }
      break;
    }
    default:
      break;
  }
  return true;
}

// Renders a part of the pending text. False: no part is certain yet.
bool MarkdownFilter::step(std::string& out, bool end) {
  const size_t line_end = pending_.find('\n');
  const bool whole = end || line_end != kNone;
  const std::string_view line = std::string_view(pending_).substr(0, line_end);
  if (!line.empty()) {
    if (rest_ == Rest::begins) return begin_line(line, whole, out);
    if (rest_ == Rest::plain) {
      out += line;
      take(line.size());
      return true;
    }
    const size_t shown = format(line, whole, style_, before_, 0, out);
    take(shown);
    return shown > 0;
  }
  if (line_end == kNone) return false;
  if (style_ != Style()) out += kPlain;
  out += '\n';
  pending_.erase(0, 1);
  rest_ = Rest::begins;
  style_ = {};
  before_ = ' ';
  return true;
}

std::string MarkdownFilter::push(std::string_view text) {
  pending_ += text;
  std::string out;
  while (step(out, false)) {
  }
  return out;
}

std::string MarkdownFilter::finish() {
  std::string out;
  while (step(out, true)) {
  }
  if (style_ != Style()) out += kPlain;
  *this = {};
  return out;
}

}  // namespace sluice::terminal
