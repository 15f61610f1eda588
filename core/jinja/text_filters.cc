// jinja2's filters of texts.
#include <algorithm>

#include "jinja/filters.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// Calls a method of the value's text.
Value text_method(Interpreter& run, const Value& self, const char* name, Arguments& arguments) {
  const Value text = run.str(self);
  return text.is_missing() ? text : run.call(run.attribute(text, name), arguments);
}

Value upper_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  return text_method(run, self, "upper", arguments);
}
Value lower_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  return text_method(run, self, "lower", arguments);
}
Value capitalize_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  return text_method(run, self, "capitalize", arguments);
}

Value trim_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!arguments.has(0)) arguments.list.clear();
  return text_method(run, self, "strip", arguments);
}

Value replace_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!arguments.some(2)) arguments.list.pop_back();
  for (size_t i = 0; i < 2; ++i) arguments.list[i] = run.str(arguments[i]);
  return run.ok() ? text_method(run, self, "replace", arguments) : Value();
}

// Every word begins with a large letter.
Value title_filter(Interpreter& run, const Value& self, Arguments&) {
  const Value text = run.str(self);
  if (text.is_missing()) return {};
  bool begins = true;
  return change_case(run.meter, text, [&begins](uint32_t c) {
    const bool first = begins;
    constexpr std::string_view kOpening = "-({[<";
    begins =
        is_space(c) || (c < 0x80 && kOpening.find(static_cast<char>(c)) != std::string_view::npos);
    return first ? Case::upper : Case::lower;
  });
}

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
  if (!is_text(run, self)) return {};
  Value indent = arguments.has(0) ? arguments[0] : Value::integer(4);
  if (!indent.is_text()) {
    const int64_t width = run.integer_of(indent, 4);
    if (width > 10'000) return run.fail("an indent of $ is too wide", width);
    indent = run.own(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '));
  }
  if (!run.ok()) return {};
  const Text& all = self.as<Text>();
  const Text& before = indent.as<Text>();
  const auto lines = split_lines(run.meter, all.text, run.limits.max_items, false);
  if (lines.size() > run.limits.max_items) return run.fail("a text has too many lines");
  TextWriter out(run.meter);
  if (arguments.yes(1)) out.copy(before);
  for (size_t i = 0; i < lines.size() && run.ok(); ++i) {
    if (i > 0) {
      // The line end is where the line before stops.
      const auto at = static_cast<size_t>(lines[i - 1].data() - all.text.data());
      out.change("\n", all, at + lines[i - 1].size());
    }
    if (i > 0 && (arguments.yes(2) || !lines[i].empty())) out.copy(before);
    out.copy(all, lines[i]);
  }
  // A line end at the end begins an empty line.
  if (!lines.empty() &&
      lines.back().data() + lines.back().size() < all.text.data() + all.text.size()) {
    out.change("\n", all, all.text.size() - 1);
    if (arguments.yes(2)) out.copy(before);
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

Value marked(Value text) {
  if (!text.is_missing()) text.as<Text>().escaped = true;
  return text;
}

Value escape_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text() && self.as<Text>().escaped) return self;
  const Value text = run.str(self);
  if (text.is_missing()) return {};
  TextWriter out(run.meter);
  escape_html(out, text.as<Text>());
  return marked(out.take());
}

Value safe_filter(Interpreter& run, const Value& self, Arguments&) {
  TextWriter out(run.meter);
  run.write(out, self);
  return run.ok() ? marked(out.take()) : Value();
}

// Appends a text without what stands between these marks.
std::string without(Meter& meter, std::string_view rest, std::string_view open,
                    std::string_view close) {
  std::string out;
  for (;;) {
    const size_t begin = find_part(meter, rest, open);
    const size_t end = begin == std::string_view::npos
                           ? begin
                           : find_part(meter, rest, close, begin + open.size());
    if (end == std::string_view::npos) return out.append(rest);
    out += rest.substr(0, begin);
    rest.remove_prefix(end + close.size());
  }
}

// The result is from the input as a whole if anything of the text is.
Value striptags_filter(Interpreter& run, const Value& self, Arguments&) {
  const Value text = run.str(self);
  // Two copies at a time besides the text.
  if (text.is_missing() || !run.room(uint64_t{3} * text.as_text().size())) return {};
  // A tag ends at the next ">", a comment at the next "-->".
  const std::string plain =
      without(run.meter, without(run.meter, text.as_text(), "<!--", "-->"), "<", ">");
  TextWriter out(run.meter);
  for (const std::string_view word : split_words(run.meter, plain, SIZE_MAX, false)) {
    if (out.size() > 0) out.own(" ");
    for (size_t at = 0; at < word.size() && run.ok();) {
      constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
          {"&lt;", "<"},  {"&gt;", ">"},   {"&quot;", "\""}, {"&#34;", "\""},
          {"&#39;", "'"}, {"&apos;", "'"}, {"&amp;", "&"},
      };
      const std::string_view rest = word.substr(at);
      const auto* const found =
          rest[0] != '&' ? std::end(kEntities)
                         : std::find_if(std::begin(kEntities), std::end(kEntities),
                                        [&](const auto& e) { return rest.starts_with(e.first); });
      const bool entity = found != std::end(kEntities);
      const size_t n = entity ? found->first.size() : std::min(rest.find('&', 1), rest.size());
      out.own(entity ? found->second : rest.substr(0, n));
      at += n;
    }
  }
  if (text.from_input()) out.mark_input(0);
  return out.take();
}

constexpr Builtin kTextFilters[] = {
    {"upper", upper_filter, "", 0},
    {"lower", lower_filter, "", 0},
    {"capitalize", capitalize_filter, "", 0},
    {"title", title_filter, "", 0},
    {"trim", trim_filter, "chars", 0},
    {"replace", replace_filter, "old new count", 2},
    {"format", format_filter, "*", 0},
    {"indent", indent_filter, "width first blank", 0},
    {"truncate", truncate_filter, "length killwords end leeway", 0},
    {"e", escape_filter, "", 0},
    {"escape", escape_filter, "", 0},
    {"safe", safe_filter, "", 0},
    {"striptags", striptags_filter, "", 0},
};

}  // namespace

std::span<const Builtin> text_filters() { return kTextFilters; }

}  // namespace sluice::jinja
