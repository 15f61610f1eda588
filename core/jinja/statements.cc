// Runs statements.
#include <algorithm>

#include "jinja/interpreter.h"

namespace sluice::jinja {

Interpreter::Flow Interpreter::run_body(const Body& body, Scope* scope) {
  const Level level(*this);
  Flow flow = Flow::on;
  for (const Stmt* stmt : body) {
    if (!ok() || flow != Flow::on) break;
    meter.work(2);
    line_ = stmt->line;
    flow = run_stmt(*stmt, scope);
  }
  return flow;
}

Interpreter::Flow Interpreter::run_stmt(const Stmt& stmt, Scope* scope) {
  switch (stmt.type) {
    case Stmt::Type::output:
      run_output(stmt, scope);
      break;
    case Stmt::Type::branch:
      return run_branch(stmt, scope);
    case Stmt::Type::loop:
      return run_loop(stmt, scope);
    case Stmt::Type::set: {
      const Value value = eval(*stmt.value, scope);
      if (!value.is_missing()) assign(*stmt.target, value, scope);
      break;
    }
    case Stmt::Type::set_block:
    case Stmt::Type::filter_block:
      return run_captured(stmt, scope);
    case Stmt::Type::macro:
      set(stmt.symbol, make_macro(stmt, scope), scope);
      break;
    case Stmt::Type::call_block:
      run_call_block(stmt, scope);
      break;
    case Stmt::Type::with:
    case Stmt::Type::scope:
      return run_with(stmt, scope);
    case Stmt::Type::leave_loop:
      return Flow::leave;
    case Stmt::Type::next_round:
      return Flow::next;
  }
  return Flow::on;
}

void Interpreter::run_output(const Stmt& stmt, Scope* scope) {
  for (const Expr* expr : stmt.exprs) {
    const Value value = eval(*expr, scope);
    if (value.is_missing()) return;
    write(*out_, value);
  }
}

Interpreter::Flow Interpreter::run_branch(const Stmt& stmt, Scope* scope) {
  for (size_t i = 0; i < stmt.bodies.size(); ++i) {
    if (i < stmt.exprs.size()) {
      const Value test = eval(*stmt.exprs[i], scope);
      if (test.is_missing()) return Flow::on;
      if (!is_true(test)) continue;
    }
    return run_body(stmt.bodies[i], scope);
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::run_loop(const Stmt& stmt, Scope* scope) {
  const Value value = eval(*stmt.value, scope);
  const Value source = value.is_missing() ? Value() : iterate(value);
  if (source.is_missing()) return Flow::on;
  const Value holder = adopt(new Loop(stmt, source, scope, &meter), sizeof(Loop));
  if (holder.is_missing()) return Flow::on;
  auto& loop = holder.as<Loop>();
  bool completed = false;  // jinja2 runs `else` unless one round came to the end of the body
  while (ok() && loop.has(*this, loop.index0 + 1)) {
    meter.work(4);
    const Value item = loop.items()[static_cast<size_t>(++loop.index0)];
    const Value names = new_scope(scope);
    auto& inner = names.as<Scope>();
    set(program.loop, holder, &inner);
    assign(*stmt.target, item, &inner);
    const Flow flow = failed_ ? Flow::on : run_body(stmt.bodies[0], &inner);
    if (flow == Flow::leave) break;
    completed |= flow == Flow::on;
  }
  loop.at = source.items().size();  // it may live on, but tests no more
  if (completed || stmt.bodies.size() < 2 || !ok()) return Flow::on;
  const Value inner = new_scope(scope);
  return run_body(stmt.bodies[1], &inner.as<Scope>());
}

Value Interpreter::text_of_body(const Body& body, Scope* scope, Flow& flow) {
  TextWriter text(meter);
  TextWriter* const outer = std::exchange(out_, &text);
  flow = run_body(body, scope);
  out_ = outer;
  return ok() && flow == Flow::on ? text.take() : Value();
}

// {% set %}...{% endset %} and {% filter %}: the body's text, perhaps filtered.
Interpreter::Flow Interpreter::run_captured(const Stmt& stmt, Scope* scope) {
  const Value inner = new_scope(scope);
  Flow flow = Flow::on;
  Value result = text_of_body(stmt.bodies[0], &inner.as<Scope>(), flow);
  if (!result.is_missing() && stmt.value != nullptr) {
    result = eval_filter(*stmt.value, &inner.as<Scope>(), &result);
  }
  if (result.is_missing()) return flow;
  if (stmt.target != nullptr) {
    assign(*stmt.target, result, scope);
  } else {
    write(*out_, result);
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::run_with(const Stmt& stmt, Scope* scope) {
  const Value inner = new_scope(scope);
  for (size_t i = 0; i < stmt.exprs.size() && ok(); i += 2) {
    const Value value = eval(*stmt.exprs[i + 1], scope);
    if (!value.is_missing()) assign(*stmt.exprs[i], value, &inner.as<Scope>());
  }
  return ok() ? run_body(stmt.bodies[0], &inner.as<Scope>()) : Flow::on;
}

void Interpreter::run_call_block(const Stmt& stmt, Scope* scope) {
  const Value caller = make_macro(stmt, scope);
  if (caller.is_missing()) return;
  const Value result = eval_call(*stmt.value, scope, &caller);
  if (!result.is_missing()) write(*out_, result);
}

Value Interpreter::make_macro(const Stmt& stmt, Scope* scope) {
  for (Scope* used = scope; used != nullptr && !used->captured; used = used->parent) {
    used->captured = true;
    keep(Value::object(used));
  }
  return adopt(new Macro(&stmt, scope), sizeof(Macro));
}

void Interpreter::assign(const Expr& target, const Value& value, Scope* scope) {
  if (target.type == Expr::Type::name) {
    set(target.symbol, value, scope);
    return;
  }
  if (target.type == Expr::Type::space_attribute) {
    const Value space = load(target.symbol, scope);
    if (space.is(Kind::space)) {
      put(space.as<Namespace>().entries, target.value, value, meter);
    } else {
      fail("cannot assign attribute on non-namespace object");
    }
    return;
  }
  const Value parts = iterate(value);
  if (parts.is_missing()) return;
  const List& items = parts.items();
  const size_t n = target.operands.size();
  if (items.size() != n) {
    fail("cannot unpack: expected $ values, got $", std::to_string(n),
         std::to_string(items.size()));
  }
  for (size_t i = 0; i < n && ok(); ++i) assign(*target.operands[i], items[i], scope);
}

Value Interpreter::call_macro(const Macro& macro, Arguments& arguments) {
  const Stmt& stmt = *macro.stmt;
  const size_t n = stmt.parameters.size();
  bool adds_caller = stmt.takes_caller;
  for (size_t i = 0; i < n; ++i) {
    const Symbol symbol = stmt.parameters[i].name;
    adds_caller &= symbol != program.caller;
    if (i < arguments.list.size()) continue;
    arguments.list.push_back(arguments.take(program.names[symbol].as_text(), meter));
  }
  Value caller = adds_caller ? arguments.take("caller", meter) : Value();
  const std::string_view name =
      stmt.type == Stmt::Type::macro ? program.names[stmt.symbol].as_text() : "caller";
  if (!all_taken(arguments, name, n)) return {};
  const Value holder = new_scope(macro.scope);
  auto& scope = holder.as<Scope>();
  for (size_t i = 0; i < n; ++i) {
    const Symbol symbol = stmt.parameters[i].name;
    scope.names.emplace_back(
        symbol, !arguments[i].is_missing()
                    ? arguments[i]
                    : undefined("parameter '$' was not provided", program.names[symbol].as_text()));
  }
  if (caller.is_missing()) caller = undefined("No caller defined");
  if (adds_caller) scope.names.emplace_back(program.caller, std::move(caller));
  for (size_t i = 0; i < n && ok(); ++i) {  // the fallbacks may use the other parameters
    const Expr* const fallback = stmt.parameters[i].value;
    if (arguments[i].is_missing() && fallback != nullptr) {
      scope.names[i].second = eval(*fallback, &scope);
    }
  }
  Flow flow = Flow::on;
  return ok() ? text_of_body(stmt.bodies[0], &scope, flow) : Value();
}

// --- the loop variable ---

Loop::Loop(const Stmt& of, Value over, Scope* around, Meter* meter)
    : Object(Kind::loop), stmt(of), source(std::move(over)), scope(around), chosen(meter) {
  nest(source.depth());
}

bool Loop::has(Interpreter& run, int64_t index) {
  while (stmt.test != nullptr && std::cmp_less_equal(chosen.size(), index) &&
         at < source.items().size() && run.ok()) {
    run.meter.work(4);
    const Value item = source.items()[at++];
    const Value names = run.new_scope(scope);
    run.assign(*stmt.target, item, &names.as<Scope>());
    const Value test = run.eval(*stmt.test, &names.as<Scope>());
    if (!test.is_missing() && is_true(test)) chosen.push_back(item);
  }
  return std::cmp_less(index, items().size());
}

int64_t Loop::count(Interpreter& run) {
  has(run, INT64_MAX);
  return static_cast<int64_t>(items().size());
}

}  // namespace sluice::jinja
