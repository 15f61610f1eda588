// jinja2's filters of texts.
#include <algorithm>

#include "jinja/filters.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

Value format_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!arguments.list.empty() && !arguments.named.empty()) {
    return run.fail("can't handle positional and keyword arguments at the same time");
  }
  const Value format = run.str(self);
  const Value values = arguments.named.empty() ? run.tuple(std::move(arguments.list))
                                               : run.dict(std::move(arguments.named));
  return run.ok() ? format_percent(run, format, values) : Value();
}

// A text, or an error for another value: what Python's own operations on a str do.
bool is_text(Interpreter& run, const Value& self) {
  if (!self.is_text()) run.refuse(self, "this filter needs a text, not a value of the type $");
  return self.is_text();
}

Value indent_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value before = indent_of(run, arguments.has(0) ? arguments[0] : Value::integer(4));
  if (!is_text(run, self) || !run.ok()) return {};
  const Text& all = self.as<Text>();
  const bool blank = arguments.yes(2);
  // Whether the indent stands in front of what comes, and what does not end the line at once.
  bool here = arguments.yes(1), later = false;
  TextWriter out(run.meter);
  Chars chars(run.meter, all.text);
  for (bool more = true; more && run.ok();) {
    if (here) out.copy(before.as<Text>());
    here = false;
    more = chars.next();
    if (!more || (chars.code() == '\r' && all.text.substr(chars.at()).starts_with("\r\n")))
      continue;
    if (is_line_end(chars.code())) {
      out.change("\n", all, chars.at());
      here = blank;
      later = !blank;
    } else {
      if (std::exchange(later, false)) out.copy(before.as<Text>());
      out.copy(all, std::string_view(all.text).substr(chars.at(), chars.end() - chars.at()));
    }
  }
  return out.take();
}

Value truncate_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t length = run.integer_of(arguments[0], 255);
  const Value end = run.text_of(arguments[2], "...");
  const int64_t leeway = arguments.some(3) ? run.integer_of(arguments[3], 5) : 5;
  if (!run.ok()) return {};
  const int64_t end_chars = length_of(end);
  if (length < end_chars) return run.fail("expected length >= $", end_chars);
  if (leeway < 0) return run.fail("expected leeway >= 0, got $", leeway);
  const int64_t chars = length_of(self);
  if (chars < 0) return run.refuse(self, "object of type '$' has no len()");
  if (chars <= length || chars - length <= leeway) return self;
  if (!is_text(run, self)) return {};
  run.meter.scan(self.as_text().size());
  std::string_view kept = sub_chars(self.as_text(), static_cast<size_t>(chars), 0,
                                    static_cast<size_t>(length - end_chars));
  if (!arguments.yes(1)) kept = kept.substr(0, kept.rfind(' '));
  TextWriter out(run.meter);
  out.copy(self.as<Text>(), kept);
  out.copy(end.as<Text>());
  return out.take();
}

// --- HTML ---

// The text as HTML. `which`: whether that changes its signs; else it is HTML already.
Value html_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool change = arguments.which != 0;
  if (change && self.is_text() && self.as<Text>().escaped) return self;
  const Value text = run.str(self);
  if (text.is_missing()) return {};
  TextWriter out(run.meter);
  if (change) {
    escape_html(out, text.as<Text>());
  } else {
    out.copy(text.as<Text>());
  }
  Value html = out.take();
  if (!html.is_missing()) html.as<Text>().escaped = true;
  return html;
}

// What stands between two marks, with them, becomes another text.
struct Change {
  std::string_view open, close, instead;
};
// A tag ends at the next ">", a comment at the next "-->". What begins other signs comes last.
constexpr Change kPlain[] = {
    {"<!--", "-->", ""}, {"<", ">", ""},       {"&lt;", "", "<"},
    {"&gt;", "", ">"},   {"&quot;", "", "\""}, {"&#34;", "", "\""},
    {"&#39;", "", "'"},  {"&apos;", "", "'"},  {"&amp;", "", "&"},
};

std::string changed(Meter& meter, std::string_view rest, const Change& change) {
  std::string out;
  for (;;) {
    meter.work(4);
    const size_t begin = find_part(meter, rest, change.open);
    const size_t end = begin == std::string_view::npos
                           ? begin
                           : find_part(meter, rest, change.close, begin + change.open.size());
    if (end == std::string_view::npos) return out.append(rest);
    out.append(rest.substr(0, begin)).append(change.instead);
    rest.remove_prefix(end + change.close.size());
  }
}

// The result is from the input as a whole if anything of the text is.
Value striptags_filter(Interpreter& run, const Value& self, Arguments&) {
  const Value text = run.str(self);
  // Two copies at a time besides the text.
  if (text.is_missing() || !run.room(uint64_t{3} * text.as_text().size())) return {};
  std::string plain(text.as_text());
  for (const Change& change : kPlain) plain = changed(run.meter, plain, change);
  TextWriter out(run.meter);
  for (const std::string_view word : split_words(run.meter, plain, SIZE_MAX, false)) {
    if (out.size() > 0) out.own(" ");
    out.own(word);
  }
  if (text.from_input()) out.mark_input(0);
  return out.take();
}

constexpr Builtin kTextFilters[] = {
    {"upper", change_case, "", 0, kUpper},
    {"lower", change_case, "", 0, kLower},
    {"capitalize", change_case, "", 0, kCapital},
    {"title", change_case, "", 0, kWords},
    {"trim", strip_text, "chars", 0, kLeft | kRight},
    {"replace", replace_text, "old new count", 2, kFilter},
    {"join", join_items, "d attribute", 0, kFilter},
    {"format", format_filter, "*", 0},
    {"indent", indent_filter, "width first blank", 0},
    {"truncate", truncate_filter, "length killwords end leeway", 0},
    {"escape e", html_filter, "", 0, true},
    {"safe", html_filter, "", 0, false},
    {"striptags", striptags_filter, "", 0},
};

}  // namespace

std::span<const Builtin> text_filters() { return kTextFilters; }

}  // namespace sluice::jinja
