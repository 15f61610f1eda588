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
  if (++level_ > limits.max_calls) fail("it nests too deeply while it runs");
  Flow flow = Flow::on;
  for (const Stmt* stmt : body) {
    if (!ok()) break;
    meter.work(2);
    line_ = stmt->line;
    flow = run_stmt(*stmt, scope);
    if (flow != Flow::on) break;
  }
  --level_;
  return flow;
}

Interpreter::Flow Interpreter::run_stmt(const Stmt& stmt, Scope* scope) {
  switch (stmt.type) {
    case Stmt::Type::output:
      run_output(stmt, scope);
      break;
    case Stmt::Type::branch:
      return run_branch(stmt, scope);
    case Stmt::Type::loop: {
      const Value source = eval(*stmt.value, scope);
      if (source.is_missing()) break;
      return run_loop(stmt, source, scope, 0);
    }
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
      run_with(stmt, scope);
      break;
    case Stmt::Type::scope: {
      Scope* const inner = open_scope(stmt.in_root ? nullptr : scope);
      const Flow flow = run_body(stmt.body, inner);
      close_scope(inner);
      return flow;
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
    if (stmt.exprs[i] != nullptr) {
      const Value test = eval(*stmt.exprs[i], scope);
      if (test.is_missing()) return Flow::on;
      if (!is_true(test)) continue;
    }
    return run_body(stmt.bodies[i], scope);
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::run_loop(const Stmt& stmt, const Value& source, Scope* scope,
                                        int64_t depth0) {
  auto* const loop = new Loop(&meter);
  const Value holder = adopt(loop, sizeof(Loop), source.depth());
  if (holder.is_missing()) return Flow::on;
  loop->stmt = &stmt;
  loop->scope = scope;
  loop->depth0 = depth0;
  if (!start(source, loop->source)) return Flow::on;
  if (stmt.recursive) capture(scope);
  bool completed = false;  // jinja2 runs `else` unless one round came to the end of the body
  Value item;
  while (ok() && loop->next(*this, item)) {
    Scope* const inner = open_scope(scope);
    inner->set(program.loop, holder);
    assign(*stmt.target, item, inner);
    const Flow flow = failed_ ? Flow::on : run_body(stmt.body, inner);
    close_scope(inner);
    if (flow == Flow::leave) break;
    completed |= flow == Flow::on;
  }
  loop->end();
  if (completed || stmt.other.empty() || !ok()) return Flow::on;
  Scope* const inner = open_scope(scope);
  const Flow flow = run_body(stmt.other, inner);
  close_scope(inner);
  return flow;
}

// {% set %}...{% endset %} and {% filter %}: the body's text, perhaps filtered.
Interpreter::Flow Interpreter::run_captured(const Stmt& stmt, Scope* scope) {
  Scope* const inner = open_scope(scope);
  Value result;
  Flow flow = Flow::on;
  {
    Capture captured(*this);
    flow = run_body(stmt.body, inner);
    if (ok() && flow == Flow::on) result = captured.text.take();
  }
  if (!result.is_missing() && stmt.value != nullptr) {
    result = eval_filter(*stmt.value, inner, &result);
  }
  if (!result.is_missing()) {
    if (stmt.target != nullptr) {
      assign(*stmt.target, result, scope);
    } else {
      write(*out_, result);
    }
  }
  close_scope(inner);
  return flow;
}

void Interpreter::run_with(const Stmt& stmt, Scope* scope) {
  Scope* const inner = open_scope(scope);
  for (size_t i = 0; i < stmt.targets.size() && !failed_; ++i) {
    const Value value = eval(*stmt.exprs[i], scope);
    if (!value.is_missing()) assign(*stmt.targets[i], value, inner);
  }
  if (ok()) run_body(stmt.body, inner);
  close_scope(inner);
}

void Interpreter::run_call_block(const Stmt& stmt, Scope* scope) {
  const Value caller = make_macro(stmt, scope);
  if (caller.is_missing()) return;
  const Value result = eval_call(*stmt.value, scope, &caller);
  if (!result.is_missing()) write(*out_, result);
}

Value Interpreter::make_macro(const Stmt& stmt, Scope* scope) {
  auto* const macro = new Macro;
  macro->stmt = &stmt;
  macro->scope = scope;
  capture(scope);
  return adopt(macro, sizeof(Macro));
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
  List items = new_list();
  if (!collect(value, items)) return;
  const size_t n = target.operands.size();
  if (items.size() > n) fail("too many values to unpack (expected $)", static_cast<int64_t>(n));
  if (items.size() < n)
    fail("not enough values to unpack (expected $, got $)", std::to_string(n),
         std::to_string(items.size()));
  for (size_t i = 0; i < n && !failed_; ++i) assign(*target.operands[i], items[i], scope);
}

Value Interpreter::call_macro(const Macro& macro, Arguments& arguments) {
  const Stmt& stmt = *macro.stmt;
  const size_t n = stmt.parameters.size();
  Scope* const scope = open_scope(macro.scope);
  const std::string_view name =
      stmt.type == Stmt::Type::macro ? program.names[stmt.symbol].as_text() : "caller";
  const auto take = [&](Symbol symbol) {
    Value taken;
    meter.work(2 + arguments.named.size());
    for (size_t i = 0; i < arguments.named.size(); ++i) {
      if (arguments.named[i].first.as_text() != program.names[symbol].as_text()) continue;
      taken = std::move(arguments.named[i].second);
      arguments.named.erase(arguments.named.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
    return taken;
  };
  Vector<Symbol> absent(&meter);
  bool has_caller = false;
  for (size_t i = 0; i < n; ++i) {
    const Symbol symbol = stmt.parameters[i].name;
    has_caller |= symbol == program.caller;
    Value value = i < arguments.list.size() ? arguments.list[i] : take(symbol);
    if (value.is_missing()) {
      value = undefined(stmt.parameters[i].fallback == nullptr ? "parameter '$' was not provided"
                                                               : "'$' is undefined",
                        program.names[symbol].as_text());
      if (stmt.parameters[i].fallback != nullptr) absent.push_back(static_cast<Symbol>(i));
    }
    scope->names.emplace_back(symbol, std::move(value));
  }
  if (stmt.takes_caller && !has_caller) {
    Value caller = take(program.caller);
    scope->set(program.caller, caller.is_missing() ? undefined("No caller defined") : caller);
  }
  if (stmt.takes_kwargs) {
    scope->set(program.kwargs, dict(std::move(arguments.named)));
  } else if (!arguments.named.empty()) {
    fail("macro '$' takes no keyword argument '$'", name, arguments.named[0].first.as_text());
  }
  if (stmt.takes_varargs) {
    List rest = new_list();
    append(rest, arguments.list, n, arguments.list.size());
    scope->set(program.varargs, tuple(std::move(rest)));
  } else if (arguments.list.size() > n) {
    fail("macro '$' takes not more than $ argument(s)", name, std::to_string(n));
  }
  for (const Symbol i : absent) {
    if (!ok()) break;
    scope->set(stmt.parameters[i].name, eval(*stmt.parameters[i].fallback, scope));
  }
  Value result;
  if (ok()) {
    Capture captured(*this);
    run_body(stmt.body, scope);
    if (ok()) result = captured.text.take();
  }
  close_scope(scope);
  return result;
}

Value Interpreter::call_loop(const Loop& loop, Arguments& arguments) {
  if (!loop.stmt->recursive) {
    return fail("The loop must have the 'recursive' marker to be called recursively.");
  }
  if (!bind(arguments, "loop", "iterable", 1)) return {};
  Capture captured(*this);
  run_loop(*loop.stmt, arguments[0], loop.scope, loop.depth0 + 1);
  return ok() ? captured.text.take() : Value();
}

// --- the loop variable ---

bool Loop::pull(Interpreter& run, Value& item) {
  if (over) return false;
  while (run.ok() && source.next(run, item)) {
    run.meter.work(2);
    if (stmt->test == nullptr || filtered) return true;
    Scope* const inner = run.open_scope(scope);
    run.assign(*stmt->target, item, inner);
    const Value test = run.eval(*stmt->test, inner);
    run.close_scope(inner);
    if (!test.is_missing() && is_true(test)) return true;
  }
  return false;
}

bool Loop::next(Interpreter& run, Value& item) {
  if (!after.is_missing()) {
    item = std::exchange(after, Value());
  } else if (!pull(run, item)) {
    return false;
  }
  ++index0;
  before = std::exchange(current, item);
  return true;
}

bool Loop::peek(Interpreter& run) {
  if (after.is_missing() && !pull(run, after)) after = Value();
  return !after.is_missing();
}

void Loop::end() {
  over = true;
  // Rounds that a `break` has left out are not counted, unless it is known how many they are.
  const bool known = length >= 0 || (stmt->test == nullptr && !source.source.is(Kind::iterator));
  if (!known) length = index0 + 1;
  if (length < 0) length = length_of(source.source);
  source = {};
  before = current = after = Value();
}

int64_t Loop::count(Interpreter& run) {
  if (length >= 0) return length;
  if (stmt->test == nullptr && !source.source.is(Kind::iterator)) {
    length = length_of(source.source);
    return length;
  }
  // Nothing else tells how many are to come.
  List rest = run.new_list();
  Value item;
  while (pull(run, item)) rest.push_back(item);
  length = static_cast<int64_t>(rest.size()) + index0 + 1 + (after.is_missing() ? 0 : 1);
  filtered = true;
  auto* const remaining = new Iterator(std::move(rest));
  source = {run.adopt(remaining, sizeof(Iterator), depth), 0};
  return length;
}

}  // namespace sluice::jinja
