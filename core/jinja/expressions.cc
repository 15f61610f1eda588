// Evaluates expressions.
#include <algorithm>

#include "jinja/interpreter.h"

namespace sluice::jinja {
Value Interpreter::eval(const Expr& expr, Scope* scope) {
  meter.work(2);
  if (expr.type == Expr::Type::constant) return expr.value;
  line_ = expr.line;
  if (expr.type == Expr::Type::name) return load(expr.symbol, scope);
  if (!ok()) return {};
  const Level level(*this);
  Value value = failed_ ? Value() : eval_inner(expr, scope);
  if (failed_) return {};
  return value;
}

Value Interpreter::eval_inner(const Expr& expr, Scope* scope) {
  const auto operand = [&](size_t i) { return eval(*expr.operands[i], scope); };
  switch (expr.type) {
    case Expr::Type::list:
    case Expr::Type::tuple:
    case Expr::Type::dict:
      return eval_display(expr, scope);
    case Expr::Type::slice:
      return eval_slice(expr, scope);
    case Expr::Type::call:
      return eval_call(expr, scope, nullptr);
    case Expr::Type::filter:
    case Expr::Type::test:
      return eval_filter(expr, scope, nullptr);
    case Expr::Type::chain:
      if (expr.operators[0] == LexemeType::tilde) return eval_concat(expr, scope);
      return eval_chain(expr, scope);
    case Expr::Type::compare:
      return eval_chain(expr, scope);
    default:
      break;
  }
  Value first = operand(0);
  if (first.is_missing()) return {};
  switch (expr.type) {
    case Expr::Type::attribute:
      return attribute(first, program.names[expr.symbol].as_text());
    case Expr::Type::item: {
      const Value index = operand(1);
      return index.is_missing() ? Value() : item(first, index);
    }
    case Expr::Type::sign:
      if (expr.operators[0] == LexemeType::sub) return negative(first);
      if (first.is(Kind::number)) return first;
      if (!first.is_integer()) return refuse(first, "bad operand type for unary +: '$'");
      return Value::integer(first.as_integer()).marked(first.from_input());
    case Expr::Type::negation:
      return Value::boolean(!is_true(first));
    case Expr::Type::both:
    case Expr::Type::either:
      for (size_t i = 1; i < expr.operands.size(); ++i) {
        if (first.is_missing() || is_true(first) == (expr.type == Expr::Type::either)) break;
        first = operand(i);
      }
      return first;
    case Expr::Type::condition:
      if (is_true(first)) return operand(1);
      if (expr.operands[2] != nullptr) return operand(2);
      return undefined(
          "the inline if-expression evaluated to false and no else section was defined");
    default:
      return fail("this can't be evaluated");
  }
}

Value Interpreter::eval_display(const Expr& expr, Scope* scope) {
  List items = new_list();
  items.reserve(expr.operands.size());
  for (const Expr* operand : expr.operands) {
    items.push_back(eval(*operand, scope));
    if (items.back().is_missing()) return {};
  }
  if (expr.type == Expr::Type::list) return list(std::move(items));
  if (expr.type == Expr::Type::tuple) return tuple(std::move(items));
  Entries entries(&meter);
  for (size_t i = 0; i < items.size() && ok(); i += 2) {
    put(entries, items[i], items[i + 1], meter);
  }
  return dict(std::move(entries));
}

// a + b - c, or a < b < c.
Value Interpreter::eval_chain(const Expr& expr, Scope* scope) {
  Value left = eval(*expr.operands[0], scope);
  for (size_t i = 0; i < expr.operators.size() && !left.is_missing(); ++i) {
    Value right = eval(*expr.operands[i + 1], scope);
    if (right.is_missing()) return {};
    if (expr.type == Expr::Type::chain) {
      left = binary(expr.operators[i], left, right);
      continue;
    }
    const bool holds = compare(expr.operators[i], left, right);
    if (!ok()) return {};
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return expr.type == Expr::Type::chain || left.is_missing() ? left : Value::boolean(true);
}

Value Interpreter::eval_concat(const Expr& expr, Scope* scope) {
  TextWriter joined(meter);
  for (const Expr* operand : expr.operands) {
    const Value value = eval(*operand, scope);
    if (value.is_missing()) return {};
    write(joined, value);
    if (!ok()) return {};
  }
  return joined.take();
}

Value Interpreter::eval_slice(const Expr& expr, Scope* scope) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    parts[i] = expr.operands[i] == nullptr ? Value::none() : eval(*expr.operands[i], scope);
    if (parts[i].is_missing()) return {};
  }
  return slice(parts[0], parts[1], parts[2], parts[3]);
}

