// The methods of values: of Python's str, and of dicts, lists and loops.
#include <algorithm>

#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// The argument as a text; it fails for another type.
const Text* need_text(Interpreter& run, const Arguments& arguments, size_t i) {
  if (arguments[i].is_text()) return &arguments[i].as<Text>();
  run.refuse(arguments[i], "must be str, not $");
  return nullptr;
}

// The same, not empty.
const Text* need_separator(Interpreter& run, const Arguments& arguments) {
  const Text* const by = need_text(run, arguments, 0);
  if (by != nullptr && by->text.empty()) run.fail("empty separator");
  return run.ok() ? by : nullptr;
}

// --- texts ---

Value strip_method(Interpreter& run, const Value& self, Arguments& arguments, int ends) {
  const std::string_view all = self.as_text();
  const bool left = (ends & 1) != 0, right = (ends & 2) != 0;
  if (!arguments.some(0)) {
    const std::string_view kept = strip(all, left, right);
    run.meter.scan(all.size() - kept.size());
    return run.part(self, kept);
  }
  const Text* const chars = need_text(run, arguments, 0);
  if (chars == nullptr) return {};
  return run.part(self, strip_chars(run.meter, all, chars->text, left, right));
}

Value list_of(Interpreter& run, const Value& self, const Vector<std::string_view>& parts) {
  List items = run.new_list();
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(run.part(self, part));
  return run.list(std::move(items));
}

Value split_method(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const int64_t asked = run.integer_of(arguments[1], -1);
  // One more than a list may have is enough to fail.
  const size_t limit = run.limits.max_items;
  const size_t most = asked < 0 ? limit : std::min(static_cast<size_t>(asked), limit);
  if (!arguments.some(0))
    return list_of(run, self, split_words(run.meter, self.as_text(), most, right));
  const Text* const by = need_separator(run, arguments);
  if (by == nullptr) return {};
  std::string_view rest = self.as_text();
  Vector<std::string_view> parts(&run.meter);
  while (parts.size() < most && run.ok()) {
    const size_t at =
        right ? find_last_part(run.meter, rest, by->text) : find_part(run.meter, rest, by->text);
    if (at == std::string_view::npos) break;
    const size_t behind = at + by->text.size();
    parts.push_back(right ? rest.substr(behind) : rest.substr(0, at));
    rest = right ? rest.substr(0, at) : rest.substr(behind);
  }
  parts.push_back(rest);
  if (right) std::reverse(parts.begin(), parts.end());
  return list_of(run, self, parts);
}

Value splitlines(Interpreter& run, const Value& self, Arguments& arguments) {
  return list_of(run, self,
                 split_lines(run.meter, self.as_text(), run.limits.max_items, arguments.yes(0)));
}

// The part of a text between the arguments i and i + 1, as places of characters; `from` is where it
// begins. False if it begins after the end.
bool window(Interpreter& run, const Value& self, const Arguments& arguments, size_t i,
            std::string_view& part, int64_t& from) {
  if (!arguments.some(i) && !arguments.some(i + 1)) {
    part = self.as_text();
    from = 0;
    return true;
  }
  const auto length = static_cast<int64_t>(self.as<Text>().chars);
  const auto bound = [&](size_t k, int64_t otherwise) {
    const int64_t at = arguments.some(k) ? run.integer_of(arguments[k], otherwise) : otherwise;
    return at < 0 ? std::max<int64_t>(std::max(at, -length) + length, 0) : at;
  };
  from = bound(i, 0);
  const int64_t to = std::min(bound(i + 1, length), length);
  if (from > length || from > to) return false;
  if (self.as<Text>().chars != self.as_text().size()) run.meter.scan(self.as_text().size());
  part = sub_chars(self.as_text(), self.as<Text>().chars, static_cast<size_t>(from),
                   static_cast<size_t>(to));
  return run.ok();
}

