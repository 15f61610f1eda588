// jinja2's filters of sequences, numbers and single values, and the table of all filters.
#include "jinja/filters.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// What a value has to go through. Empty after an error, too.
List items_of(Interpreter& run, const Value& value) {
  List items = run.new_list();
  run.collect(value, items);
  return items;
}

// What each item is compared by: its value behind the path, a text in small letters unless the case
// matters.
List keys_of(Interpreter& run, const List& items, const Value& attribute, bool exact,
             const Value& fallback = {}) {
  List keys(items.size(), Value(), &run.meter);
  for (size_t i = 0; i < items.size() && run.ok(); ++i) {
    keys[i] = run.path(items[i], attribute, fallback);
    if (!exact && keys[i].is_text()) keys[i] = in_casing(run, keys[i], kLower);
  }
  return keys;
}

Value length_filter(Interpreter& run, const Value& self, Arguments&) {
  const bool loop = self.is(Kind::loop);
  const int64_t n = loop ? self.as<Loop>().count(run) : length_of(self);
  if (n >= 0) return Value::integer(n);
  return loop ? run.fail("the loop's length is not known")
              : run.refuse(self, "object of type '$' has no len()");
}

Value default_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool absent = self.is(Kind::undefined) || (arguments.yes(1) && !is_true(self));
  if (!absent) return self;
  return arguments.has(0) ? arguments[0] : run.own("");
}

Value first_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text() && length_of(self) > 0) return run.item(self, Value::integer(0));
  if (self.is(Kind::generator) && !self.items().empty()) {  // the others stay in it
    List& items = self.as<Sequence>().items;
    run.meter.work(items.size());
    Value item = items[0];
    items.erase(items.begin());
    return item;
  }
  const Value all = run.iterate(self);
  if (all.is_missing()) return {};
  return all.items().empty() ? run.undefined("No first item, sequence was empty.") : all.items()[0];
}

Value last_filter(Interpreter& run, const Value& self, Arguments&) {
  const int64_t length = length_of(self);
  if (length < 0) return run.refuse(self, "'$' object is not reversible");
  if (length == 0) return run.undefined("No last item, sequence was empty.");
  if (self.is_text()) return run.item(self, Value::integer(-1));
  const Value all = run.iterate(self);
  return all.is_missing() ? Value() : all.items().back();
}

Value list_filter(Interpreter& run, const Value& self, Arguments&) {
  return run.list(items_of(run, self));
}

// Iterators can't be reversed, only collected.
Value reverse_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text()) return run.slice(self, Value::none(), Value::none(), Value::integer(-1));
  List items = items_of(run, self);
  std::reverse(items.begin(), items.end());
  return run.make(self.is(Kind::generator) ? Kind::list : Kind::generator, std::move(items));
}

Value items_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is(Kind::dict)) return run.generator(run.parts_of(self, Kind::pairs));
  if (self.is(Kind::undefined)) return run.generator(run.new_list());
  return run.fail("Can only get item pairs from a mapping.");
}

// "a,b": by a, then by b. Sorting keeps the order of what is equal, so b comes first.
Value sort_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  List items = items_of(run, self);
  Value attribute = arguments[2];
  std::string_view rest = attribute.is_text() ? attribute.as_text() : std::string_view();
  for (bool more = true; more && run.ok();) {
    const size_t comma = rest.rfind(',');
    more = comma != std::string_view::npos;
    if (attribute.is_text()) attribute = run.part(arguments[2], rest.substr(comma + 1));
    run.sort(items, keys_of(run, items, attribute, arguments.yes(1)), arguments.yes(0));
    rest = rest.substr(0, comma);
  }
  return run.list(std::move(items));
}

Value dictsort_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!self.is(Kind::dict)) return run.refuse(self, "'$' object has no attribute 'items'");
  const Value by = run.text_of(arguments[1], "key");
  const bool by_value = run.ok() && by.as_text() == "value";
  if (run.ok() && !by_value && by.as_text() != "key")
    return run.fail("You can only sort by either \"key\" or \"value\"");
  List items = run.parts_of(self, Kind::pairs);
  const Value place = Value::integer(by_value ? 1 : 0);
  run.sort(items, keys_of(run, items, place, arguments.yes(0)), arguments.yes(2));
  return run.list(std::move(items));
}

