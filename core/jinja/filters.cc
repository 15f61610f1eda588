// jinja2's filters of sequences, numbers and single values, and the table of all filters.
#include "jinja/filters.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "jinja/number.h"
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
  const bool absent = self.is(Kind::undefined) || (is_given(arguments, 1) && !is_true(self));
  if (!absent) return self;
  return arguments.has(0) ? arguments[0] : run.text(std::string());
}

Value first_filter(Interpreter& run, const Value& self, Arguments&) {
  ItemCursor cursor;
  if (!run.start(self, cursor)) return {};
  Value item;
  if (cursor.next(run, item)) return item;
  return run.ok() ? run.undefined("No first item, sequence was empty.") : Value();
}

// The items from the last to the first. Iterators can't be reversed, only collected.
bool collect_reversed(Interpreter& run, const Value& self, std::vector<Value>& items) {
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
  std::vector<Value> items;
  return run.collect(self, items) ? items.back() : Value();
}

Value list_filter(Interpreter& run, const Value& self, Arguments&) {
  std::vector<Value> items;
  return run.collect(self, items) ? run.list(std::move(items)) : Value();
}

Value reverse_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is_text()) return run.slice(self, Value::none(), Value::none(), Value::integer(-1));
  std::vector<Value> items;
  if (!collect_reversed(run, self, items)) return {};
  return self.is(Kind::iterator) ? run.list(std::move(items)) : run.iterator(std::move(items));
}

Value items_filter(Interpreter& run, const Value& self, Arguments&) {
  std::vector<Value> items;
  if (self.is(Kind::dict)) {
    for (const Entry& entry : self.entries())
      items.push_back(run.tuple({entry.first, entry.second}));
  } else if (!self.is(Kind::undefined)) {
    return run.fail("Can only get item pairs from a mapping.");
  }
  run.work(items.size());
  return run.iterator(std::move(items));
}

Value batch_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t size = run.integer_of(arguments[0], 0);
  std::vector<Value> items;
  if (!run.collect(self, items)) return {};
  std::vector<Value> rows;
  std::vector<Value> row;
  for (Value& item : items) {
    if (static_cast<int64_t>(row.size()) == size) rows.push_back(run.list(std::exchange(row, {})));
    row.push_back(std::move(item));
  }
  if (!row.empty()) {
    const bool fill = arguments.has(1) && !arguments[1].is(Kind::none);
    if (fill && size > static_cast<int64_t>(run.limits.max_items))
      return run.fail("a row is too long");
    while (fill && static_cast<int64_t>(row.size()) < size) row.push_back(arguments[1]);
    rows.push_back(run.list(std::move(row)));
  }
  return run.ok() ? run.iterator(std::move(rows)) : Value();
}

Value slice_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t n = run.integer_of(arguments[0], 0);
  std::vector<Value> items;
  if (!run.collect(self, items)) return {};
  if (n == 0) return run.fail("integer division or modulo by zero");
  if (n > static_cast<int64_t>(run.limits.max_items)) return run.fail("too many slices");
  std::vector<Value> slices;
  auto at = items.begin();
  for (int64_t i = 0; i < n; ++i) {
    const bool longer = i < static_cast<int64_t>(items.size()) % n;
    const auto size = static_cast<int64_t>(items.size()) / n + (longer ? 1 : 0);
    std::vector<Value> slice(at, at + static_cast<ptrdiff_t>(size));
    at += static_cast<ptrdiff_t>(size);
    if (!longer && arguments.has(1) && !arguments[1].is(Kind::none)) slice.push_back(arguments[1]);
    slices.push_back(run.list(std::move(slice)));
  }
  run.work(slices.size());
  return run.ok() ? run.iterator(std::move(slices)) : Value();
}

Value sort_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  std::vector<Value> items;
  if (!run.collect(self, items)) return {};
  // "a,b": by a, then by b.
  std::vector<Value> attributes;
  if (arguments.has(2) && arguments[2].is_text()) {
    for (std::string_view rest = arguments[2].as_text();;) {
      const size_t comma = rest.find(',');
      attributes.push_back(run.text(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } else {
    attributes.push_back(arguments[2]);
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const Value& attribute : attributes) {
      parts.push_back(sort_key(run, run.path(item, attribute), is_given(arguments, 1)));
    }
    keys.push_back(run.tuple(std::move(parts)));
    if (!run.ok()) return {};
  }
  run.sort(items, keys, is_given(arguments, 0));
  return run.ok() ? run.list(std::move(items)) : Value();
}

Value dictsort_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!self.is(Kind::dict)) return run.refuse(self, "'$' object has no attribute 'items'");
  const std::string by = run.text_of(arguments[1], "key");
  if (by != "key" && by != "value")
    return run.fail("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> items;
  std::vector<Value> keys;
  for (const auto& [key, value] : self.entries()) {
    items.push_back(run.tuple({key, value}));
    keys.push_back(sort_key(run, by == "key" ? key : value, is_given(arguments, 0)));
  }
  run.sort(items, keys, is_given(arguments, 2));
  return run.ok() ? run.list(std::move(items)) : Value();
}

