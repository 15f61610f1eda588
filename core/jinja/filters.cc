// jinja2's filters of sequences, numbers and single values, and the table of all filters.
#include "jinja/filters.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

Value length_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is(Kind::loop)) {
    const int64_t n = self.as<Loop>().count(run);
    return n < 0 ? run.fail("the loop's length is not known") : Value::integer(n);
  }
  const int64_t n = length_of(self);
  if (n < 0) return run.refuse(self, "object of type '$' has no len()");
  return Value::integer(n);
}

Value default_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool absent = self.is(Kind::undefined) || (arguments.yes(1) && !is_true(self));
  if (!absent) return self;
  return arguments.has(0) ? arguments[0] : run.own("");
}

Value first_filter(Interpreter& run, const Value& self, Arguments&) {
  ItemCursor cursor;
  if (!run.start(self, cursor)) return {};
  Value item;
  if (cursor.next(run, item)) return item;
  return run.ok() ? run.undefined("No first item, sequence was empty.") : Value();
}

// The items from the last to the first. Iterators can't be reversed, only collected.
bool collect_reversed(Interpreter& run, const Value& self, List& items) {
  if (!run.collect(self, items)) return false;
  std::reverse(items.begin(), items.end());
  return true;
}

Value last_filter(Interpreter& run, const Value& self, Arguments&) {
  const int64_t length = length_of(self);
  if (length < 0) return run.refuse(self, "'$' object is not reversible");
  if (length == 0) return run.undefined("No last item, sequence was empty.");
  if (self.is_sequence() || self.is_text() || self.is(Kind::range)) {
    return run.item(self, Value::integer(-1));
  }
  List items = run.new_list();
  return run.collect(self, items) ? items.back() : Value();
}

Value list_filter(Interpreter& run, const Value& self, Arguments&) {
  List items = run.new_list();
  return run.collect(self, items) ? run.list(std::move(items)) : Value();
}

Value reverse_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text()) return run.slice(self, Value::none(), Value::none(), Value::integer(-1));
  List items = run.new_list();
  if (!collect_reversed(run, self, items)) return {};
  return self.is(Kind::iterator) ? run.list(std::move(items)) : run.iterator(std::move(items));
}

Value items_filter(Interpreter& run, const Value& self, Arguments&) {
  List items = run.new_list();
  if (self.is(Kind::dict)) {
    for (const Entry& entry : self.entries())
      items.push_back(run.tuple(List({entry.first, entry.second}, &run.meter)));
  } else if (!self.is(Kind::undefined)) {
    return run.fail("Can only get item pairs from a mapping.");
  }
  return run.iterator(std::move(items));
}

Value sort_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  List items = run.new_list();
  if (!run.collect(self, items)) return {};
  // "a,b": by a, then by b.
  List attributes = run.new_list();
  if (arguments.has(2) && arguments[2].is_text()) {
    for (std::string_view rest = arguments[2].as_text(); run.ok();) {
      const size_t comma = rest.find(',');
      attributes.push_back(run.part(arguments[2], rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } else {
    attributes.push_back(arguments[2]);
  }
  List keys = run.new_list();
  for (const Value& item : items) {
    List parts = run.new_list();
    for (const Value& attribute : attributes) {
      parts.push_back(sort_key(run, run.path(item, attribute), arguments.yes(1)));
      if (!run.ok()) return {};
    }
    keys.push_back(run.tuple(std::move(parts)));
    if (!run.ok()) return {};
  }
  run.sort(items, keys, arguments.yes(0));
  return run.ok() ? run.list(std::move(items)) : Value();
}

Value dictsort_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!self.is(Kind::dict)) return run.refuse(self, "'$' object has no attribute 'items'");
  const Value by_text = run.text_of(arguments[1], "key");
  if (by_text.is_missing()) return {};
  const std::string_view by = by_text.as_text();
  if (by != "key" && by != "value")
    return run.fail("You can only sort by either \"key\" or \"value\"");
  List items = run.new_list();
  List keys = run.new_list();
  for (const auto& [key, value] : self.entries()) {
    items.push_back(run.tuple(List({key, value}, &run.meter)));
    keys.push_back(sort_key(run, by == "key" ? key : value, arguments.yes(0)));
    if (!run.ok()) return {};
  }
  run.sort(items, keys, arguments.yes(2));
  return run.ok() ? run.list(std::move(items)) : Value();
}

