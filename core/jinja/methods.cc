// The methods of values: of Python's str, and of dicts, lists and loops. Some of str's are filters
// and tests, too.
#include <algorithm>
#include <optional>

#include "jinja/filters.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// --- texts ---

// The argument as a text; it fails for another type.
std::string_view need_text(Interpreter& run, const Arguments& arguments, size_t i) {
  if (arguments[i].is_text()) return arguments[i].as_text();
  run.refuse(arguments[i], "must be str, not $");
  return {};
}

// The same, not empty.
std::string_view need_separator(Interpreter& run, const Arguments& arguments) {
  const std::string_view by = need_text(run, arguments, 0);
  if (by.empty()) run.fail("empty separator");
  return by;
}

size_t place_of(Interpreter& run, std::string_view text, std::string_view part, bool last) {
  return last ? find_last_part(run.meter, text, part) : find_part(run.meter, text, part);
}

List parts_of(Interpreter& run, const Value& self, const Vector<std::string_view>& parts) {
  List items = run.new_list();
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(run.part(self, part));
  return items;
}

Value split(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool right = arguments.which == kRight;
  const int64_t asked = run.integer_of(arguments[1], -1);
  // One more than a list may have is enough to fail.
  const size_t limit = run.limits.max_items;
  const size_t most = asked < 0 ? limit : std::min(static_cast<size_t>(asked), limit);
  std::string_view rest = self.as_text();
  if (!arguments.some(0))
    return run.list(parts_of(run, self, split_words(run.meter, rest, most, right)));
  const std::string_view by = need_separator(run, arguments);
  Vector<std::string_view> parts(&run.meter);
  while (parts.size() < most && run.ok()) {
    const size_t at = place_of(run, rest, by, right);
    if (at == std::string_view::npos) break;
    const std::string_view before = rest.substr(0, at), behind = rest.substr(at + by.size());
    parts.push_back(right ? behind : before);
    rest = right ? before : behind;
  }
  parts.push_back(rest);
  if (right) std::reverse(parts.begin(), parts.end());
  return run.list(parts_of(run, self, parts));
}

Value splitlines(Interpreter& run, const Value& self, Arguments& arguments) {
  const auto lines = split_lines(run.meter, self.as_text(), run.limits.max_items, arguments.yes(0));
  return run.list(parts_of(run, self, lines));
}

Value partition(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool right = arguments.which == kRight;
  const std::string_view text = self.as_text(), by = need_separator(run, arguments);
  const size_t found = place_of(run, text, by, right);
  const bool none = found == std::string_view::npos;
  const size_t begin = !none ? found : right ? 0 : text.size();
  const size_t end = none ? begin : begin + by.size();
  // The separator too is what stands in the text, not the argument.
  return run.tuple(parts_of(
      run, self,
      {{text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)}, &run.meter}));
}

// The part of a text between the places that the arguments 1 and 2 give.
struct Window {
  std::string_view part;
  int64_t from;  // in characters
};
// No value if it begins behind its end.
std::optional<Window> window(Interpreter& run, const Value& self, const Arguments& arguments) {
  const Text& text = self.as<Text>();
  const auto length = static_cast<int64_t>(text.chars);
  const auto bound = [&](size_t i, int64_t otherwise) {
    const int64_t at = arguments.some(i) ? run.integer_of(arguments[i], 0) : otherwise;
    return at < 0 ? std::max(at, -length) + length : at;
  };
  const int64_t from = bound(1, 0);
  const int64_t to = std::min(bound(2, length), length);
  if (from > to) return std::nullopt;
  if (text.chars != text.text.size()) run.meter.scan(text.text.size());
  return Window{
      sub_chars(text.text, text.chars, static_cast<size_t>(from), static_cast<size_t>(to)), from};
}

constexpr int kMust = 4;  // besides kLeft or kRight: it fails if nothing is found

Value find_in_text(Interpreter& run, const Value& self, Arguments& arguments) {
  const std::string_view wanted = need_text(run, arguments, 0);
  if (const auto all = window(run, self, arguments)) {
    const size_t at = place_of(run, all->part, wanted, (arguments.which & kRight) != 0);
    if (at != std::string_view::npos) {
      run.meter.pass(at);
      return Value::integer(all->from + static_cast<int64_t>(count_chars(all->part.substr(0, at))));
    }
  }
  return (arguments.which & kMust) != 0 ? run.fail("substring not found") : Value::integer(-1);
}

Value count_in_text(Interpreter& run, const Value& self, Arguments& arguments) {
  const std::string_view wanted = need_text(run, arguments, 0);
  const auto all = window(run, self, arguments);
  if (!all) return Value::integer(0);
  run.meter.pass(all->part.size());
  int64_t count = 0;
  if (wanted.empty()) count = static_cast<int64_t>(count_chars(all->part)) + 1;
  for (size_t at = 0; !wanted.empty() && run.ok(); at += wanted.size(), ++count) {
    at = find_part(run.meter, all->part, wanted, at);
    if (at == std::string_view::npos) break;
  }
  return Value::integer(count);
}