Value group_of(Interpreter& run, const Value& key, std::vector<Value> items) {
  Value group = run.tuple({key, run.list(std::move(items))});
  if (!group.is_missing()) group.as<Sequence>().group = true;
  return group;
}

Value groupby_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool exact = is_given(arguments, 2);
  const auto key_of = [&](const Value& item) { return run.path(item, arguments[0], arguments[1]); };
  std::vector<Value> items;
  if (!run.collect(self, items)) return {};
  const auto keys_of = [&] {
    std::vector<Value> keys;
    for (const Value& item : items) keys.push_back(sort_key(run, key_of(item), exact));
    return keys;
  };
  const std::vector<Value> unsorted = keys_of();
  if (!run.ok()) return {};
  run.sort(items, unsorted, false);
  if (!run.ok()) return {};
  const std::vector<Value> keys = keys_of();
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size() && run.ok();) {
    size_t end = begin + 1;
    while (end < items.size() && run.same(keys[end], keys[begin])) ++end;
    groups.push_back(group_of(run, exact ? keys[begin] : key_of(items[begin]),
                              {items.begin() + static_cast<ptrdiff_t>(begin),
                               items.begin() + static_cast<ptrdiff_t>(end)}));
    begin = end;
  }
  return run.ok() ? run.list(std::move(groups)) : Value();
}

Value unique_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  std::vector<Value> items;
  if (!run.collect(self, items)) return {};
  std::vector<Entry> seen;
  std::vector<Value> unique;
  for (const Value& item : items) {
    const Value key = sort_key(run, run.path(item, arguments[1]), is_given(arguments, 0));
    if (!run.ok()) return {};
    if (!is_hashable(key)) return run.refuse(key, "unhashable type: '$'");
    if (find(seen, key, run.budget) != nullptr) continue;
    seen.emplace_back(key, Value());
    unique.push_back(item);
  }
  return run.iterator(std::move(unique));
}

// The least item, for -1, or the greatest, for 1.
Value extreme_filter(Interpreter& run, const Value& self, Arguments& arguments, int wanted) {
  std::vector<Value> items;
  if (!run.collect(self, items)) return {};
  if (items.empty()) return run.undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = sort_key(run, run.path(items[i], arguments[1]), is_given(arguments, 0));
    if (!run.ok()) return {};
    if (i > 0 && run.order(key, best_key) != wanted) continue;
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
  const std::string between = run.text_of(arguments[0]);
  ItemCursor cursor;
  if (!run.start(self, cursor)) return {};
  std::string out;
  Value item;
  for (bool first = true; run.ok() && cursor.next(run, item); first = false) {
    if (!first) out += between;
    item = run.path(item, arguments[1]);
    if (!run.ok()) return {};
    out += run.str(item);
    run.work(1);
    if (!run.room(out.size())) return {};
  }
  return run.ok() ? run.text(std::move(out)) : Value();
}

// --- numbers ---

Value abs_filter(Interpreter& run, const Value& self, Arguments&) {
  if (self.is(Kind::number)) return Value::number(std::fabs(self.as_double()));
  if (self.is_integer() && self.as_integer() >= 0) return Value::integer(self.as_integer());
  if (self.is_integer()) return run.negative(self);
  return run.refuse(self, "bad operand type for abs(): '$'");
}

Value int_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value fallback = arguments.has(0) ? arguments[0] : Value::integer(0);
  const int64_t base = run.integer_of(arguments[1], 10);
  if (self.is(Kind::undefined)) return run.refuse(self, "");
  if (self.is_integer()) return Value::integer(self.as_integer());
  double number = 0;
  if (self.is_text()) {
    run.work(self.as_text().size() / 16);
    const bool valid_base = base == 0 || (base >= 2 && base <= 36);
    if (const auto whole =
            valid_base ? int_of(self.as_text(), static_cast<int>(base)) : std::nullopt) {
      return Value::integer(*whole);
    }
    const auto read = float_of(self.as_text());
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
    run.work(self.as_text().size() / 16);
    if (const auto read = float_of(self.as_text())) return Value::number(*read);
  }
  return arguments.has(0) ? arguments[0] : Value::number(0);
}

Value round_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  const int64_t precision = std::clamp<int64_t>(run.integer_of(arguments[0], 0), -300, 300);
  const std::string method = run.text_of(arguments[1], "common");
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
  // The decimal digits are exact, so halves are decided as Python does.
  if (precision >= 0)
    return Value::number(
        parse_float(write_decimal(value, 'f', static_cast<int>(precision))).value_or(value));
  return Value::number(std::nearbyint(value * scale) / scale);
}