int64_t find_place(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const Text* const wanted = need_text(run, arguments, 0);
  std::string_view part;
  int64_t from = 0;
  if (wanted == nullptr || !window(run, self, arguments, 1, part, from)) return -1;
  const size_t at = right ? find_last_part(run.meter, part, wanted->text)
                          : find_part(run.meter, part, wanted->text);
  if (at == std::string_view::npos) return -1;
  run.meter.pass(at);
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
  const Text* const wanted = need_text(run, arguments, 0);
  std::string_view part;
  int64_t from = 0;
  if (wanted == nullptr) return {};
  if (!window(run, self, arguments, 1, part, from)) return Value::integer(0);
  run.meter.pass(part.size());
  if (wanted->text.empty()) return Value::integer(static_cast<int64_t>(count_chars(part)) + 1);
  int64_t count = 0;
  for (size_t at = 0; run.ok(); at += wanted->text.size(), ++count) {
    at = find_part(run.meter, part, wanted->text, at);
    if (at == std::string_view::npos) break;
  }
  return Value::integer(count);
}

Value affix_method(Interpreter& run, const Value& self, Arguments& arguments, bool end) {
  std::string_view part;
  int64_t from = 0;
  const bool valid = window(run, self, arguments, 1, part, from);
  const bool several = arguments[0].is(Kind::tuple);
  const size_t n = several ? arguments[0].items().size() : 1;
  for (size_t i = 0; i < n && run.ok(); ++i) {
    const Value& choice = several ? arguments[0].items()[i] : arguments[0];
    if (!choice.is_text()) {
      return run.fail("$ first arg must be str or a tuple of str, not $",
                      end ? "endswith" : "startswith", type_name(choice));
    }
    run.meter.pass(choice.as_text().size());
    if (valid && (end ? part.ends_with(choice.as_text()) : part.starts_with(choice.as_text()))) {
      return Value::boolean(true);
    }
  }
  return Value::boolean(false);
}

Value case_method(Interpreter& run, const Value& self, Arguments&, Case to) {
  return change_case(run.meter, self, [to](uint32_t) { return to; });
}
Value title_method(Interpreter& run, const Value& self, Arguments&) {
  bool after_letter = false;
  return change_case(run.meter, self, [&](uint32_t c) {
    const Case to = after_letter ? Case::lower : Case::upper;
    after_letter = is_upper(c) || is_lower(c);
    return to;
  });
}
Value capitalize_method(Interpreter& run, const Value& self, Arguments&) {
  bool first = true;
  return change_case(run.meter, self, [&](uint32_t) {
    return std::exchange(first, false) ? Case::upper : Case::lower;
  });
}

Value replace_method(Interpreter& run, const Value& self, Arguments& arguments) {
  const Text* const from = need_text(run, arguments, 0);
  const Text* const to = need_text(run, arguments, 1);
  int64_t most = run.integer_of(arguments[2], -1);
  if (from == nullptr || to == nullptr || !run.ok()) return {};
  const Text& all = self.as<Text>();
  const std::string_view text = all.text;
  TextWriter out(run.meter);
  size_t at = 0;
  if (from->text.empty()) {  // before every character and at the end
    for (; at < text.size() && most != 0 && run.ok(); --most) {
      const size_t n = char_bytes(text.substr(at));
      out.copy(*to);
      out.copy(all, text.substr(at, n));
      at += n;
    }
    if (at == text.size() && most != 0) out.copy(*to);
  }
  while (!from->text.empty() && most-- != 0 && run.ok()) {
    const size_t found = find_part(run.meter, text, from->text, at);
    if (found == std::string_view::npos) break;
    out.copy(all, text.substr(at, found - at));
    out.copy(*to);
    at = found + from->text.size();
  }
  out.copy(all, text.substr(at));
  return out.take();
}

Value join_method(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value all = run.iterate(arguments[0]);
  if (all.is_missing()) return {};
  TextWriter out(run.meter);
  for (size_t i = 0; i < all.items().size() && run.ok(); ++i) {
    const Value& item = all.items()[i];
    if (!item.is_text()) {
      return run.fail("sequence item $: expected str instance, $ found", std::to_string(i),
                      type_name(item));
    }
    if (i > 0) out.copy(self.as<Text>());
    out.copy(item.as<Text>());
  }
  return run.ok() ? out.take() : Value();
}

