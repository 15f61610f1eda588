// The methods of Python's str.
#include <algorithm>

#include "base/utf8.h"
#include "jinja/methods.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

bool is_absent(const Arguments& arguments, size_t i) {
  return !arguments.has(i) || arguments[i].is(Kind::none);
}

// The argument as a text; it fails for another type.
std::string_view need_text(Interpreter& run, const Arguments& arguments, size_t i) {
  if (arguments[i].is_text()) return arguments[i].as_text();
  run.refuse(arguments[i], "must be str, not $");
  return {};
}

Value strip_method(Interpreter& run, const Value& self, Arguments& arguments, int ends) {
  const bool left = (ends & 1) != 0;
  const bool right = (ends & 2) != 0;
  run.work(self.as_text().size() / 64);
  if (is_absent(arguments, 0)) return run.text(strip(self.as_text(), left, right));
  const std::string_view chars = need_text(run, arguments, 0);
  // Each character is looked for in all of them.
  run.budget.steps += uint64_t{self.as_text().size()} * chars.size() / 4096;
  return run.ok() ? run.text(strip_chars(self.as_text(), chars, left, right)) : Value();
}

Value list_of(Interpreter& run, const std::vector<std::string_view>& parts) {
  if (parts.size() > run.limits.max_items) {
    return run.fail("a list has more than ", run.limits.max_items, " items");
  }
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(run.text(part));
  run.work(items.size());
  return run.list(std::move(items));
}