Value groupby_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool exact = arguments.yes(2);
  List items = run.new_list();
  if (!run.collect(self, items)) return {};
  const auto keys_of = [&] {
    List keys = run.new_list();
    for (const Value& item : items) {
      keys.push_back(sort_key(run, run.path(item, arguments[0], arguments[1]), exact));
      if (!run.ok()) break;
    }
    return keys;
  };
  const List unsorted = keys_of();
  if (run.ok()) run.sort(items, unsorted, false);
  if (!run.ok()) return {};
  const List keys = keys_of();
  List groups = run.new_list();
  for (size_t begin = 0; begin < items.size() && run.ok();) {
    size_t end = begin + 1;
    while (end < items.size() && run.same(keys[end], keys[begin])) ++end;
    List members = run.new_list();
    append(members, items, begin, end);
    const Value key = run.path(items[begin], arguments[0], arguments[1]);
    const Value group = run.tuple(List({key, run.list(std::move(members))}, &run.meter));
    if (group.is_missing()) return {};
    group.as<Sequence>().group = true;
    groups.push_back(group);
    begin = end;
  }
  return run.ok() ? run.list(std::move(groups)) : Value();
}

Value unique_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  List items = run.new_list();
  if (!run.collect(self, items)) return {};
  Entries seen(&run.meter);
  List unique = run.new_list();
  for (const Value& item : items) {
    const Value key = sort_key(run, run.path(item, arguments[1]), arguments.yes(0));
    if (!run.ok()) return {};
    if (!is_hashable(key)) return run.refuse(key, "unhashable type: '$'");
    if (find(seen, key, run.meter) != nullptr) continue;
    seen.emplace_back(key, Value());
    unique.push_back(item);
  }
  return run.iterator(std::move(unique));
}

// The least item, for lt, or the greatest, for gt.
Value extreme_filter(Interpreter& run, const Value& self, Arguments& arguments, LexemeType wanted) {
  List items = run.new_list();
  if (!run.collect(self, items)) return {};
  if (items.empty()) return run.undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = sort_key(run, run.path(items[i], arguments[1]), arguments.yes(0));
    if (!run.ok()) return {};
    if (i > 0 && !run.less(wanted, key, best_key)) continue;
    best = i;
    best_key = std::move(key);
  }
  return run.ok() ? items[best] : Value();
}

Value sum_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  Value total = arguments.has(1) ? arguments[1] : Value::integer(0);
  if (total.is_text()) return run.fail("sum() can't sum strings");
  ItemCursor cursor;
  if (!run.start(self, cursor)) return {};
  Value item;
  while (run.ok() && cursor.next(run, item)) {
    item = run.path(item, arguments[0]);
    if (run.ok()) total = run.binary(LexemeType::add, total, item);
  }
  return total;
}

Value join_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value between = run.text_of(arguments[0], "");
  ItemCursor cursor;
  if (between.is_missing() || !run.start(self, cursor)) return {};
  TextWriter out(run.meter);
  Value item;
  for (bool first = true; run.ok() && cursor.next(run, item); first = false) {
    if (!first) out.copy(between.as<Text>());
    item = run.path(item, arguments[1]);
    if (run.ok()) run.write(out, item);
  }
  return run.ok() ? out.take() : Value();
}

// --- numbers ---

Value abs_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is(Kind::number)) return Value::number(std::fabs(self.as_double()));
  if (self.is_integer() && self.as_integer() >= 0) return Value::integer(self.as_integer());
  if (self.is_integer()) return run.negative(self);
  return run.refuse(self, "bad operand type for abs(): '$'");
}

// A text that is read as a number; what is longer is none.
std::string_view digits_of(Interpreter& run, const Value& text) {
  constexpr size_t kMostDigits = 4300;  // as in Python
  const std::string_view digits = text.as_text().substr(0, kMostDigits + 1);
  // Each digit is multiplied into all before it.
  run.meter.work(20 + digits.size() * digits.size() / 200);
  return digits.size() > kMostDigits ? std::string_view() : digits;
}

Value int_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value fallback = arguments.has(0) ? arguments[0] : Value::integer(0);
  if (self.is(Kind::undefined)) return run.refuse(self, "");
  if (self.is_integer()) return Value::integer(self.as_integer());
  double number = 0;
  if (self.is_text()) {
    const std::string_view digits = digits_of(run, self);
    if (const auto whole = parse_int(digits)) return Value::integer(*whole);
    const auto read = parse_float(digits);
    if (!read) return fallback;
    number = *read;
  } else if (self.is(Kind::number)) {
    number = self.as_double();
  } else {
    return fallback;
  }
  if (!std::isfinite(number)) return fallback;
  if (std::fabs(number) >= 0x1p63) return run.fail("a number does not fit into 64 bits");
  return Value::integer(static_cast<int64_t>(number));
}

Value float_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (self.is(Kind::undefined)) return run.refuse(self, "");
  if (self.is_number()) return Value::number(self.as_double());
  if (self.is_text()) {
    if (const auto read = parse_float(digits_of(run, self))) return Value::number(*read);
  }
  return arguments.has(0) ? arguments[0] : Value::number(0);
}

