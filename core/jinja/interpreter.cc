// What an Interpreter is made of besides statements and expressions: its limits, names and values.
#include "jinja/interpreter.h"

#include <algorithm>

#include "jinja/parser.h"

namespace sluice::jinja {

Interpreter::Interpreter(const Program& of, const Limits& within, const Value& context,
                         const RenderOptions& with)
    : program(of), limits(within), options(with), context_(context), root_(of.names.size()) {
  budget.max_steps = limits.max_steps;
  budget.max_bytes = limits.max_bytes;
}

Interpreter::~Interpreter() {
  // Values that change can hold each other in a circle, so they let go first.
  for (const Value& value : kept_) {
    if (value.is(Kind::space)) {
      std::vector<Entry>().swap(value.as<Namespace>().entries);
    } else if (value.is(Kind::loop)) {
      std::vector<Value>().swap(value.as<Loop>().changed);
    }
  }
  for (const auto& scope : scopes_) scope->names.clear();
  root_.clear();
  kept_.clear();
}

Result<std::string> Interpreter::run() {
  std::string result;
  out_ = &result;
  if (context_.depth() > limits.max_value_depth + 1) {
    fail("the messages nest too deeply");
  } else {
    run_body(program.body, nullptr);
  }
  ok();
  if (stopped_) return std::unexpected(Error{Code::aborted, error_});
  if (failed_) return std::unexpected(template_error(line_, error_));
  return result;
}

// --- errors and limits ---

Value Interpreter::fail_with(std::initializer_list<detail::Part> parts) {
  if (!failed_) {
    failed_ = true;
    error_ = detail::concat(parts);
  }
  return {};
}

Value Interpreter::fail(const char* message) { return fail_with({detail::Part(message)}); }

Value Interpreter::refuse(const Value& value, const char* pattern) {
  if (value.is(Kind::undefined)) return fail(value.as<Undefined>().message.c_str());
  const std::string_view all = pattern;
  const size_t place = all.find('$');
  if (place == std::string_view::npos) return fail(pattern);
  return fail(all.substr(0, place), type_name(value), all.substr(place + 1));
}

bool Interpreter::ok() {
  if (failed_) return false;
  if (options.stopped && budget.steps >= next_ask_) {
    next_ask_ = budget.steps + 16384;
    if (options.stopped()) {
      stopped_ = true;
      fail("the template was interrupted");
      return false;
    }
  }
  if (!budget.spent()) return true;
  if (budget.steps > budget.max_steps) {
    fail("it takes more than ", budget.max_steps, " steps");
  } else {
    fail("it takes more than ", human_bytes(budget.max_bytes), " of memory");
  }
  return false;
}

bool Interpreter::room(uint64_t bytes) {
  if (failed_) return false;
  if (budget.bytes <= budget.max_bytes && bytes <= budget.max_bytes - budget.bytes) return true;
  fail("it takes more than ", human_bytes(budget.max_bytes), " of memory");
  return false;
}

bool Interpreter::can_search(std::string_view text, std::string_view part) {
  work(text.size() / 64);
  // At worst the part is compared at every place.
  const uint64_t places = text.size() > part.size() ? text.size() - part.size() : 0;
  budget.steps += places * part.size() / 4096;
  return ok();
}

void Interpreter::keep(const Value& value) {
  kept_.push_back(value);
  budget.bytes += sizeof(Value);
}

// --- values ---

Value Interpreter::adopt(Object* object, size_t bytes, size_t inner_depth) {
  object->depth = static_cast<uint16_t>(std::min<size_t>(
      UINT16_MAX, std::max<size_t>(object->depth, inner_depth + (inner_depth == 0 ? 0 : 1))));
  object->charge(&budget, bytes);
  Value value = Value::object(object);
  if (value.depth() > limits.max_value_depth) return fail("a value nests too deeply");
  return value;
}

Value Interpreter::text(std::string&& text) { return Value::text(std::move(text), &budget); }
Value Interpreter::text(std::string_view text) { return Value::text(std::string(text), &budget); }

Value Interpreter::list(std::vector<Value> items) {
  if (items.size() > limits.max_items)
    return fail("a list has more than ", limits.max_items, " items");
  const size_t bytes = items.size() * sizeof(Value);
  return adopt(new Sequence(Kind::list, std::move(items)), bytes);
}

Value Interpreter::tuple(std::vector<Value> items) {
  if (items.size() > limits.max_items)
    return fail("a tuple has more than ", limits.max_items, " items");
  const size_t bytes = items.size() * sizeof(Value);
  return adopt(new Sequence(Kind::tuple, std::move(items)), bytes);
}

Value Interpreter::dict(std::vector<Entry> entries) {
  if (entries.size() > limits.max_items)
    return fail("a dict has more than ", limits.max_items, " items");
  for (const Entry& entry : entries) {
    if (!is_hashable(entry.first)) return refuse(entry.first, "unhashable type: '$'");
  }
  const size_t bytes = entries.size() * sizeof(Entry);
  return adopt(new Dict(std::move(entries)), bytes);
}

Value Interpreter::iterator(std::vector<Value> items) {
  size_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  auto* const made = new Iterator;
  made->items = std::move(items);
  return adopt(made, made->items.size() * sizeof(Value), depth);
}

Value Interpreter::undefined(std::string message) {
  const size_t bytes = message.size();
  return adopt(new Undefined(std::move(message)), bytes);
}

bool Iterator::next(Interpreter&, Value& item) {
  if (at >= items.size()) return false;
  item = items[at++];
  return true;
}

Method::Method(Value object, int index)
    : Object(Kind::method), self(std::move(object)), method(index) {
  depth = static_cast<uint16_t>(std::min<size_t>(self.depth() + 1, UINT16_MAX));
}

Cycler::Cycler(std::vector<Value> values) : Object(Kind::cycler), items(std::move(values)) {}

// --- names ---

void Scope::set(Symbol symbol, Value value) {
  for (auto& [name, old] : names) {
    if (name == symbol) {
      old = std::move(value);
      return;
    }
  }
  names.emplace_back(symbol, std::move(value));
}

Scope* Interpreter::open_scope(Scope* parent) {
  Scope* scope = nullptr;
  if (free_scopes_.empty()) {
    scopes_.push_back(std::make_unique<Scope>());
    scope = scopes_.back().get();
  } else {
    scope = free_scopes_.back();
    free_scopes_.pop_back();
  }
  scope->parent = parent;
  return scope;
}

void Interpreter::close_scope(Scope* scope) {
  if (scope->captured) {  // stays until the end
    budget.bytes += sizeof(Scope) + scope->names.size() * sizeof(scope->names[0]);
    return;
  }
  scope->names.clear();
  free_scopes_.push_back(scope);
}

void Interpreter::capture(Scope* scope) {
  for (; scope != nullptr && !scope->captured; scope = scope->parent) scope->captured = true;
}

void Interpreter::set(Symbol symbol, Value value, Scope* scope) {
  if (scope != nullptr) {
    work(scope->names.size() / 16);
    scope->set(symbol, std::move(value));
  } else {
    root_[symbol] = std::move(value);
  }
}

Value Interpreter::load(Symbol symbol, const Scope* scope) {
  for (; scope != nullptr; scope = scope->parent) {
    work(scope->names.size() / 16);
    for (const auto& [name, value] : scope->names) {
      if (name == symbol) return value;
    }
  }
  if (!root_[symbol].is_missing()) return root_[symbol];
  const std::string_view name = program.names[symbol].as_text();
  if (context_.is(Kind::dict)) {
    if (const Value* value = find(context_.entries(), name)) return *value;
  }
  if (const int function = find_function(name); function >= 0) return Value::function(function);
  return undefined(concat("'", name, "' is undefined"));
}

// --- the public face ---

Template::Template(std::shared_ptr<const Program> program, const Limits& limits)
    : program_(std::move(program)), limits_(limits) {}

Result<Template> Template::parse(std::string_view source, const Limits& limits) {
  SLUICE_ASSIGN(auto program, parse_program(source, limits));
  return Template(std::move(program), limits);
}

Result<std::string> Template::render(const Value& context, const RenderOptions& options) const {
  return Interpreter(*program_, limits_, context, options).run();
}

}  // namespace sluice::jinja