bool Interpreter::eval_arguments(const Expr& expr, Scope* scope, Arguments& arguments) {
  arguments.list.reserve(expr.operands.size() - 1);
  for (size_t i = 1; i < expr.operands.size(); ++i) {
    arguments.list.push_back(eval(*expr.operands[i], scope));
    if (arguments.list.back().is_missing()) return false;
  }
  for (const auto& [symbol, value] : expr.named) {
    arguments.named.emplace_back(program.names[symbol], eval(*value, scope));
    if (arguments.named.back().second.is_missing()) return false;
  }
  return true;
}

Value Interpreter::eval_call(const Expr& expr, Scope* scope, const Value* caller) {
  const Value callee = eval(*expr.operands[0], scope);
  Arguments arguments(meter);
  if (callee.is_missing() || !eval_arguments(expr, scope, arguments)) return {};
  if (caller != nullptr) arguments.named.emplace_back(program.names[program.caller], *caller);
  line_ = expr.line;
  const Level level(*this);
  Value result = failed_ ? Value() : call(callee, arguments);
  if (!failed_) line_ = expr.line;  // not that of the macro's end
  return result;
}

// A filter or a test. `input`: the text of a filter block.
Value Interpreter::eval_filter(const Expr& expr, Scope* scope, const Value* input) {
  Value value;
  if (expr.operands[0] == nullptr) {
    value = *input;
  } else if (input != nullptr) {  // an earlier filter of the block's chain
    value = eval_filter(*expr.operands[0], scope, input);
  } else {
    value = eval(*expr.operands[0], scope);
  }
  Arguments arguments(meter);
  if (value.is_missing() || !eval_arguments(expr, scope, arguments)) return {};
  line_ = expr.line;
  const std::string_view name = program.names[expr.symbol].as_text();
  return apply(expr.type == Expr::Type::test, name, value, arguments);
}

// --- calls ---

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  switch (callee.kind()) {
    case Kind::function: {
      const Builtin& function = function_at(static_cast<int>(callee.as_integer()));
      return call(function, function.name, callee, arguments);
    }
    case Kind::method: {
      const auto& method = callee.as<Method>();
      return call(*method.method, method.method->name, method.self, arguments);
    }
    case Kind::macro:
      return call_macro(callee.as<Macro>(), arguments);
    default:
      return refuse(callee, "'$' object is not callable");
  }
}

Value Interpreter::call(const Builtin& builtin, std::string_view name, const Value& self,
                        Arguments& arguments) {
  if (!bind(arguments, name, builtin.parameters, builtin.required)) return {};
  arguments.which = builtin.which;
  Value result = builtin.run(*this, self, arguments);
  if (!ok()) return {};
  return result;
}

Value Interpreter::apply(bool test, std::string_view name, const Value& input,
                         Arguments& arguments) {
  meter.work(4);
  const Level level(*this);  // map() can apply map(), and so on
  const Builtin* const found = test ? find_test(name) : find_filter(name);
  if (found == nullptr)
    return fail("the $ '$' isn't supported here", test ? "test" : "filter", name);
  return failed_ ? Value() : call(*found, name, input, arguments);
}

bool Interpreter::bind(Arguments& arguments, std::string_view function, std::string_view parameters,
                       size_t required) {
  if (parameters == "*") return true;
  const bool by_name = !parameters.starts_with('/');
  if (!by_name) parameters.remove_prefix(1);
  size_t n = 0;
  for (; !parameters.empty(); ++n) {
    const size_t space = std::min(parameters.find(' '), parameters.size());
    const std::string_view parameter = parameters.substr(0, space);
    parameters.remove_prefix(std::min(space + 1, parameters.size()));
    if (n >= arguments.list.size()) {
      arguments.list.push_back(by_name ? arguments.take(parameter, meter) : Value());
    }
    if (n < required && arguments[n].is_missing()) {
      fail("$() misses its argument '$'", function, parameter);
    }
  }
  return all_taken(arguments, function, n);
}

bool Interpreter::all_taken(const Arguments& arguments, std::string_view function, size_t most) {
  if (!arguments.named.empty()) {
    const std::string_view name = arguments.named[0].first.as_text();
    fail("$() got an unexpected keyword argument '$'", function, name);
  } else if (arguments.list.size() > most) {
    fail("$() takes at most $ argument(s)", function, std::to_string(most));
  }
  return ok();
}

Value Arguments::take(std::string_view name, Meter& meter) {
  meter.work(2 + named.size() / 2);
  for (Entry& entry : named) {
    if (entry.first.as_text() != name) continue;
    Value taken = std::move(entry.second);
    named.erase(&entry);
    return taken;
  }
  return {};
}

}  // namespace sluice::jinja
