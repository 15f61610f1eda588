// Attributes, items and slices, as jinja2's sandbox finds them; and going through a value.
#include <algorithm>

#include "jinja/interpreter.h"
#include "jinja/number.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

Value loop_member(Interpreter& run, Loop& loop, std::string_view name) {
  const int64_t i = loop.index0;
  const auto item = [&](int64_t at) { return loop.items()[static_cast<size_t>(at)]; };
  if (name == "index") return Value::integer(i + 1);
  if (name == "index0") return Value::integer(i);
  if (name == "first") return Value::boolean(i == 0);
  if (name == "last") return Value::boolean(!loop.has(run, i + 1));
  if (name == "length") return Value::integer(loop.count(run));
  if (name == "revindex") return Value::integer(loop.count(run) - i);
  if (name == "revindex0") return Value::integer(loop.count(run) - i - 1);
  if (name == "previtem") {
    return i <= 0 ? run.undefined("there is no previous item") : item(i - 1);
  }
  if (name == "nextitem") {
    return loop.has(run, i + 1) ? item(i + 1) : run.undefined("there is no next item");
  }
  if (name == "cycle" || name.starts_with("depth")) run.fail("loop.$ isn't supported here", name);
  return {};
}

Value macro_member(Interpreter& run, const Macro& macro, std::string_view name) {
  const Stmt& stmt = *macro.stmt;
  if (name == "name") {
    return stmt.type == Stmt::Type::macro ? run.program.names[stmt.symbol] : Value::none();
  }
  if (name != "arguments") return {};
  List names = run.new_list();
  for (const Named& parameter : stmt.parameters) names.push_back(run.program.names[parameter.name]);
  return run.tuple(std::move(names));
}

// What Python's getattr() finds. Missing if there is nothing, or after an error.
Value member(Interpreter& run, const Value& object, std::string_view name) {
  if (name.starts_with("__") || changes_value(object, name)) {
    if (object.is(Kind::dict) && !name.ends_with("__") && name.starts_with("__")) return {};
    return run.undefined("access to attribute '$' of '$' object is unsafe.", name,
                         type_name(object));
  }
  Value found;
  switch (object.kind()) {
    case Kind::space:
      if (const Value* value = find(object.as<Namespace>().entries, name, run.meter)) return *value;
      break;
    case Kind::loop:
      found = loop_member(run, object.as<Loop>(), name);
      break;
    case Kind::macro:
      found = macro_member(run, object.as<Macro>(), name);
      break;
    case Kind::tuple:
      if (object.as<Sequence>().group && name == "grouper") return object.items()[0];
      if (object.as<Sequence>().group && name == "list") return object.items()[1];
      break;
    case Kind::range: {
      const auto& range = object.as<Range>();
      const int64_t* const found_at = name == "start"  ? &range.start
                                      : name == "stop" ? &range.stop
                                      : name == "step" ? &range.step
                                                       : nullptr;
      if (found_at != nullptr) found = Value::integer(*found_at).marked(range.from_input);
      break;
    }
    default:
      break;
  }
  if (!found.is_missing() || !run.ok()) return found;
  run.meter.work(4);
  const int method = find_method(object, name);
  if (method < 0) return {};
  return run.adopt(new Method(object, method), sizeof(Method));
}

std::string described(const Value& object) {
  return object.is(Kind::none) ? "None" : concat(type_name(object), " object");
}

bool is_sliceable(const Value& object) {
  return object.is_text() || object.is_sequence() || object.is(Kind::range);
}

Value chars_of(Interpreter& run, const Value& text, size_t begin, size_t end) {
  const std::string_view all = text.as_text();
  const size_t chars = text.as<Text>().chars;
  if (chars != all.size()) run.meter.scan(all.size());
  return run.part(text, sub_chars(all, chars, begin, end));
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::undefined)) return refuse(object, "");
  Value found = member(*this, object, name);
  if (!found.is_missing() || !ok()) return found;
  if (object.is(Kind::dict)) {
    if (const Value* value = find(object.entries(), name, meter)) return *value;
  }
  return undefined("'$' has no attribute '$'", described(object), name);
}

Value Interpreter::item(const Value& object, const Value& index) {
  if (object.is(Kind::undefined)) return refuse(object, "");
  if (object.is(Kind::dict)) {
    const Value* value = is_hashable(index) ? find(object.entries(), index, meter) : nullptr;
    if (value != nullptr) return *value;
  } else if (index.is_integer() && is_sliceable(object)) {
    const int64_t length = length_of(object);
    const int64_t at = index.as_integer() < 0 ? index.as_integer() + length : index.as_integer();
    if (at >= 0 && at < length) {
      const auto i = static_cast<size_t>(at);
      if (object.is_text()) return chars_of(*this, object, i, i + 1);
      const Value& found = object.items()[i];
      // A number of a range is known by where it stands.
      return object.is(Kind::range) ? found.marked(found.from_input() || index.from_input())
                                    : found;
    }
  }
  if (index.is_text()) {
    Value found = member(*this, object, index.as_text());
    if (!found.is_missing() || !ok()) return found;
  }
  return undefined("$ has no element $", described(object), shown(index));
}

