// Attributes, items and slices, as jinja2's sandbox finds them; and going through a value.
#include <algorithm>

#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

Value loop_member(Interpreter& run, Loop& loop, std::string_view name) {
  const auto count = [&] {
    const int64_t n = loop.count(run);
    if (n < 0) run.fail("the loop's length is not known");
    return n;
  };
  if (name == "index") return Value::integer(loop.index0 + 1);
  if (name == "index0") return Value::integer(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  Value result;
  if (name == "last") {
    result = Value::boolean(!loop.peek(run));
  } else if (name == "length") {
    result = Value::integer(count());
  } else if (name == "revindex") {
    result = Value::integer(count() - loop.index0);
  } else if (name == "revindex0") {
    result = Value::integer(count() - loop.index0 - 1);
  } else if (name == "previtem") {
    result = loop.index0 == 0 ? run.undefined("there is no previous item") : loop.before;
  } else if (name == "nextitem") {
    result = loop.peek(run) ? loop.after : run.undefined("there is no next item");
  }
  return run.ok() ? result : Value();
}

Value macro_member(Interpreter& run, const Macro& macro, std::string_view name) {
  const Stmt& stmt = *macro.stmt;
  if (name == "name") {
    return stmt.type == Stmt::Type::macro ? run.program.names[stmt.symbol] : Value::none();
  }
  if (name == "catch_kwargs") return Value::boolean(stmt.takes_kwargs);
  if (name == "catch_varargs") return Value::boolean(stmt.takes_varargs);
  if (name == "caller") return Value::boolean(stmt.takes_caller);
  if (name != "arguments") return {};
  List names = run.new_list();
  for (const Parameter& parameter : stmt.parameters)
    names.push_back(run.program.names[parameter.name]);
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
    case Kind::range:
      if (name == "start")
        return Value::integer(object.as<Range>().start).marked(object.as<Range>().from_input);
      if (name == "stop")
        return Value::integer(object.as<Range>().stop).marked(object.as<Range>().from_input);
      if (name == "step")
        return Value::integer(object.as<Range>().step).marked(object.as<Range>().from_input);
      break;
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

// The place of a Python index in a sequence, or -1.
int64_t place(int64_t index, int64_t length) {
  if (index < 0) index += length;
  return index >= 0 && index < length ? index : -1;
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
  const int64_t length = length_of(object);
  if (object.is(Kind::dict)) {
    const Value* value = is_hashable(index) ? find(object.entries(), index, meter) : nullptr;
    if (value != nullptr) return *value;
  } else if (index.is_integer() && length >= 0) {
    const int64_t at = place(index.as_integer(), length);
    if (at >= 0 && object.is_sequence()) return object.items()[static_cast<size_t>(at)];
    if (at >= 0 && object.is(Kind::range))
      return Value::integer(object.as<Range>().at(at))
          .marked(object.as<Range>().from_input || index.from_input());
    if (at >= 0 && object.is_text()) {
      const auto i = static_cast<size_t>(at);
      const size_t chars = object.as<Text>().chars;
      if (chars != object.as_text().size()) meter.scan(object.as_text().size());
      return part(object, sub_chars(object.as_text(), chars, i, i + 1));
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
  if (!object.is_text() && !object.is_sequence() && !object.is(Kind::range)) {
    return refuse(object, "'$' object can't be sliced");
  }
  const int64_t length = length_of(object);
  const int64_t step = by.is(Kind::none) ? 1 : std::max(by.as_integer(), -INT64_MAX);
  if (step == 0) return fail("slice step cannot be zero");
  const int64_t least = step > 0 ? 0 : -1;
  const int64_t most = step > 0 ? length : length - 1;
  const auto bound = [&](const Value& value, int64_t otherwise) {
    if (value.is(Kind::none)) return otherwise;
    const int64_t at = value.as_integer();
    return std::clamp(at < 0 ? std::max(at, -length - 1) + length : at, least, most);
  };
  const int64_t from = bound(begin, step > 0 ? 0 : length - 1);
  const int64_t to = bound(end, step > 0 ? length : -1);
  const Range places(from, to, step);
  if (object.is(Kind::range)) {
    const auto& range = object.as<Range>();
    if (places.length == 0) return adopt(new Range(0, 0, 1), sizeof(Range));
    int64_t stride = 0, past = 0;
    const bool too_large =
        __builtin_mul_overflow(range.step, places.length > 1 ? step : 1, &stride) ||
        __builtin_add_overflow(range.at(places.at(places.length - 1)), stride > 0 ? 1 : -1, &past);
    if (too_large) return fail("a part of a range does not fit into 64 bits");
    auto* const made = new Range(range.at(from), past, stride);
    made->from_input =
        range.from_input || begin.from_input() || end.from_input() || by.from_input();
    return adopt(made, sizeof(Range));
  }
  if (object.is_text()) {
    const std::string_view all = object.as_text();
    const size_t chars = object.as<Text>().chars;
    if (chars != all.size()) meter.scan(all.size());
    if (step == 1) {
      const auto last = static_cast<size_t>(std::max(from, to));
      return part(object, sub_chars(all, chars, static_cast<size_t>(from), last));
    }
    if (!room(uint64_t{chars} * sizeof(uint32_t))) return {};
    Vector<uint32_t> starts(&meter);
    starts.reserve(chars);
    for (size_t at = 0; at < all.size(); at += char_bytes(all.substr(at)))
      starts.push_back(static_cast<uint32_t>(at));
    TextWriter out(meter);
    for (int64_t i = 0; i < places.length && ok(); ++i) {
      const size_t at = starts[static_cast<size_t>(places.at(i))];
      out.change(all.substr(at, char_bytes(all.substr(at))), object.as<Text>(), at);
    }
    return out.take();
  }
  List out = new_list();
  for (int64_t i = 0; i < places.length && ok(); ++i) {
    meter.work(1);
    out.push_back(object.items()[static_cast<size_t>(places.at(i))]);
  }
  return object.is(Kind::list) ? list(std::move(out)) : tuple(std::move(out));
}

// --- going through a value ---

bool Interpreter::start(const Value& value, ItemCursor& cursor) {
  const bool iterable = length_of(value) >= 0 || value.is(Kind::iterator);
  if (!iterable) refuse(value, "'$' object is not iterable");
  cursor = {value, 0};
  return iterable;
}

bool ItemCursor::next(Interpreter& run, Value& item) {
  run.meter.work(2);
  if (run.meter.spent()) return false;
  switch (source.kind()) {
    case Kind::list:
    case Kind::tuple:
      if (at >= source.items().size()) return false;
      item = source.items()[at++];
      return true;
    case Kind::text: {
      const std::string_view rest = source.as_text().substr(at);
      if (rest.empty()) return false;
      const size_t n = char_bytes(rest);
      item = run.part(source, rest.substr(0, n));
      at += n;
      return !item.is_missing();
    }
    case Kind::dict:
    case Kind::view: {
      const bool view = source.is(Kind::view);
      const auto& entries = (view ? source.as<View>().dict : source).entries();
      if (at >= entries.size()) return false;
      const Entry& entry = entries[at++];
      const auto what = view ? source.as<View>().what : View::What::keys;
      if (what == View::What::items) {
        item = run.tuple(List({entry.first, entry.second}, &run.meter));
      } else {
        item = what == View::What::keys ? entry.first : entry.second;
      }
      return !item.is_missing();
    }
    case Kind::range:
      if (static_cast<int64_t>(at) >= source.as<Range>().length) return false;
      item = Value::integer(source.as<Range>().at(static_cast<int64_t>(at++)))
                 .marked(source.as<Range>().from_input);
      return true;
    case Kind::iterator:
      return run.next_of(source.as<Iterator>(), item);
    case Kind::missing:
    case Kind::undefined:
      return false;
    default:
      run.start(source, *this);  // fails
      return false;
  }
}

bool Interpreter::collect(const Value& value, List& items) {
  ItemCursor cursor;
  if (!start(value, cursor)) return false;
  Value item;
  while (ok() && cursor.next(*this, item)) {
    items.push_back(item);
    if (items.size() > limits.max_items) too_many();
  }
  return ok();
}

bool Interpreter::next_of(Iterator& iterator, Value& item) {
  if (++level_ > limits.max_calls) fail("it nests too deeply while it runs");
  const bool found = !failed_ && iterator.next(*this, item);
  --level_;
  return found;
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