Value groupby_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  List items = items_of(run, self);
  const auto keys_now = [&] {
    return keys_of(run, items, arguments[0], arguments.yes(2), arguments[1]);
  };
  run.sort(items, keys_now(), false);
  const List keys = keys_now();
  List groups = run.new_list();
  for (size_t begin = 0; begin < items.size() && run.ok();) {
    size_t end = begin + 1;
    while (end < items.size() && run.same(keys[end], keys[begin])) ++end;
    List members = run.new_list();
    append(members, items, begin, end);
    const Value key = run.path(items[begin], arguments[0], arguments[1]);
    groups.push_back(run.tuple(List({key, run.list(std::move(members))}, &run.meter)));
    if (run.ok()) groups.back().as<Sequence>().group = true;
    begin = end;
  }
  return run.list(std::move(groups));
}

Value unique_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const List items = items_of(run, self);
  const List keys = keys_of(run, items, arguments[1], arguments.yes(0));
  Entries seen(&run.meter);
  List unique = run.new_list();
  for (size_t i = 0; i < items.size() && run.ok(); ++i) {
    if (!is_hashable(keys[i])) return run.refuse(keys[i], "unhashable type: '$'");
    if (find(seen, keys[i], run.meter) != nullptr) continue;
    seen.emplace_back(keys[i], Value());
    unique.push_back(items[i]);
  }
  return run.generator(std::move(unique));
}

enum Extreme : int { kMin, kMax };

// The first of the items in their order, or in the reverse.
Value extreme_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  List items = items_of(run, self);
  if (items.empty()) return run.undefined("No aggregated item, sequence was empty.");
  const List keys = keys_of(run, items, arguments[1], arguments.yes(0));
  run.sort(items, keys, arguments.which == kMax);
  return items[0];
}

Value sum_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  Value total = arguments.has(1) ? arguments[1] : Value::integer(0);
  if (total.is_text()) return run.fail("sum() can't sum strings");
  const Value all = run.iterate(self);
  if (all.is_missing()) return {};
  for (const Value& each : all.items()) {
    if (!run.ok()) break;
    run.meter.work(1);
    const Value item = run.path(each, arguments[0]);
    if (run.ok()) total = run.binary(LexemeType::add, total, item);
  }
  return total;
}

// --- numbers ---

Value abs_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is(Kind::number)) return Value::number(std::fabs(self.as_double()));
  if (!self.is_integer()) return run.refuse(self, "bad operand type for abs(): '$'");
  return self.as_integer() < 0 ? run.negative(self) : Value::integer(self.as_integer());
}

// A text that is read as a number; what is longer is none.
std::string_view digits_of(Interpreter& run, const Value& text) {
  constexpr size_t kMostDigits = 4300;  // as in Python
  const std::string_view digits = text.as_text().substr(0, kMostDigits + 1);
  // Each digit is multiplied into all before it.
  run.meter.work(20 + digits.size() * digits.size() / 200);
  return digits.size() > kMostDigits ? std::string_view() : digits;
}

// For `which`, int(), else float().
Value number_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool integer = arguments.which != 0;
  std::optional<double> read;
  if (self.is_number()) {
    if (integer && self.is_integer()) return Value::integer(self.as_integer());
    read = self.as_double();
  } else if (self.is_text()) {
    const std::string_view digits = digits_of(run, self);
    const auto exact = integer ? parse_int(digits) : std::nullopt;
    if (exact) return Value::integer(*exact);
    read = parse_float(digits);
  } else if (self.is(Kind::undefined)) {
    return run.refuse(self, "");
  }
  if (read && !integer) return Value::number(*read);
  if (read && std::isfinite(*read)) {
    if (std::fabs(*read) >= 0x1p63) return run.fail("a number does not fit into 64 bits");
    return Value::integer(static_cast<int64_t>(*read));
  }
  if (arguments.has(0)) return arguments[0];
  return integer ? Value::integer(0) : Value::number(0);
}

