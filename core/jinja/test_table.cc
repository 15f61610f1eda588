// jinja2's tests: what can follow `is`.
#include "jinja/interpreter.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

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

Value is_callable(Interpreter&, const Value& self, Arguments&) {
  switch (self.kind()) {
    case Kind::function:
    case Kind::method:
    case Kind::macro:
    case Kind::loop:
    case Kind::joiner:
    case Kind::undefined:
      return Value::boolean(true);
    default:
      return Value::boolean(false);
  }
}

Value is_sequence(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(length_of(self) >= 0 && !self.is(Kind::view));
}
Value is_iterable(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(length_of(self) >= 0 || self.is(Kind::iterator) || self.is(Kind::loop));
}

Value is_escaped(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(self.is_text() && self.as<Text>().escaped);
}

Value is_same(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool texts = self.is_text() && arguments[0].is_text();
  return Value::boolean(texts ? run.same(self, arguments[0]) : self.same(arguments[0]));
}

Value says_method(Interpreter& run, const Value& self, const char* method) {
  Arguments none;
  return run.call(run.attribute(run.text(run.str(self)), run.text(std::string_view(method))), none);
}
Value is_lower_text(Interpreter& run, const Value& self, Arguments&) {
  return says_method(run, self, "islower");
}
Value is_upper_text(Interpreter& run, const Value& self, Arguments&) {
  return says_method(run, self, "isupper");
}

Value is_filter(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(self.is_text() && find_filter(self.as_text()) != nullptr);
}
Value is_test(Interpreter&, const Value& self, Arguments&) {
  return Value::boolean(self.is_text() && find_test(self.as_text()) != nullptr);
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
    {"callable", is_callable, "", 0},
    {"in", is_in, "seq", 1},
    {"odd", is_odd, "", 0},
    {"even", is_even, "", 0},
    {"divisibleby", is_divisible, "num", 1},
    {"lower", is_lower_text, "", 0},
    {"upper", is_upper_text, "", 0},
    {"escaped", is_escaped, "", 0},
    {"sameas", is_same, "other", 1},
    {"filter", is_filter, "", 0},
    {"test", is_test, "", 0},
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

const Builtin* find_test(std::string_view name) {
  for (const Builtin& test : kTests) {
    if (name == test.name) return &test;
  }
  return nullptr;
}

}  // namespace sluice::jinja
