// The global functions, jinja2's and those that transformers adds, and the tests: what can follow
// `is`.
#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// --- functions ---

Value make_range(Interpreter& run, const Value&, Arguments& arguments) {
  const int64_t first = run.integer_of(arguments[0], 0);
  const bool one = !arguments.has(1);
  const int64_t start = one ? 0 : first;
  const int64_t stop = one ? first : run.integer_of(arguments[1], 0);
  const int64_t step = run.integer_of(arguments[2], 1);
  if (!run.ok()) return {};
  if (step == 0) return run.fail("range() arg 3 must not be zero");
  bool input = false;
  for (const Value& argument : arguments.list) input |= argument.from_input();
  return run.range(start, stop, step, input);
}

// What Python's dict(...) makes of its arguments.
bool read_entries(Interpreter& run, Arguments& arguments, Entries& entries) {
  if (arguments.list.size() > 1) {
    run.fail("dict expected at most 1 argument");
    return false;
  }
  if (!arguments.list.empty() && arguments.list[0].is(Kind::dict)) {
    const Entries& given = arguments.list[0].entries();
    run.meter.work(given.size());
    for (const Entry& entry : given) entries.push_back(entry);
  } else if (!arguments.list.empty()) {
    List pairs = run.new_list();
    if (!run.collect(arguments.list[0], pairs)) return false;
    for (const Value& pair : pairs) {
      List parts = run.new_list();
      if (!run.collect(pair, parts)) return false;
      if (parts.size() != 2 || !is_hashable(parts[0])) {
        run.fail("dict() needs pairs of a key and a value");
        return false;
      }
      put(entries, parts[0], parts[1], run.meter);
    }
  }
  for (Entry& entry : arguments.named) {
    if (!run.ok()) return false;
    put(entries, entry.first, entry.second, run.meter);
  }
  return run.ok();
}

Value make_dict(Interpreter& run, const Value&, Arguments& arguments) {
  Entries entries(&run.meter);
  return read_entries(run, arguments, entries) ? run.dict(std::move(entries)) : Value();
}

Value make_namespace(Interpreter& run, const Value&, Arguments& arguments) {
  auto* const space = new Namespace(&run.meter);
  const Value made = run.adopt(space, sizeof(Namespace));
  run.keep(made);
  return read_entries(run, arguments, space->entries) ? made : Value();
}

Value raise_exception(Interpreter& run, const Value&, Arguments& arguments) {
  constexpr size_t kMostShown = 2000;
  const Value message = run.str(arguments[0]);
  if (message.is_missing()) return {};
  return run.fail("raise_exception: $", message.as_text().substr(0, kMostShown));
}

Value strftime_now(Interpreter& run, const Value&, Arguments& arguments) {
  if (!arguments[0].is_text()) return run.fail("strftime_now() needs a text");
  constexpr size_t kMostBytes = 10'000;  // of a format
  const std::string_view format = arguments[0].as_text();
  if (format.size() > kMostBytes) return run.fail("the format of strftime_now() is too long");
  run.meter.work(format.size() * 20);
  TextWriter out(run.meter);
  out.add(format_time(format, run.options), arguments[0].from_input());
  return out.take();
}

constexpr Builtin kFunctions[] = {
    {"range", make_range, "/start stop step", 1},
    {"dict", make_dict, "*", 0},
    {"namespace", make_namespace, "*", 0},
    {"raise_exception", raise_exception, "message", 1},
    {"strftime_now", strftime_now, "format", 1},
};

// --- tests ---

template <Kind... kinds>
Value is_kind(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean((self.is(kinds) || ...));
}

Value is_defined(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(!self.is(Kind::undefined));
}

// Whether self % number is this rest.
Value has_rest(Interpreter& run, const Value& self, const Value& number, int64_t rest) {
  const Value left = run.binary(LexemeType::mod, self, number);
  return left.is_missing() ? left : Value::boolean(run.same(left, Value::integer(rest)));
}
Value is_odd(Interpreter& run, const Value& self, Arguments&) {
  return has_rest(run, self, Value::integer(2), 1);
}
Value is_even(Interpreter& run, const Value& self, Arguments&) {
  return has_rest(run, self, Value::integer(2), 0);
}
Value is_divisible(Interpreter& run, const Value& self, Arguments& arguments) {
  return has_rest(run, self, arguments[0], 0);
}