bool has_affix(Interpreter& run, std::string_view text, std::string_view affix, bool end) {
  run.meter.pass(affix.size());
  return end ? text.ends_with(affix) : text.starts_with(affix);
}

Value is_affix(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool end = arguments.which == kRight;
  const auto all = window(run, self, arguments);
  const bool several = arguments[0].is(Kind::tuple);
  const size_t n = several ? arguments[0].items().size() : 1;
  bool found = false;
  for (size_t i = 0; i < n && !found && run.ok(); ++i) {
    const Value& choice = several ? arguments[0].items()[i] : arguments[0];
    if (!choice.is_text()) {
      return run.fail("$ first arg must be str or a tuple of str, not $",
                      end ? "endswith" : "startswith", type_name(choice));
    }
    found = all && has_affix(run, all->part, choice.as_text(), end);
  }
  return Value::boolean(found);
}

Value remove_affix(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool end = arguments.which == kRight;
  const std::string_view text = self.as_text(), affix = need_text(run, arguments, 0);
  if (!has_affix(run, text, affix, end)) return self;
  return run.part(self, text.substr(end ? 0 : affix.size(), text.size() - affix.size()));
}

Value format_method(Interpreter& run, const Value& self, Arguments& arguments) {
  return format_braces(run, self, arguments);
}

bool is_alnum(uint32_t c) { return is_alpha(c) || is_decimal(c); }
constexpr bool (*kClasses[])(uint32_t) = {is_alpha, is_alnum, is_decimal, is_space};
enum Class : int { kAlpha, kAlnum, kDecimal, kSpace };

// Whether a text is not empty and each of its characters is of the class.
Value each_is(Interpreter& run, const Value& self, Arguments& arguments) {
  Chars chars(run.meter, self.as_text());
  bool all = !self.as_text().empty();
  while (all && chars.next()) all = kClasses[arguments.which](chars.code());
  return Value::boolean(all);
}

// --- dicts, lists and loops ---

Value dict_get(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!is_hashable(arguments[0])) return run.refuse(arguments[0], "unhashable type: '$'");
  if (const Value* found = find(self.entries(), arguments[0], run.meter)) return *found;
  return arguments.has(1) ? arguments[1] : Value::none();
}

Value dict_view(Interpreter& run, const Value& self, Arguments& arguments) {
  const Kind parts = static_cast<Kind>(arguments.which);
  return run.make(parts, run.parts_of(self, parts));
}

Value index_in_list(Interpreter& run, const Value& self, Arguments& arguments) {
  const List& items = self.items();
  for (size_t i = 0; i < items.size() && run.ok(); ++i) {
    if (run.same(items[i], arguments[0])) return Value::integer(static_cast<int64_t>(i));
  }
  return run.fail("$ is not in the $", run.shown(arguments[0]), type_name(self));
}

Value loop_changed(Interpreter& run, const Value& self, Arguments& arguments) {
  auto& loop = self.as<Loop>();
  const Value given = run.tuple(std::move(arguments.list));
  const bool first = loop.changed.is_missing();
  if (!first && run.same(loop.changed, given)) return Value::boolean(false);
  if (first) run.keep(self);
  loop.changed = given;
  return Value::boolean(true);
}

constexpr Builtin kOfTexts[] = {
    {"strip", strip_text, "/chars", 0, kLeft | kRight},
    {"lstrip", strip_text, "/chars", 0, kLeft},
    {"rstrip", strip_text, "/chars", 0, kRight},
    {"split", split, "sep maxsplit", 0, kLeft},
    {"rsplit", split, "sep maxsplit", 0, kRight},
    {"splitlines", splitlines, "keepends", 0},
    {"startswith", is_affix, "/prefix start end", 1, kLeft},
    {"endswith", is_affix, "/suffix start end", 1, kRight},
    {"upper", change_case, "", 0, kUpper},
    {"lower", change_case, "", 0, kLower},
    {"title", change_case, "", 0, kTitle},
    {"capitalize", change_case, "", 0, kCapital},
    {"replace", replace_text, "/old new count", 2, kMethod},
    {"find", find_in_text, "/sub start end", 1, kLeft},
    {"rfind", find_in_text, "/sub start end", 1, kRight},
    {"index", find_in_text, "/sub start end", 1, kLeft | kMust},
    {"rindex", find_in_text, "/sub start end", 1, kRight | kMust},
    {"count", count_in_text, "/sub start end", 1},
    {"join", join_items, "/iterable", 1, kMethod},
    {"format", format_method, "*", 0},
    {"partition", partition, "/sep", 1, kLeft},
    {"rpartition", partition, "/sep", 1, kRight},
    {"removeprefix", remove_affix, "/prefix", 1, kLeft},
    {"removesuffix", remove_affix, "/suffix", 1, kRight},
    {"isalpha", each_is, "", 0, kAlpha},
    {"isalnum", each_is, "", 0, kAlnum},
    {"isdigit", each_is, "", 0, kDecimal},
    {"isnumeric", each_is, "", 0, kDecimal},
    {"isspace", each_is, "", 0, kSpace},
    {"isupper", has_case, "", 0, kUpper},
    {"islower", has_case, "", 0, kLower},
};
constexpr Builtin kOfDicts[] = {
    {"get", dict_get, "/key default", 1},
    {"items", dict_view, "", 0, static_cast<int>(Kind::pairs)},
    {"keys", dict_view, "", 0, static_cast<int>(Kind::keys)},
    {"values", dict_view, "", 0, static_cast<int>(Kind::values)},
};
constexpr Builtin kOfSequences[] = {
    {"index", index_in_list, "/value", 1},
};
constexpr Builtin kOfLoops[] = {
    {"changed", loop_changed, "*", 0},
};

}  // namespace