Value Interpreter::slice(const Value& object, const Value& begin, const Value& end,
                         const Value& by) {
  if (object.is(Kind::undefined)) return refuse(object, "");
  for (const Value* part : {&begin, &end, &by}) {
    if (part->is(Kind::undefined) || (!part->is(Kind::none) && !part->is_integer())) {
      return refuse(*part, "slice indices must be integers or None, not $");
    }
  }
  if (!is_sliceable(object)) return refuse(object, "'$' object can't be sliced");
  const int64_t length = length_of(object);
  if (!by.is(Kind::none) && by.as_integer() == 0) return fail("slice step cannot be zero");
  // No step need be longer than all there is.
  const int64_t step = by.is(Kind::none) ? 1 : std::clamp(by.as_integer(), -length - 1, length + 1);
  const int64_t first = step > 0 ? 0 : -1;  // where going through it backwards ends
  const int64_t last = length + first;
  const auto bound = [&](const Value& value, int64_t otherwise) {
    if (value.is(Kind::none)) return otherwise;
    const int64_t at = value.as_integer();
    return std::clamp(at < 0 ? std::max(at, -length - 1) + length : at, first, last);
  };
  const int64_t from = bound(begin, step > 0 ? first : last);
  const int64_t to = bound(end, step > 0 ? last : first);
  if (object.is(Kind::range)) {
    if (step != 1) return fail("a step in the slice of a range isn't supported here");
    const auto& range = object.as<Range>();
    const bool input = range.from_input || begin.from_input() || end.from_input();
    int64_t start = 0, stop = 0;
    if (__builtin_mul_overflow(from, range.step, &start) ||
        __builtin_add_overflow(start, range.start, &start) ||
        __builtin_mul_overflow(to, range.step, &stop) ||
        __builtin_add_overflow(stop, range.start, &stop)) {
      return fail("a part of a range does not fit into 64 bits");
    }
    return this->range(start, stop, range.step, input);
  }
  if (object.is_text() && step == 1) {
    return chars_of(*this, object, static_cast<size_t>(from),
                    static_cast<size_t>(std::max(from, to)));
  }
  const Value all = iterate(object);
  if (all.is_missing()) return {};
  List chosen = new_list();
  TextWriter text(meter);
  for (int64_t i = from; (step > 0 ? i < to : i > to) && ok(); i += step) {
    meter.work(1);
    const Value& item = all.items()[static_cast<size_t>(i)];
    if (object.is_text()) {
      text.change(item.as_text(), item.as<Text>(), 0);
    } else {
      chosen.push_back(item);
    }
  }
  return object.is_text() ? text.take() : make(object.kind(), std::move(chosen));
}

// --- going through a value ---

Value Interpreter::iterate(const Value& value) {
  List items = new_list();
  if (value.is(Kind::generator)) {
    std::swap(items, value.as<Sequence>().items);
  } else if (value.has_items()) {
    meter.work(1 + value.items().size());
    return value;
  } else if (value.is(Kind::dict)) {
    items = parts_of(value, Kind::keys);
  } else if (value.is_text()) {
    for (std::string_view rest = value.as_text(); !rest.empty() && ok();) {
      items.push_back(part(value, rest.substr(0, char_bytes(rest))));
      rest.remove_prefix(char_bytes(rest));
    }
  } else if (!value.is(Kind::undefined)) {
    return refuse(value, "'$' object is not iterable");
  }
  return ok() ? list(std::move(items)) : Value();
}

bool Interpreter::collect(const Value& value, List& items) {
  const Value all = iterate(value);
  if (!all.is_missing()) append(items, all.items(), 0, all.items().size());
  return ok();
}

List Interpreter::parts_of(const Value& dict, Kind parts) {
  List made = new_list();
  for (const auto& [key, value] : dict.entries()) {
    if (!ok()) break;
    meter.work(1);
    made.push_back(parts == Kind::pairs    ? tuple(List({key, value}, &meter))
                   : parts == Kind::values ? value
                                           : key);
  }
  return made;
}

Value Interpreter::path(const Value& from, const Value& attribute, const Value& fallback) {
  if (attribute.is_missing() || attribute.is(Kind::none)) return from;
  const bool has_fallback = !fallback.is_missing() && !fallback.is(Kind::none);
  if (!attribute.is_text()) {
    const Value found = item(from, attribute);
    return found.is(Kind::undefined) && has_fallback ? fallback : found;
  }
  Value at = from;
  std::string_view rest = attribute.as_text();
  for (bool more = true; more && !at.is_missing() && ok();) {
    const size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    meter.pass(name.size());
    more = dot != std::string_view::npos;
    if (more) rest.remove_prefix(dot + 1);
    const bool digits =
        !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    const auto number = digits ? parse_int(name) : std::nullopt;
    at = item(at, number ? Value::integer(*number) : own(name));
    if (at.is(Kind::undefined) && has_fallback) at = fallback;
  }
  return at;
}

int64_t Interpreter::integer_of(const Value& value, int64_t fallback) {
  if (value.is_missing()) return fallback;
  if (value.is_integer()) return value.as_integer();
  refuse(value, "'$' object cannot be interpreted as an integer");
  return fallback;
}

Value Interpreter::text_of(const Value& value, std::string_view fallback) {
  return value.is_missing() ? own(fallback) : str(value);
}

}  // namespace sluice::jinja