Value round_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t precision = std::min<int64_t>(run.integer_of(arguments[0], 0), 300);
  if (precision < 0) return run.fail("round() supports no precision below 0 here");
  const Value method = run.text_of(arguments[1], "common");
  if (!run.ok()) return {};
  if (!self.is_number()) return run.refuse(self, "type $ can't be rounded");
  const double value = self.as_double(), scale = std::pow(10.0, static_cast<double>(precision));
  if (method.as_text() != "common") {
    const bool up = method.as_text() == "ceil";
    if (!up && method.as_text() != "floor") return run.fail("method must be common, ceil or floor");
    const double scaled = value * scale;
    if (!std::isfinite(scaled)) return run.fail("cannot convert float to integer");
    return Value::number((up ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  if (self.is_integer()) return Value::integer(self.as_integer());
  if (!std::isfinite(value)) return self;
  run.meter.work(decimal_work(value, precision));
  // The decimal digits are exact, so halves are decided as Python does.
  const std::string digits = write_decimal(value, 'f', static_cast<int>(precision));
  return Value::number(read_decimal(digits.c_str()));
}

// A filter that makes a number of one: it comes from where that does.
constexpr NativeCall kOfNumbers[] = {number_filter, number_filter, abs_filter, round_filter};
enum OfNumber : int { kFloat, kInt, kAbs, kRound };
Value numeric_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value result = kOfNumbers[arguments.which](run, self, arguments);
  return result.is_number() ? result.marked(self.from_input() || result.from_input()) : result;
}

// --- any value ---

Value string_filter(Interpreter& run, const Value& self, Arguments&) { return run.str(self); }

Value tojson_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  JsonStyle style;
  style.ascii = arguments.yes(0);
  style.sorted = arguments.yes(3);
  style.lines = arguments.some(1);
  Value indent;
  if (style.lines) {
    indent = indent_of(run, arguments[1]);
    style.input = arguments[1].from_input();
    style.item_separator = ",";  // Python leaves out the space at a line's end
  }
  if (!indent.is_missing()) style.indent = indent.as_text();
  List separators = run.new_list();
  if (arguments.some(2)) {
    separators = items_of(run, arguments[2]);
    if (separators.size() != 2 || !separators[0].is_text() || !separators[1].is_text())
      return run.fail("separators must be two texts");
    style.input |= separators[0].from_input() || separators[1].from_input();
    style.item_separator = separators[0].as_text();
    style.key_separator = separators[1].as_text();
  }
  return run.ok() ? to_json(run, self, style) : Value();
}

constexpr Builtin kFilters[] = {
    {"abs", numeric_filter, "", 0, kAbs},
    {"default d", default_filter, "default_value boolean", 0},
    {"dictsort", dictsort_filter, "case_sensitive by reverse", 0},
    {"first", first_filter, "", 0},
    {"float", numeric_filter, "default", 0, kFloat},
    {"groupby", groupby_filter, "attribute default case_sensitive", 1},
    {"int", numeric_filter, "default", 0, kInt},
    {"items", items_filter, "", 0},
    {"last", last_filter, "", 0},
    {"length count", length_filter, "", 0},
    {"list", list_filter, "", 0},
    {"max", extreme_filter, "case_sensitive attribute", 0, kMax},
    {"min", extreme_filter, "case_sensitive attribute", 0, kMin},
    {"reverse", reverse_filter, "", 0},
    {"round", numeric_filter, "precision method", 0, kRound},
    {"sort", sort_filter, "reverse case_sensitive attribute", 0},
    {"string", string_filter, "", 0},
    {"sum", sum_filter, "attribute start", 0},
    {"tojson", tojson_filter, "ensure_ascii indent separators sort_keys", 0},
    {"unique", unique_filter, "case_sensitive attribute", 0},
};

}  // namespace

Value indent_of(Interpreter& run, const Value& width) {
  constexpr int64_t kWidest = 10'000;
  const int64_t n = width.is_text() ? length_of(width) : run.integer_of(width, 0);
  if (n > kWidest) return run.fail("an indent of $ is too wide", n);
  if (width.is_text()) return width;
  return run.own(std::string(static_cast<size_t>(std::max<int64_t>(n, 0)), ' '));
}

const Builtin* find_filter(std::string_view name) {
  for (const std::span<const Builtin> rows :
       {std::span<const Builtin>(kFilters), text_filters(), choice_filters()}) {
    if (const Builtin* const found = find_builtin(rows, name)) return found;
  }
  return nullptr;
}

}  // namespace sluice::jinja