Value is_true_itself(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(self.is(Kind::boolean) && self.as_bool());
}
Value is_false_itself(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(self.is(Kind::boolean) && !self.as_bool());
}

Value is_sequence(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(length_of(self) >= 0 &&
                        (!self.has_items() || self.is_sequence() || self.is(Kind::range)));
}
Value is_iterable(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(length_of(self) >= 0 || self.is(Kind::generator) || self.is(Kind::loop));
}

Value is_same(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool texts = self.is_text() && arguments[0].is_text();
  return Value::boolean(texts ? run.same(self, arguments[0]) : self.same(arguments[0]));
}

// Whether the text has letters with a case, and all of them have this one.
Value method_case(Interpreter& run, const Value& self, Arguments& none, const char* method) {
  const Value text = run.str(self);
  return text.is_missing() ? text : run.call(run.attribute(text, method), none);
}
Value is_lower_text(Interpreter& run, const Value& self, Arguments& none) {
  return method_case(run, self, none, "islower");
}
Value is_upper_text(Interpreter& run, const Value& self, Arguments& none) {
  return method_case(run, self, none, "isupper");
}

Value is_equal(Interpreter& run, const Value& self, Arguments& arguments) {
  return Value::boolean(run.same(self, arguments[0]));
}
Value is_not_equal(Interpreter& run, const Value& self, Arguments& arguments) {
  return Value::boolean(!run.same(self, arguments[0]));
}
template <LexemeType op>
Value compares(Interpreter& run, const Value& self, Arguments& arguments) {
  return Value::boolean(run.less(op, self, arguments[0]));
}
Value is_in(Interpreter& run, const Value& self, Arguments& arguments) {
  return Value::boolean(run.contains(arguments[0], self));
}

constexpr Builtin kTests[] = {
    {"defined", is_defined, "", 0},
    {"undefined", is_kind<Kind::undefined>, "", 0},
    {"none", is_kind<Kind::none>, "", 0},
    {"string", is_kind<Kind::text>, "", 0},
    {"mapping", is_kind<Kind::dict>, "", 0},
    {"boolean", is_kind<Kind::boolean>, "", 0},
    {"integer", is_kind<Kind::integer>, "", 0},
    {"float", is_kind<Kind::number>, "", 0},
    {"number", is_kind<Kind::boolean, Kind::integer, Kind::number>, "", 0},
    {"true", is_true_itself, "", 0},
    {"false", is_false_itself, "", 0},
    {"iterable", is_iterable, "", 0},
    {"sequence", is_sequence, "", 0},
    {"in", is_in, "seq", 1},
    {"odd", is_odd, "", 0},
    {"even", is_even, "", 0},
    {"divisibleby", is_divisible, "num", 1},
    {"lower", is_lower_text, "", 0},
    {"upper", is_upper_text, "", 0},
    {"sameas", is_same, "other", 1},
    {"equalto", is_equal, "/other", 1},
    {"eq", is_equal, "/other", 1},
    {"==", is_equal, "/other", 1},
    {"ne", is_not_equal, "/other", 1},
    {"!=", is_not_equal, "/other", 1},
    {"lt", compares<LexemeType::lt>, "/other", 1},
    {"lessthan", compares<LexemeType::lt>, "/other", 1},
    {"<", compares<LexemeType::lt>, "/other", 1},
    {"le", compares<LexemeType::le>, "/other", 1},
    {"<=", compares<LexemeType::le>, "/other", 1},
    {"gt", compares<LexemeType::gt>, "/other", 1},
    {"greaterthan", compares<LexemeType::gt>, "/other", 1},
    {">", compares<LexemeType::gt>, "/other", 1},
    {"ge", compares<LexemeType::ge>, "/other", 1},
    {">=", compares<LexemeType::ge>, "/other", 1},
};

}  // namespace

int find_function(std::string_view name) {
  int index = 0;
  for (const Builtin& function : kFunctions) {
    if (name == function.name) return index;
    ++index;
  }
  return -1;
}

const Builtin& function_at(int index) { return kFunctions[index]; }

const Builtin* find_test(std::string_view name) {
  for (const Builtin& test : kTests) {
    if (name == test.name) return &test;
  }
  return nullptr;
}

}  // namespace sluice::jinja
