// jinja2's filters of texts.
#include <algorithm>

#include "base/utf8.h"
#include "jinja/filters.h"
#include "jinja/methods.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// Calls a method of the value's text.
Value text_method(Interpreter& run, const Value& self, const char* name, Arguments& arguments) {
  const Value text = self.is_text() ? self : run.text(run.str(self));
  return run.call(run.attribute(text, run.text(std::string_view(name))), arguments);
}

// The arguments without those at the end that were not given.
Arguments given(const Arguments& arguments) {
  Arguments copy;
  for (const Value& value : arguments.list) {
    if (value.is_missing()) break;
    copy.list.push_back(value);
  }
  return copy;
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
  Arguments chars = given(arguments);
  return text_method(run, self, "strip", chars);
}

Value center_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  Arguments width;
  width.list = {arguments.has(0) ? arguments[0] : Value::integer(80)};
  return text_method(run, self, "center", width);
}

Value replace_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  Arguments texts;
  texts.list = {run.text(run.str(arguments[0])), run.text(run.str(arguments[1]))};
  if (arguments.has(2) && !arguments[2].is(Kind::none)) texts.list.push_back(arguments[2]);
  return text_method(run, self, "replace", texts);
}

// Every word begins with a large letter.
Value title_filter(Interpreter& run, const Value& self, Arguments&) {
  const std::string text = run.str(self);
  run.work(text.size() / 8);
  std::string out;
  bool begins = true;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Char c = utf8_decode(rest);
    out += change_case(rest.substr(0, c.length), begins ? Case::upper : Case::lower);
    begins =
        is_space(c.code_point) ||
        (c.code_point < 0x80 && std::string_view("-({[<").find(rest[0]) != std::string_view::npos);
    rest.remove_prefix(c.length);
  }
  return run.text(std::move(out));
}

Value format_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!arguments.list.empty() && !arguments.named.empty()) {
    return run.fail("can't handle positional and keyword arguments at the same time");
  }
  const Value format = self.is_text() ? self : run.text(run.str(self));
  const Value values = arguments.named.empty() ? run.tuple(std::move(arguments.list))
                                               : run.dict(std::move(arguments.named));
  return values.is_missing() ? Value() : format_percent(run, format, values);
}

// A text, or an error for another value: what Python's own operations on a str do.
bool need_text(Interpreter& run, const Value& self) {
  if (self.is_text()) return true;
  run.refuse(self, "this filter needs a text, not a value of the type $");
  return false;
}

Value indent_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!need_text(run, self)) return {};
  std::string indent;
  if (arguments.has(0) && arguments[0].is_text()) {
    indent = arguments[0].as_text();
  } else {
    const int64_t width = run.integer_of(arguments[0], 4);
    if (width > 10'000) return run.fail("an indent of ", width, " is too wide");
    indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool blank = is_given(arguments, 2);
  const std::string text = std::string(self.as_text()) + "\n";
  const auto lines = split_lines(text, false, run.limits.max_items);
  if (lines.size() > run.limits.max_items) return run.fail("a text has too many lines");
  run.work(text.size() / 16);
  if (!run.ok() || !run.room(text.size() + uint64_t{lines.size()} * (indent.size() + 8))) return {};
  std::string out = is_given(arguments, 1) ? indent : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += indent;
    out += lines[i];
  }
  return run.text(std::move(out));
}

Value truncate_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t length = run.integer_of(arguments[0], 255);
  const std::string end = run.text_of(arguments[2], "...");
  const bool has_leeway = arguments.has(3) && !arguments[3].is(Kind::none);
  const int64_t leeway = has_leeway ? run.integer_of(arguments[3], 5) : 5;
  const auto end_chars = static_cast<int64_t>(count_chars(end));
  if (!run.ok()) return {};
  if (length < end_chars) return run.fail("expected length >= ", end_chars, ", got ", length);
  if (leeway < 0) return run.fail("expected leeway >= 0, got ", leeway);
  const int64_t chars = length_of(self);
  if (chars < 0) return run.refuse(self, "object of type '$' has no len()");
  if (chars <= length || chars - length <= leeway) return self;
  if (!need_text(run, self)) return {};
  std::string_view kept = sub_chars(self.as_text(), static_cast<size_t>(chars), 0,
                                    static_cast<size_t>(length - end_chars));
  if (!is_given(arguments, 1)) kept = kept.substr(0, kept.rfind(' '));
  return run.text(concat(kept, end));
}

