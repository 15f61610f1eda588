// Runs statements.
#include <algorithm>

#include "jinja/interpreter.h"

namespace sluice::jinja {

// Where text goes until this ends. Nobody may want it.
struct Interpreter::Capture {
  explicit Capture(Interpreter& interpreter)
      : run(interpreter), text(run.meter), outer(std::exchange(run.out_, &text)) {}
  ~Capture() { run.out_ = outer; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  Interpreter& run;
  TextWriter text;
  TextWriter* outer;
};

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
      return run_with(stmt, scope);
    case Stmt::Type::scope: {
      const Value inner = new_scope(scope);
      return run_body(stmt.bodies[0], &inner.as<Scope>());
    }
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
    inner.set(program.loop, holder);
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

// {% set %}...{% endset %} and {% filter %}: the body's text, perhaps filtered.
Interpreter::Flow Interpreter::run_captured(const Stmt& stmt, Scope* scope) {
  const Value inner = new_scope(scope);
  Value result;
  {
    Capture captured(*this);
    const Flow flow = run_body(stmt.bodies[0], &inner.as<Scope>());
    if (flow != Flow::on) return flow;
    if (ok()) result = captured.text.take();
  }
  if (!result.is_missing() && stmt.value != nullptr) {
    result = eval_filter(*stmt.value, &inner.as<Scope>(), &result);
  }
  if (result.is_missing()) return Flow::on;
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
  const std::string_view name =
      stmt.type == Stmt::Type::macro ? program.names[stmt.symbol].as_text() : "caller";
  Vector<Symbol> symbols(&meter);
  bool has_caller = false;
  for (const Named& parameter : stmt.parameters) {
    symbols.push_back(parameter.name);
    has_caller |= parameter.name == program.caller;
  }
  if (arguments.list.size() > symbols.size()) {
    return fail("$() takes at most $ argument(s)", name, std::to_string(symbols.size()));
  }
  if (stmt.takes_caller && !has_caller) symbols.push_back(program.caller);
  std::string names;
  for (const Symbol symbol : symbols) {
    names += program.names[symbol].as_text();
    names += ' ';
  }
  meter.pass(names.size());
  if (!bind(arguments, name, names, 0)) return {};
  const Value holder = new_scope(macro.scope);
  auto& scope = holder.as<Scope>();
  for (size_t i = 0; i < symbols.size(); ++i) {
    const bool missing = arguments[i].is_missing();
    scope.names.emplace_back(symbols[i], missing ? undefined("parameter '$' was not provided",
                                                             program.names[symbols[i]].as_text())
                                                 : arguments[i]);
  }
  for (size_t i = 0; i < stmt.parameters.size() && ok(); ++i) {
    const Expr* const fallback = stmt.parameters[i].value;
    if (arguments[i].is_missing() && fallback != nullptr) {
      scope.names[i].second = eval(*fallback, &scope);
    }
  }
  if (!ok()) return {};
  Capture captured(*this);
  run_body(stmt.bodies[0], &scope);
  return ok() ? captured.text.take() : Value();
}

// --- the loop variable ---

Loop::Loop(const Stmt& of, Value over, Scope* around, Meter* meter)
    : Object(Kind::loop),
      stmt(of),
      source(std::move(over)),
      scope(around),
      chosen(meter),
      changed(meter) {
  depth = static_cast<uint16_t>(std::min<size_t>(source.depth() + 1, UINT16_MAX));
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