Value round_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t precision = std::clamp<int64_t>(run.integer_of(arguments[0], 0), -300, 300);
  const Value method_text = run.text_of(arguments[1], "common");
  if (method_text.is_missing()) return {};
  const std::string_view method = method_text.as_text();
  if (method != "common" && method != "ceil" && method != "floor") {
    return run.fail("method must be common, ceil or floor");
  }
  if (self.is(Kind::undefined)) return run.refuse(self, "");
  if (!self.is_number()) return run.refuse(self, "type $ can't be rounded");
  const double value = self.as_double();
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method != "common") {
    const double scaled = value * scale;
    if (!std::isfinite(scaled)) return run.fail("cannot convert float to integer");
    return Value::number((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  if (self.is_integer() && precision >= 0) return Value::integer(self.as_integer());
  if (self.is_integer()) {  // to tens, hundreds, ...; halves to even ones
    if (precision < -18) return Value::integer(0);
    int64_t unit = 1;
    for (int64_t i = 0; i > precision; --i) unit *= 10;
    const int64_t number = self.as_integer();
    const int64_t rest = number % unit;
    const int64_t size = rest < 0 ? -rest : rest;
    const bool away = size > unit - size || (size == unit - size && (number / unit) % 2 != 0);
    const int64_t result = number / unit + (away ? (number < 0 ? -1 : 1) : 0);
    return run.binary(LexemeType::mul, Value::integer(result), Value::integer(unit));
  }
  if (!std::isfinite(value)) return self;
  run.meter.work(decimal_work(value, precision));
  // The decimal digits are exact, so halves are decided as Python does.
  if (precision >= 0)
    return Value::number(
        parse_float(write_decimal(value, 'f', static_cast<int>(precision))).value_or(value));
  return Value::number(std::nearbyint(value * scale) / scale);
}

// --- any value ---

Value string_filter(Interpreter& run, const Value& self, Arguments&) { return run.str(self); }

Value tojson_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  JsonStyle style;
  style.ascii = arguments.yes(0);
  style.sorted = arguments.yes(3);
  style.lines = arguments.some(1);
  constexpr int64_t kWidest = 1000;
  if (style.lines) {
    style.item_separator.pop_back();  // Python leaves out the space at a line's end
    if (arguments[1].is_text()) {
      if (length_of(arguments[1]) > kWidest) return run.fail("an indent is too wide");
      style.indent = arguments[1].as_text();
    } else {
      const int64_t width = run.integer_of(arguments[1], 0);
      if (width > kWidest) return run.fail("an indent of $ is too wide", width);
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  style.input = arguments.some(1) && arguments[1].from_input();
  if (arguments.some(2)) {
    List parts = run.new_list();
    if (!run.collect(arguments[2], parts)) return {};
    if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text()) {
      return run.fail("separators must be two texts");
    }
    style.input |= parts[0].from_input() || parts[1].from_input();
    style.item_separator = parts[0].as_text();
    style.key_separator = parts[1].as_text();
  }
  return run.ok() ? to_json(run, self, style) : Value();
}

// A filter that makes a number of one: it comes from where that does.
template <auto filter>
Value number_of(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value result = filter(run, self, arguments);
  return result.is_number() ? result.marked(self.from_input() || result.from_input()) : result;
}

constexpr Builtin kFilters[] = {
    {"abs", number_of<abs_filter>, "", 0},
    {"count", length_filter, "", 0},
    {"d", default_filter, "default_value boolean", 0},
    {"default", default_filter, "default_value boolean", 0},
    {"dictsort", dictsort_filter, "case_sensitive by reverse", 0},
    {"first", first_filter, "", 0},
    {"float", number_of<float_filter>, "default", 0},
    {"groupby", groupby_filter, "attribute default case_sensitive", 1},
    {"int", number_of<int_filter>, "default", 0},
    {"items", items_filter, "", 0},
    {"join", join_filter, "d attribute", 0},
    {"last", last_filter, "", 0},
    {"length", length_filter, "", 0},
    {"list", list_filter, "", 0},
    {"max", variant<extreme_filter, LexemeType::gt>, "case_sensitive attribute", 0},
    {"min", variant<extreme_filter, LexemeType::lt>, "case_sensitive attribute", 0},
    {"reverse", reverse_filter, "", 0},
    {"round", number_of<round_filter>, "precision method", 0},
    {"sort", sort_filter, "reverse case_sensitive attribute", 0},
    {"string", string_filter, "", 0},
    {"sum", sum_filter, "attribute start", 0},
    {"tojson", tojson_filter, "ensure_ascii indent separators sort_keys", 0},
    {"unique", unique_filter, "case_sensitive attribute", 0},
};

}  // namespace

Value sort_key(Interpreter& run, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_text()) return value;
  return change_case(run.meter, value, [](uint32_t) { return Case::lower; });
}

const Builtin* find_filter(std::string_view name) {
  for (const std::span<const Builtin> part :
       {std::span<const Builtin>(kFilters), text_filters(), choice_filters()}) {
    for (const Builtin& filter : part) {
      if (name == filter.name) return &filter;
    }
  }
  return nullptr;
}

}  // namespace sluice::jinja