Value wordcount_filter(Interpreter& run, const Value& self, Arguments&) {
  const std::string text = run.str(self);
  run.work(text.size() / 16);
  int64_t count = 0;
  bool inside = false;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Char c = utf8_decode(rest);
    const bool part = is_alpha(c.code_point) || is_decimal(c.code_point) || c.code_point == '_';
    count += part && !inside ? 1 : 0;
    inside = part;
    rest.remove_prefix(c.length);
  }
  return Value::integer(count);
}

// Lines of words and the white space between them, of at most `width` characters.
void wrap_line(std::string_view line, size_t width, bool break_words, std::string_view between,
               std::string& out) {
  std::string current;
  size_t current_chars = 0;
  bool first = true;
  const auto finish = [&] {
    const std::string_view kept = strip(current, false, true);
    if (!kept.empty() || (first && !current.empty())) {
      if (!first) out += between;
      out += kept;
      first = false;
    }
    current.clear();
    current_chars = 0;
  };
  for (size_t at = 0; at < line.size();) {
    const bool space = is_space(utf8_decode(line.substr(at)).code_point);
    size_t end = at;
    while (end < line.size() && is_space(utf8_decode(line.substr(end)).code_point) == space) {
      end += char_bytes(line.substr(end));
    }
    std::string_view chunk = line.substr(at, end - at);
    at = end;
    size_t chars = count_chars(chunk);
    if (current.empty() && space && !first) continue;  // no white space where a line begins
    if (current_chars + chars <= width) {
      current += chunk;
      current_chars += chars;
      continue;
    }
    if (chars > width && break_words && !space) {
      while (chars > 0) {
        if (current_chars >= width) finish();
        const std::string_view part = sub_chars(chunk, chars, 0, width - current_chars);
        const size_t taken = count_chars(part);
        current += part;
        current_chars += taken;
        chunk.remove_prefix(part.size());
        chars -= taken;
      }
      continue;
    }
    finish();
    if (space) continue;
    current = chunk;
    current_chars = chars;
  }
  finish();
}

Value wordwrap_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t width = run.integer_of(arguments[0], 79);
  const bool break_words = !arguments.has(1) || is_true(arguments[1]);
  const bool has_between = arguments.has(2) && !arguments[2].is(Kind::none);
  const std::string between = has_between ? run.str(arguments[2]) : "\n";
  if (!need_text(run, self) || !run.ok()) return {};
  if (width <= 0) return run.fail("invalid width ", width, " (must be > 0)");
  if (!run.room(uint64_t{self.as_text().size()} * (2 + between.size()))) return {};
  run.work(self.as_text().size());
  const auto lines = split_lines(self.as_text(), false, run.limits.max_items);
  if (lines.size() > run.limits.max_items) return run.fail("a text has too many lines");
  std::string out;
  bool first = true;
  for (const std::string_view line : lines) {
    if (!first) out += between;
    first = false;
    wrap_line(line, static_cast<size_t>(width), break_words, between, out);
  }
  return run.text(std::move(out));
}

// --- HTML and addresses ---

Value marked(Interpreter& run, std::string text) {
  Value made = run.text(std::move(text));
  made.as<Text>().escaped = true;
  return made;
}

Value escape_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text() && self.as<Text>().escaped) return self;
  const std::string text = run.str(self);
  if (!run.room(uint64_t{text.size()} * 5)) return {};
  run.work(text.size() / 16);
  return marked(run, escape_html(text));
}

Value forceescape_filter(Interpreter& run, const Value& self, Arguments&) {
  const std::string text = run.str(self);
  return run.room(uint64_t{text.size()} * 5) ? marked(run, escape_html(text)) : Value();
}

Value safe_filter(Interpreter& run, const Value& self, Arguments&) {
  return marked(run, run.str(self));
}