Value in_casing(Interpreter& run, const Value& text, int casing) {
  TextWriter out(run.meter);
  bool large = casing != kLower;
  write_changed(out, text.as<Text>(), [&](uint32_t c) {
    std::string changed = in_case(c, large);
    constexpr std::string_view kOpening = "-({[<";
    const bool opens = c < 0x80 && kOpening.find(static_cast<char>(c)) != std::string_view::npos;
    large = casing == kUpper || (casing == kTitle && !is_upper(c) && !is_lower(c)) ||
            (casing == kWords && (is_space(c) || opens));
    return changed;
  });
  return out.take();
}

Value change_case(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value text = run.str(self);
  return text.is_missing() ? text : in_casing(run, text, arguments.which);
}

// Whether there are letters with a case, and all of them have this one.
Value has_case(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value text = run.str(self);
  if (text.is_missing()) return {};
  bool any = false, other = false;
  Chars chars(run.meter, text.as_text());
  while (!other && chars.next()) {
    const bool upper = is_upper(chars.code()), lower = is_lower(chars.code());
    any |= arguments.which == kUpper ? upper : lower;
    other = arguments.which == kUpper ? lower : upper;
  }
  return Value::boolean(any && !other);
}

Value strip_text(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value text = run.str(self);
  if (text.is_missing()) return {};
  const std::string_view all = text.as_text();
  const bool left = (arguments.which & kLeft) != 0, right = (arguments.which & kRight) != 0;
  if (arguments.some(0)) {
    const std::string_view chars = need_text(run, arguments, 0);
    return run.part(text, strip_chars(run.meter, all, chars, left, right));
  }
  const std::string_view kept = strip(all, left, right);
  run.meter.scan(all.size() - kept.size());
  return run.part(text, kept);
}

Value replace_text(Interpreter& run, const Value& self, Arguments& arguments) {
  Value given[] = {self, arguments[0], arguments[1]};
  for (Value& each : given) {
    if (arguments.which == kFilter) each = run.str(each);
    if (!each.is_text()) return run.refuse(each, "must be str, not $");
  }
  int64_t most = arguments.some(2) ? run.integer_of(arguments[2], -1) : -1;
  const Text& all = given[0].as<Text>();
  const std::string_view text = all.text, from = given[1].as_text();
  TextWriter out(run.meter);
  size_t done = 0;
  for (size_t at = 0; most != 0 && run.ok(); --most) {
    const size_t found = find_part(run.meter, text, from, at);
    if (found == std::string_view::npos) break;
    out.copy(all, text.substr(done, found - done));
    out.copy(given[2].as<Text>());
    done = found + from.size();
    // An empty text stands before every character and at the end.
    at = from.empty() ? found + std::max<size_t>(char_bytes(text.substr(found)), 1) : done;
  }
  out.copy(all, text.substr(done));
  return out.take();
}

// The method has what stands between the items as its object; the filter has the items.
Value join_items(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool method = arguments.which == kMethod;
  const Value between = method ? self : run.text_of(arguments[0], "");
  const Value all = between.is_missing() ? Value() : run.iterate(method ? arguments[0] : self);
  if (all.is_missing()) return {};
  TextWriter out(run.meter);
  for (size_t i = 0; i < all.items().size() && run.ok(); ++i) {
    if (i > 0) out.copy(between.as<Text>());
    Value item = all.items()[i];
    if (!method) {
      item = run.path(item, arguments[1]);
    } else if (!item.is_text()) {
      return run.fail("sequence item $: expected str instance, $ found", std::to_string(i),
                      type_name(item));
    }
    if (run.ok()) run.write(out, item);
  }
  return out.take();
}

const Builtin* find_method(const Value& self, std::string_view name) {
  if (self.is_text()) return find_builtin(kOfTexts, name);
  if (self.is(Kind::dict)) return find_builtin(kOfDicts, name);
  if (self.is_sequence()) return find_builtin(kOfSequences, name);
  return self.is(Kind::loop) ? find_builtin(kOfLoops, name) : nullptr;
}

bool changes_value(const Value& self, std::string_view name) {
  return is_word_of(self.is(Kind::list)   ? "append clear pop reverse insert sort extend remove"
                    : self.is(Kind::dict) ? "clear pop popitem setdefault update"
                                          : "",
                    name);
}

}  // namespace sluice::jinja