Value filesize_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  Arguments none;
  none.list.push_back(Value::none());
  const Value number = float_filter(run, self, none);
  if (number.is_missing()) return {};
  if (!number.is(Kind::number)) return run.refuse(self, "could not convert $ to float");
  const bool binary = is_given(arguments, 0);
  const double base = binary ? 1024 : 1000;
  const double bytes = number.as_double();
  if (bytes == 1) return run.text(std::string_view("1 Byte"));
  if (bytes < base)
    return run.text(concat(write_decimal(std::trunc(bytes) + 0.0, 'f', 0), " Bytes"));
  double unit = base;
  size_t i = 0;
  for (; i < 7 && bytes >= unit * base; ++i) unit *= base;
  const std::string_view letters = binary ? "KMGTPEZY" : "kMGTPEZY";
  return run.text(
      concat(write_decimal(bytes / unit, 'f', 1), " ", letters.substr(i, 1), binary ? "iB" : "B"));
}

// --- any value ---

Value string_filter(Interpreter& run, const Value& self, Arguments&) {
  return self.is_text() ? self : run.text(run.str(self));
}

Value repr_filter(Interpreter& run, const Value& self, Arguments&) {
  return run.text(run.repr(self));
}

Value attr_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  if (!arguments[0].is_text()) return run.fail("attribute name must be string");
  if (self.is(Kind::dict) && find_method(self, arguments[0].as_text()) < 0) {
    return run.undefined(concat("'dict object' has no attribute '", arguments[0].as_text(), "'"));
  }
  return run.attribute(self, arguments[0]);
}

Value tojson_filter(Interpreter& run, const Value& self, Arguments& arguments) {
  JsonStyle style;
  style.ascii = is_given(arguments, 0);
  style.sorted = is_given(arguments, 3);
  style.lines = arguments.has(1) && !arguments[1].is(Kind::none);
  if (style.lines) {
    style.item_separator.pop_back();  // Python leaves out the space at a line's end
    if (arguments[1].is_text()) {
      style.indent = arguments[1].as_text();
    } else {
      const int64_t width = run.integer_of(arguments[1], 0);
      if (width > 1000) return run.fail("an indent of ", width, " is too wide");
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (arguments.has(2) && !arguments[2].is(Kind::none)) {
    std::vector<Value> parts;
    if (!run.collect(arguments[2], parts)) return {};
    if (parts.size() != 2 || !parts[0].is_text() || !parts[1].is_text()) {
      return run.fail("separators must be two texts");
    }
    style.item_separator = parts[0].as_text();
    style.key_separator = parts[1].as_text();
  }
  return run.ok() ? to_json(run, self, style) : Value();
}

constexpr Builtin kFilters[] = {
    {"abs", abs_filter, "", 0},
    {"attr", attr_filter, "name", 1},
    {"batch", batch_filter, "linecount fill_with", 1},
    {"count", length_filter, "", 0},
    {"d", default_filter, "default_value boolean", 0},
    {"default", default_filter, "default_value boolean", 0},
    {"dictsort", dictsort_filter, "case_sensitive by reverse", 0},
    {"filesizeformat", filesize_filter, "binary", 0},
    {"first", first_filter, "", 0},
    {"float", float_filter, "default", 0},
    {"groupby", groupby_filter, "attribute default case_sensitive", 1},
    {"int", int_filter, "default base", 0},
    {"items", items_filter, "", 0},
    {"join", join_filter, "d attribute", 0},
    {"last", last_filter, "", 0},
    {"length", length_filter, "", 0},
    {"list", list_filter, "", 0},
    {"max", variant<extreme_filter, 1>, "case_sensitive attribute", 0},
    {"min", variant<extreme_filter, -1>, "case_sensitive attribute", 0},
    {"pprint", repr_filter, "", 0},
    {"reverse", reverse_filter, "", 0},
    {"round", round_filter, "precision method", 0},
    {"slice", slice_filter, "slices fill_with", 1},
    {"sort", sort_filter, "reverse case_sensitive attribute", 0},
    {"string", string_filter, "", 0},
    {"sum", sum_filter, "attribute start", 0},
    {"tojson", tojson_filter, "ensure_ascii indent separators sort_keys", 0},
    {"unique", unique_filter, "case_sensitive attribute", 0},
};

}  // namespace

Value sort_key(Interpreter& run, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_text()) return value;
  run.work(value.as_text().size() / 8);
  return run.text(change_case(value.as_text(), Case::lower));
}

bool is_given(const Arguments& arguments, size_t i) {
  return arguments.has(i) && is_true(arguments[i]);
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