Value striptags_filter(Interpreter& run, const Value& self, Arguments&) {
  const std::string text = run.str(self);
  run.work(text.size() / 8);
  if (!run.room(uint64_t{text.size()} * 8)) return {};
  // A tag ends at the next ">", a comment at the next "-->".
  const auto without = [](std::string_view rest, std::string_view open, std::string_view close) {
    std::string out;
    for (;;) {
      const size_t begin = rest.find(open);
      const size_t end =
          begin == std::string_view::npos ? begin : rest.find(close, begin + open.size());
      if (end == std::string_view::npos) return out.append(rest);
      out += rest.substr(0, begin);
      rest.remove_prefix(end + close.size());
    }
  };
  const std::string plain = without(without(text, "<!--", "-->"), "<", ">");
  std::string out;
  for (const std::string_view word : split_words(plain)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  constexpr std::pair<const char*, const char*> kEntities[] = {
      {"&lt;", "<"},  {"&gt;", ">"},   {"&quot;", "\""}, {"&#34;", "\""},
      {"&#39;", "'"}, {"&apos;", "'"}, {"&amp;", "&"},
  };
  for (const auto& [entity, meant] : kEntities) out = replace_all(out, entity, meant, -1);
  return run.text(std::move(out));
}

std::string quoted(std::string_view text, bool in_query) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const bool kept = (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
                      std::string_view("_.-~").find(c) != std::string_view::npos ||
                      (c == '/' && !in_query);
    if (kept && byte < 0x80) {
      out += c;
    } else if (c == ' ' && in_query) {
      out += '+';
    } else {
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

Value urlencode_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text() || (length_of(self) < 0 && !self.is(Kind::iterator))) {
    const std::string text = run.str(self);
    return run.room(uint64_t{text.size()} * 3) ? run.text(quoted(text, false)) : Value();
  }
  std::vector<Value> items;
  Arguments none;
  const Value pairs = self.is(Kind::dict)
                          ? run.call(run.attribute(self, run.text(std::string_view("items"))), none)
                          : self;
  if (pairs.is_missing() || !run.collect(pairs, items)) return {};
  std::string out;
  for (const Value& item : items) {
    std::vector<Value> pair;
    if (!run.collect(item, pair)) return {};
    if (pair.size() != 2) return run.fail("urlencode needs pairs of a name and a value");
    if (!out.empty()) out += '&';
    out += quoted(run.str(pair[0]), true) + "=" + quoted(run.str(pair[1]), true);
    if (!run.room(out.size() * 2)) return {};
  }
  return run.text(std::move(out));
}

Value xmlattr_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!self.is(Kind::dict)) return run.refuse(self, "'$' object has no attribute 'items'");
  std::string out;
  for (const auto& [key, value] : self.entries()) {
    if (value.is(Kind::none) || value.is(Kind::undefined)) continue;
    const std::string name = run.str(key);
    if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return run.fail("Invalid character in attribute name: ", run.repr(key));
    }
    if (!out.empty() || !arguments.has(0) || is_true(arguments[0])) out += ' ';
    out += escape_html(name) + "=\"" + escape_html(run.str(value)) + "\"";
    if (!run.room(out.size() * 2)) return {};
  }
  return run.text(std::move(out));
}

constexpr Builtin kTextFilters[] = {
    {"upper", upper_filter, "", 0},
    {"lower", lower_filter, "", 0},
    {"capitalize", capitalize_filter, "", 0},
    {"title", title_filter, "", 0},
    {"trim", trim_filter, "chars", 0},
    {"center", center_filter, "width", 0},
    {"replace", replace_filter, "old new count", 2},
    {"format", format_filter, "*", 0},
    {"indent", indent_filter, "width first blank", 0},
    {"truncate", truncate_filter, "length killwords end leeway", 0},
    {"wordcount", wordcount_filter, "", 0},
    {"wordwrap", wordwrap_filter, "width break_long_words wrapstring break_on_hyphens", 0},
    {"e", escape_filter, "", 0},
    {"escape", escape_filter, "", 0},
    {"forceescape", forceescape_filter, "", 0},
    {"safe", safe_filter, "", 0},
    {"striptags", striptags_filter, "", 0},
    {"urlencode", urlencode_filter, "", 0},
    {"xmlattr", xmlattr_filter, "autospace", 0},
};

}  // namespace

std::span<const Builtin> text_filters() { return kTextFilters; }

}  // namespace sluice::jinja