// From the left or from the right, at white space.
std::vector<std::string_view> split_space(std::string_view rest, int64_t most, bool right) {
  std::vector<std::string_view> parts;
  for (;;) {
    rest = strip(rest, !right, right);
    if (rest.empty()) break;
    size_t n = 0;
    if (most >= 0 && static_cast<int64_t>(parts.size()) >= most) {
      n = rest.size();
    } else if (right) {
      size_t at = rest.size();
      while (at > 0) {
        size_t begin = at - 1;
        while (begin > 0 && (static_cast<uint8_t>(rest[begin]) & 0xc0) == 0x80) --begin;
        if (is_space(utf8_decode(rest.substr(begin)).code_point)) break;
        at = begin;
      }
      n = rest.size() - at;
    } else {
      while (n < rest.size() && !is_space(utf8_decode(rest.substr(n)).code_point)) {
        n += char_bytes(rest.substr(n));
      }
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

Value split_method(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const int64_t asked = run.integer_of(arguments[1], -1);
  // One more than a list may have is enough to fail.
  const auto limit = static_cast<int64_t>(run.limits.max_items);
  const int64_t most = asked < 0 ? limit : std::min(asked, limit);
  std::string_view rest = self.as_text();
  run.work(rest.size() / 32);
  if (!run.ok() || !run.room(uint64_t{rest.size()} * 8)) return {};
  if (is_absent(arguments, 0)) return list_of(run, split_space(rest, most, right));
  const std::string_view by = need_text(run, arguments, 0);
  if (!run.ok()) return {};
  if (by.empty()) return run.fail("empty separator");
  if (!run.can_search(rest, by)) return {};
  std::vector<std::string_view> parts;
  while (static_cast<int64_t>(parts.size()) < most) {
    const size_t at = right ? rest.rfind(by) : rest.find(by);
    if (at == std::string_view::npos) break;
    parts.push_back(right ? rest.substr(at + by.size()) : rest.substr(0, at));
    rest = right ? rest.substr(0, at) : rest.substr(at + by.size());
  }
  parts.push_back(rest);
  if (right) std::reverse(parts.begin(), parts.end());
  return list_of(run, parts);
}

Value splitlines(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!run.room(uint64_t{self.as_text().size()} * 8)) return {};
  const bool keep_ends = arguments.has(0) && is_true(arguments[0]);
  run.work(self.as_text().size() / 32);
  return list_of(run, split_lines(self.as_text(), keep_ends, run.limits.max_items));
}

// The part of a text between the arguments i and i + 1, as places of characters; `from` is where it
// begins. False if it begins after the end.
bool window(Interpreter& run, const Value& self, const Arguments& arguments, size_t i,
            std::string_view& part, int64_t& from) {
  const auto length = static_cast<int64_t>(self.as<Text>().chars);
  const auto bound = [&](size_t k, int64_t otherwise) {
    const int64_t at =
        is_absent(arguments, k) ? otherwise : run.integer_of(arguments[k], otherwise);
    return at < 0 ? std::max<int64_t>(std::max(at, -length) + length, 0) : at;
  };
  from = bound(i, 0);
  const int64_t to = std::min(bound(i + 1, length), length);
  run.work(self.as_text().size() / 64);
  if (from > length || from > to) return false;
  if (self.as<Text>().chars != self.as_text().size()) run.work(static_cast<size_t>(to) / 16);
  part = sub_chars(self.as_text(), self.as<Text>().chars, static_cast<size_t>(from),
                   static_cast<size_t>(to));
  return run.ok();
}

int64_t find_place(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const std::string_view wanted = need_text(run, arguments, 0);
  std::string_view part;
  int64_t from = 0;
  if (!run.ok() || !window(run, self, arguments, 1, part, from)) return -1;
  if (!run.can_search(part, wanted)) return -1;
  const size_t at = right ? part.rfind(wanted) : part.find(wanted);
  if (at == std::string_view::npos) return -1;
  return from + static_cast<int64_t>(count_chars(part.substr(0, at)));
}
Value find_method_of(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  return Value::integer(find_place(run, self, arguments, right));
}
Value index_method(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const int64_t at = find_place(run, self, arguments, right);
  return at < 0 ? run.fail("substring not found") : Value::integer(at);
}

Value count_method(Interpreter& run, const Value& self, Arguments& arguments) {
  const std::string_view wanted = need_text(run, arguments, 0);
  std::string_view part;
  int64_t from = 0;
  if (!run.ok() || !window(run, self, arguments, 1, part, from)) return Value::integer(0);
  if (!run.can_search(part, wanted)) return {};
  return Value::integer(static_cast<int64_t>(count_parts(part, wanted)));
}

Value affix_method(Interpreter& run, const Value& self, Arguments& arguments, bool end) {
  std::vector<Value> choices{arguments[0]};
  if (arguments[0].is(Kind::tuple)) choices = arguments[0].items();
  std::string_view part;
  int64_t from = 0;
  const bool valid = window(run, self, arguments, 1, part, from);
  for (const Value& choice : choices) {
    if (!choice.is_text()) {
      return run.fail(end ? "endswith" : "startswith",
                      " first arg must be str or a tuple of str, not ", type_name(choice));
    }
    run.work(choice.as_text().size() / 64);
    if (!run.ok()) return {};
    if (valid && (end ? part.ends_with(choice.as_text()) : part.starts_with(choice.as_text()))) {
      return Value::boolean(true);
    }
  }
  return Value::boolean(false);
}

Value case_method(Interpreter& run, const Value& self, Arguments&, Case to) {
  run.work(self.as_text().size() / 8);
  return run.text(change_case(self.as_text(), to));
}
Value title_method(Interpreter& run, const Value& self, Arguments&) {
  run.work(self.as_text().size() / 8);
  return run.text(title_case(self.as_text()));
}
Value capitalize_method(Interpreter& run, const Value& self, Arguments&) {
  run.work(self.as_text().size() / 8);
  return run.text(capitalize(self.as_text()));
}

Value replace_method(Interpreter& run, const Value& self, Arguments& arguments) {
  const std::string_view from = need_text(run, arguments, 0);
  const std::string_view to = need_text(run, arguments, 1);
  const int64_t most = run.integer_of(arguments[2], -1);
  if (!run.ok()) return {};
  const std::string_view text = self.as_text();
  if (!run.can_search(text, from)) return {};
  const uint64_t count = count_parts(text, from);
  const uint64_t limited =
      most < 0 ? count : std::min<uint64_t>(count, static_cast<uint64_t>(most));
  run.work(text.size() / 32);
  if (!run.room(text.size() + limited * to.size())) return {};
  return run.text(replace_all(text, from, to, most));
}

Value join_method(Interpreter& run, const Value& self, Arguments& arguments) {
  ItemCursor cursor;
  if (!run.start(arguments[0], cursor)) return {};
  std::string out;
  Value item;
  for (size_t i = 0; run.ok() && cursor.next(run, item); ++i) {
    if (!item.is_text()) {
      return run.fail("sequence item ", i, ": expected str instance, ", type_name(item), " found");
    }
    if (i > 0) out += self.as_text();
    out += item.as_text();
    run.work(1);
    if (!run.room(out.size())) return {};
  }
  return run.ok() ? run.text(std::move(out)) : Value();
}

Value format_method(Interpreter& run, const Value& self, Arguments& arguments) {
  return format_braces(run, self, arguments);
}
Value format_map_method(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!arguments[0].is(Kind::dict)) return run.fail("format_map() needs a mapping");
  Arguments named;
  named.named = arguments[0].entries();
  return format_braces(run, self, named);
}

// '<': left-justified, '>': right-justified, '^': in the middle.
Value pad_method(Interpreter& run, const Value& self, Arguments& arguments, char align) {
  const int64_t width = run.integer_of(arguments[0], 0);
  const std::string_view fill = arguments.has(1) ? need_text(run, arguments, 1) : " ";
  if (!run.ok()) return {};
  if (count_chars(fill) != 1)
    return run.fail("The fill character must be exactly one character long");
  const auto chars = static_cast<int64_t>(self.as<Text>().chars);
  if (width <= chars) return self;
  const auto missing = static_cast<uint64_t>(width - chars);
  if (missing > run.limits.max_bytes || !run.room(missing * fill.size() + self.as_text().size())) {
    return run.fail("a text is too long");
  }
  // Python puts the odd one on the left if the width is odd.
  const uint64_t left = align == '<'   ? 0
                        : align == '>' ? missing
                                       : missing / 2 + (missing & static_cast<uint64_t>(width) & 1);
  std::string out;
  for (uint64_t i = 0; i < left; ++i) out += fill;
  out += self.as_text();
  for (uint64_t i = left; i < missing; ++i) out += fill;
  run.work(out.size() / 16);
  return run.text(std::move(out));
}

Value zfill(Interpreter& run, const Value& self, Arguments& arguments) {
  const std::string_view text = self.as_text();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  Arguments pad;
  pad.list = {arguments[0], run.text(std::string_view("0"))};
  if (!sign) return pad_method(run, self, pad, '>');
  pad.list[0] = Value::integer(std::max<int64_t>(run.integer_of(arguments[0], 0), 1) - 1);
  const Value rest = pad_method(run, run.text(text.substr(1)), pad, '>');
  return rest.is_missing() ? rest : run.text(concat(text.substr(0, 1), rest.as_text()));
}

Value partition(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const std::string_view text = self.as_text();
  const std::string_view by = need_text(run, arguments, 0);
  if (!run.ok()) return {};
  if (by.empty()) return run.fail("empty separator");
  if (!run.can_search(text, by)) return {};
  const size_t at = right ? text.rfind(by) : text.find(by);
  const Value none = run.text(std::string());
  if (at == std::string_view::npos) {
    return right ? run.tuple({none, none, self}) : run.tuple({self, none, none});
  }
  return run.tuple(
      {run.text(text.substr(0, at)), run.text(by), run.text(text.substr(at + by.size()))});
}

Value remove_affix(Interpreter& run, const Value& self, Arguments& arguments, bool end) {
  std::string_view text = self.as_text();
  const std::string_view affix = need_text(run, arguments, 0);
  run.work(affix.size() / 64);
  if (!run.ok()) return {};
  if (end ? text.ends_with(affix) : text.starts_with(affix)) {
    text = end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size());
  }
  return run.text(text);
}