Value format_method(Interpreter& run, const Value& self, Arguments& arguments) {
  return format_braces(run, self, arguments);
}

Value partition(Interpreter& run, const Value& self, Arguments& arguments, bool right) {
  const Text* const by = need_separator(run, arguments);
  if (by == nullptr) return {};
  const std::string_view text = self.as_text();
  const size_t at =
      right ? find_last_part(run.meter, text, by->text) : find_part(run.meter, text, by->text);
  const Value none = run.own("");
  Value before = self, found = none, behind = none;
  if (at != std::string_view::npos) {
    before = run.part(self, text.substr(0, at));
    // The separator too is what stands in the text, not the argument.
    found = run.part(self, text.substr(at, by->text.size()));
    behind = run.part(self, text.substr(at + by->text.size()));
  } else if (right) {
    std::swap(before, behind);
  }
  return run.ok() ? run.tuple(List({before, found, behind}, &run.meter)) : Value();
}

Value remove_affix(Interpreter& run, const Value& self, Arguments& arguments, bool end) {
  std::string_view text = self.as_text();
  const Text* const affix = need_text(run, arguments, 0);
  if (affix == nullptr) return {};
  run.meter.pass(affix->text.size());
  if (!end && text.starts_with(affix->text)) text.remove_prefix(affix->text.size());
  if (end && text.ends_with(affix->text)) text.remove_suffix(affix->text.size());
  return run.part(self, text);
}

// Whether a text is not empty and each of its characters is of the class.
Value each_is(Interpreter& run, const Value& self, Arguments&, bool (*is_of_class)(uint32_t)) {
  Chars chars(run.meter, self.as_text());
  while (chars.next()) {
    if (!is_of_class(chars.code())) return Value::boolean(false);
  }
  return Value::boolean(!self.as_text().empty());
}
bool is_alnum(uint32_t c) { return is_alpha(c) || is_decimal(c); }

// Whether there are letters with a case, and all of them have this one.
Value has_case(Interpreter& run, const Value& self, Arguments&, bool large) {
  bool any = false;
  Chars chars(run.meter, self.as_text());
  while (chars.next()) {
    const uint32_t c = chars.code();
    if (large ? is_lower(c) : is_upper(c)) return Value::boolean(false);
    any |= large ? is_upper(c) : is_lower(c);
  }
  return Value::boolean(any);
}

// --- dicts, lists and loops ---

Value dict_get(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!is_hashable(arguments[0])) return run.refuse(arguments[0], "unhashable type: '$'");
  if (const Value* found = find(self.entries(), arguments[0], run.meter)) return *found;
  return arguments.has(1) ? arguments[1] : Value::none();
}

Value dict_view(Interpreter& run, const Value& self, Arguments&, Kind parts) {
  return run.make(parts, run.parts_of(self, parts));
}

// Lists and dicts never change, so a copy may be the same.
Value copy(Interpreter&, const Value& self, Arguments&) { return self; }

Value index_in(Interpreter& run, const Value& self, Arguments& arguments) {
  const List& items = self.items();
  for (size_t i = 0; i < items.size() && run.ok(); ++i) {
    if (run.same(items[i], arguments[0])) return Value::integer(static_cast<int64_t>(i));
  }
  return run.fail("$ is not in the $", run.shown(arguments[0]), type_name(self));
}

