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
  if (++level_ > limits.max_calls) fail("it nests too deeply while it runs");
  Value value = failed_ ? Value() : eval_inner(expr, scope);
  --level_;
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
    case Expr::Type::attribute: {
      const Value object = operand(0);
      return object.is_missing() ? Value()
                                 : attribute(object, program.names[expr.symbol].as_text());
    }
    case Expr::Type::item: {
      const Value object = operand(0);
      if (object.is_missing()) return {};
      const Value index = operand(1);
      return index.is_missing() ? Value() : item(object, index);
    }
    case Expr::Type::slice:
      return eval_slice(expr, scope);
    case Expr::Type::call:
      return eval_call(expr, scope, nullptr);
    case Expr::Type::filter:
    case Expr::Type::test:
      return eval_filter(expr, scope, nullptr);
    case Expr::Type::sign: {
      const Value value = operand(0);
      if (value.is_missing()) return {};
      if (expr.operators[0] == LexemeType::sub) return negative(value);
      if (value.is(Kind::number)) return value;
      if (value.is_integer()) {
        return Value::integer(value.as_integer()).marked(value.from_input());
      }
      if (value.is(Kind::undefined)) return refuse(value, "");
      return refuse(value, "bad operand type for unary +: '$'");
    }
    case Expr::Type::negation: {
      const Value value = operand(0);
      return value.is_missing() ? Value() : Value::boolean(!is_true(value));
    }
    case Expr::Type::both:
    case Expr::Type::either: {
      Value value;
      for (size_t i = 0; i < expr.operands.size(); ++i) {
        value = operand(i);
        if (value.is_missing() || is_true(value) == (expr.type == Expr::Type::either)) break;
      }
      return value;
    }
    case Expr::Type::chain:
      return expr.operators[0] == LexemeType::tilde ? eval_concat(expr, scope)
                                                    : eval_chain(expr, scope);
    case Expr::Type::compare:
      return eval_compare(expr, scope);
    case Expr::Type::condition: {
      const Value test = operand(0);
      if (test.is_missing()) return {};
      if (is_true(test)) return operand(1);
      if (expr.operands[2] != nullptr) return operand(2);
      return undefined(
          "the inline if-expression evaluated to false and no else section was defined");
    }
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
    if (!is_hashable(items[i])) return refuse(items[i], "unhashable type: '$'");
    put(entries, items[i], items[i + 1], meter);
  }
  return dict(std::move(entries));
}

Value Interpreter::eval_chain(const Expr& expr, Scope* scope) {
  Value left = eval(*expr.operands[0], scope);
  for (size_t i = 0; i < expr.operators.size() && !left.is_missing(); ++i) {
    const Value right = eval(*expr.operands[i + 1], scope);
    if (right.is_missing()) return {};
    left = binary(expr.operators[i], left, right);
  }
  return left;
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

Value Interpreter::eval_compare(const Expr& expr, Scope* scope) {
  Value left = eval(*expr.operands[0], scope);
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    if (left.is_missing()) return {};
    Value right = eval(*expr.operands[i + 1], scope);
    if (right.is_missing()) return {};
    const bool holds = compare(expr.operators[i], left, right);
    if (!ok()) return {};
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
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
  if (expr.star != nullptr) {
    const Value more = eval(*expr.star, scope);
    if (more.is_missing() || !collect(more, arguments.list)) return false;
  }
  if (expr.stars != nullptr) {
    const Value more = eval(*expr.stars, scope);
    if (more.is_missing()) return false;
    if (!more.is(Kind::dict)) {
      refuse(more, "argument after ** must be a mapping, not $");
      return false;
    }
    for (const Entry& entry : more.entries()) {
      if (!ok()) return false;
      if (!entry.first.is_text()) {
        fail("keywords must be strings");
        return false;
      }
      if (find(arguments.named, entry.first.as_text(), meter) != nullptr) {
        fail("got multiple values for keyword argument '$'", entry.first.as_text());
        return false;
      }
      arguments.named.push_back(entry);
    }
  }
  return true;
}

Value Interpreter::eval_call(const Expr& expr, Scope* scope, const Value* caller) {
  const Value callee = eval(*expr.operands[0], scope);
  Arguments arguments(meter);
  if (callee.is_missing() || !eval_arguments(expr, scope, arguments)) return {};
  if (caller != nullptr) arguments.named.emplace_back(program.names[program.caller], *caller);
  line_ = expr.line;
  if (++level_ > limits.max_calls) fail("it nests too deeply while it runs");
  Value result = failed_ ? Value() : call(callee, arguments);
  --level_;
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
  return expr.type == Expr::Type::filter ? call_filter(name, value, arguments)
                                         : call_test(name, value, arguments);
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
    case Kind::loop:
      return call_loop(callee.as<Loop>(), arguments);
    case Kind::undefined:
      return refuse(callee, "");
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

Value Interpreter::call_filter(std::string_view name, const Value& input, Arguments& arguments) {
  meter.work(4);
  const Builtin* filter = find_filter(name);
  if (filter == nullptr) return fail("No filter named '$'.", name);
  return call(*filter, name, input, arguments);
}

Value Interpreter::call_test(std::string_view name, const Value& input, Arguments& arguments) {
  meter.work(4);
  const Builtin* test = find_test(name);
  if (test == nullptr) return fail("No test named '$'.", name);
  return call(*test, name, input, arguments);
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
    meter.work(2 + arguments.named.size() / 2);
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const Entry& e) { return e.first.as_text() == parameter; });
    if (n >= arguments.list.size()) arguments.list.emplace_back();
    if (named == arguments.named.end() || !by_name) continue;
    if (!arguments.list[n].is_missing()) {
      fail("$() got multiple values for argument '$'", function, parameter);
      return false;
    }
    arguments.list[n] = std::move(named->second);
    arguments.named.erase(named);
  }
  if (!arguments.named.empty()) {
    fail("$() got an unexpected keyword argument '$'", function,
         arguments.named[0].first.as_text());
  } else if (arguments.list.size() > n) {
    fail("$() takes at most $ argument(s)", function, std::to_string(n));
  }
  for (size_t i = 0; i < required && !failed_; ++i) {
    if (arguments.list[i].is_missing())
      fail("$() misses its argument $", function, std::to_string(i + 1));
  }
  return !failed_;
}

}  // namespace sluice::jinja