Value expandtabs(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t size = std::clamp<int64_t>(run.integer_of(arguments[0], 8), 0, 1000);
  std::string out;
  int64_t column = 0;
  for (const char c : self.as_text()) {
    if (c == '\t') {
      const int64_t n = size == 0 ? 0 : size - column % size;
      if (!run.room(out.size() + static_cast<size_t>(n))) return {};
      out.append(static_cast<size_t>(n), ' ');
      column += n;
      continue;
    }
    out += c;
    if ((static_cast<uint8_t>(c) & 0xc0) != 0x80) ++column;
    if (c == '\n' || c == '\r') column = 0;
  }
  return run.text(std::move(out));
}

// Whether a text is not empty and each of its characters is of the class.
Value each_is(Interpreter& run, const Value& self, Arguments&, bool (*is_of_class)(uint32_t)) {
  std::string_view rest = self.as_text();
  run.work(rest.size() / 16);
  if (rest.empty()) return Value::boolean(false);
  while (!rest.empty()) {
    const Utf8Char c = utf8_decode(rest);
    if (!is_of_class(c.code_point)) return Value::boolean(false);
    rest.remove_prefix(c.length);
  }
  return Value::boolean(true);
}
bool is_alnum(uint32_t c) { return is_alpha(c) || is_decimal(c); }
bool is_name_char(uint32_t c) { return is_alnum(c) || c == '_'; }

Value is_ascii(Interpreter& run, const Value& self, Arguments&) {
  const std::string_view text = self.as_text();
  run.work(text.size() / 64);
  return Value::boolean(
      std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; }));
}
Value is_all_printable(Interpreter& run, const Value& self, Arguments& arguments) {
  return self.as_text().empty() ? Value::boolean(true)
                                : each_is(run, self, arguments, is_printable);
}
Value is_identifier(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!self.as_text().empty() && is_decimal(utf8_decode(self.as_text()).code_point))
    return Value::boolean(false);
  return each_is(run, self, arguments, is_name_char);
}