Value count_in(Interpreter& run, const Value& self, Arguments& arguments) {
  int64_t count = 0;
  for (const Value& item : self.items()) {
    if (!run.ok()) break;
    count += run.same(item, arguments[0]) ? 1 : 0;
  }
  return Value::integer(count);
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

struct Row {
  Kind kind;
  Builtin method;
};
constexpr Row kMethods[] = {
    {Kind::text, {"strip", variant<strip_method, 3>, "/chars", 0}},
    {Kind::text, {"lstrip", variant<strip_method, 1>, "/chars", 0}},
    {Kind::text, {"rstrip", variant<strip_method, 2>, "/chars", 0}},
    {Kind::text, {"split", variant<split_method, false>, "sep maxsplit", 0}},
    {Kind::text, {"rsplit", variant<split_method, true>, "sep maxsplit", 0}},
    {Kind::text, {"splitlines", splitlines, "keepends", 0}},
    {Kind::text, {"startswith", variant<affix_method, false>, "/prefix start end", 1}},
    {Kind::text, {"endswith", variant<affix_method, true>, "/suffix start end", 1}},
    {Kind::text, {"upper", variant<case_method, Case::upper>, "", 0}},
    {Kind::text, {"lower", variant<case_method, Case::lower>, "", 0}},
    {Kind::text, {"casefold", variant<case_method, Case::lower>, "", 0}},
    {Kind::text, {"title", title_method, "", 0}},
    {Kind::text, {"capitalize", capitalize_method, "", 0}},
    {Kind::text, {"replace", replace_method, "/old new count", 2}},
    {Kind::text, {"find", variant<find_method_of, false>, "/sub start end", 1}},
    {Kind::text, {"rfind", variant<find_method_of, true>, "/sub start end", 1}},
    {Kind::text, {"index", variant<index_method, false>, "/sub start end", 1}},
    {Kind::text, {"rindex", variant<index_method, true>, "/sub start end", 1}},
    {Kind::text, {"count", count_method, "/sub start end", 1}},
    {Kind::text, {"join", join_method, "/iterable", 1}},
    {Kind::text, {"format", format_method, "*", 0}},
    {Kind::text, {"partition", variant<partition, false>, "/sep", 1}},
    {Kind::text, {"rpartition", variant<partition, true>, "/sep", 1}},
    {Kind::text, {"removeprefix", variant<remove_affix, false>, "/prefix", 1}},
    {Kind::text, {"removesuffix", variant<remove_affix, true>, "/suffix", 1}},
    {Kind::text, {"isalpha", variant<each_is, is_alpha>, "", 0}},
    {Kind::text, {"isalnum", variant<each_is, is_alnum>, "", 0}},
    {Kind::text, {"isdigit", variant<each_is, is_decimal>, "", 0}},
    {Kind::text, {"isdecimal", variant<each_is, is_decimal>, "", 0}},
    {Kind::text, {"isnumeric", variant<each_is, is_decimal>, "", 0}},
    {Kind::text, {"isspace", variant<each_is, is_space>, "", 0}},
    {Kind::text, {"isupper", variant<has_case, true>, "", 0}},
    {Kind::text, {"islower", variant<has_case, false>, "", 0}},
    {Kind::dict, {"get", dict_get, "/key default", 1}},
    {Kind::dict, {"items", variant<dict_view, Kind::pairs>, "", 0}},
    {Kind::dict, {"keys", variant<dict_view, Kind::keys>, "", 0}},
    {Kind::dict, {"values", variant<dict_view, Kind::values>, "", 0}},
    {Kind::dict, {"copy", copy, "", 0}},
    {Kind::list, {"index", index_in, "/value", 1}},
    {Kind::list, {"count", count_in, "/value", 1}},
    {Kind::list, {"copy", copy, "", 0}},
    {Kind::tuple, {"index", index_in, "/value", 1}},
    {Kind::tuple, {"count", count_in, "/value", 1}},
    {Kind::loop, {"changed", loop_changed, "*", 0}},
};

}  // namespace

int find_method(const Value& self, std::string_view name) {
  int index = 0;
  for (const Row& row : kMethods) {
    if (self.is(row.kind) && name == row.method.name) return index;
    ++index;
  }
  return -1;
}

const Builtin& method_at(int index) { return kMethods[index].method; }

bool changes_value(const Value& self, std::string_view name) {
  constexpr std::string_view kOfLists[] = {"append", "clear", "pop",    "reverse",
                                           "insert", "sort",  "extend", "remove"};
  constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (self.is(Kind::list)) {
    return std::find(std::begin(kOfLists), std::end(kOfLists), name) != std::end(kOfLists);
  }
  return self.is(Kind::dict) &&
         std::find(std::begin(kOfDicts), std::end(kOfDicts), name) != std::end(kOfDicts);
}

}  // namespace sluice::jinja