// Whether there are letters with a case, and all of them have this one.
Value has_case(Interpreter& run, const Value& self, Arguments&, bool large) {
  bool any = false;
  run.work(self.as_text().size() / 16);
  for (std::string_view rest = self.as_text(); !rest.empty();) {
    const Utf8Char c = utf8_decode(rest);
    if (large ? is_lower(c.code_point) : is_upper(c.code_point)) return Value::boolean(false);
    any |= large ? is_upper(c.code_point) : is_lower(c.code_point);
    rest.remove_prefix(c.length);
  }
  return Value::boolean(any);
}
Value is_title(Interpreter& run, const Value& self, Arguments&) {
  run.work(self.as_text().size() / 8);
  const std::string lower = change_case(self.as_text(), Case::lower);
  const bool any = lower != change_case(self.as_text(), Case::upper);
  return Value::boolean(any && title_case(self.as_text()) == self.as_text());
}

constexpr Builtin kTextMethods[] = {
    {"strip", variant<strip_method, 3>, "/chars", 0},
    {"lstrip", variant<strip_method, 1>, "/chars", 0},
    {"rstrip", variant<strip_method, 2>, "/chars", 0},
    {"split", variant<split_method, false>, "sep maxsplit", 0},
    {"rsplit", variant<split_method, true>, "sep maxsplit", 0},
    {"splitlines", splitlines, "keepends", 0},
    {"startswith", variant<affix_method, false>, "/prefix start end", 1},
    {"endswith", variant<affix_method, true>, "/suffix start end", 1},
    {"upper", variant<case_method, Case::upper>, "", 0},
    {"lower", variant<case_method, Case::lower>, "", 0},
    {"casefold", variant<case_method, Case::lower>, "", 0},
    {"swapcase", variant<case_method, Case::swap>, "", 0},
    {"title", title_method, "", 0},
    {"capitalize", capitalize_method, "", 0},
    {"replace", replace_method, "/old new count", 2},
    {"find", variant<find_method_of, false>, "/sub start end", 1},
    {"rfind", variant<find_method_of, true>, "/sub start end", 1},
    {"index", variant<index_method, false>, "/sub start end", 1},
    {"rindex", variant<index_method, true>, "/sub start end", 1},
    {"count", count_method, "/sub start end", 1},
    {"join", join_method, "/iterable", 1},
    {"format", format_method, "*", 0},
    {"format_map", format_map_method, "/mapping", 1},
    {"ljust", variant<pad_method, '<'>, "/width fillchar", 1},
    {"rjust", variant<pad_method, '>'>, "/width fillchar", 1},
    {"center", variant<pad_method, '^'>, "/width fillchar", 1},
    {"zfill", zfill, "/width", 1},
    {"partition", variant<partition, false>, "/sep", 1},
    {"rpartition", variant<partition, true>, "/sep", 1},
    {"removeprefix", variant<remove_affix, false>, "/prefix", 1},
    {"removesuffix", variant<remove_affix, true>, "/suffix", 1},
    {"expandtabs", expandtabs, "tabsize", 0},
    {"isalpha", variant<each_is, is_alpha>, "", 0},
    {"isalnum", variant<each_is, is_alnum>, "", 0},
    {"isdigit", variant<each_is, is_decimal>, "", 0},
    {"isdecimal", variant<each_is, is_decimal>, "", 0},
    {"isnumeric", variant<each_is, is_decimal>, "", 0},
    {"isspace", variant<each_is, is_space>, "", 0},
    {"isprintable", is_all_printable, "", 0},
    {"isascii", is_ascii, "", 0},
    {"isidentifier", is_identifier, "", 0},
    {"isupper", variant<has_case, true>, "", 0},
    {"islower", variant<has_case, false>, "", 0},
    {"istitle", is_title, "", 0},
};

}  // namespace

std::span<const Builtin> text_methods() { return kTextMethods; }

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends, size_t most) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size() && lines.size() < most;) {
    const Utf8Char c = utf8_decode(text.substr(at));
    size_t next = at + c.length;
    if (c.valid && is_line_end(c.code_point)) {
      if (c.code_point == '\r' && next < text.size() && text[next] == '\n') ++next;
      lines.push_back(text.substr(begin, (keep_ends ? next : at) - begin));
      begin = next;
    }
    at = next;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text) {
  return split_space(text, -1, false);
}

}  // namespace sluice::jinja
