// What an Interpreter is made of besides statements and expressions: its limits, names and values.
#include "jinja/interpreter.h"

#include <algorithm>

#include "jinja/parser.h"

namespace sluice::jinja {

Interpreter::Interpreter(const Program& of, const Limits& within, const Value& context,
                         const RenderOptions& with)
    : meter(within.max_work, within.max_memory, with.stopped),
      program(of),
      limits(within),
      options(with),
      context_(context),
      root_(of.names.size(), Value(), &meter),
      scopes_(&meter),
      free_scopes_(&meter),
      kept_(&meter) {
  meter.work(of.work);
}

Interpreter::~Interpreter() {
  // Values that change can hold each other in a circle, so they let go first.
  for (const Value& value : kept_) {
    if (value.is(Kind::space)) {
      value.as<Namespace>().entries.clear();
    } else if (value.is(Kind::loop)) {
      value.as<Loop>().changed.clear();
    }
  }
  for (const auto& scope : scopes_) scope->names.clear();
  root_.clear();
  kept_.clear();
}

Result<Rendered> Interpreter::run() {
  TextWriter result(meter);
  out_ = &result;
  if (context_.depth() > limits.max_value_depth + 1) {
    fail("the messages nest too deeply");
  } else {
    run_body(program.body, nullptr);
  }
  ok();
  if (meter.end() == Meter::End::stopped) return sluice::fail(Code::aborted, error_);
  if (failed_) return std::unexpected(template_error(line_, error_));
  return result.take_rendered();
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
  switch (meter.end()) {
    case Meter::End::none:
      return true;
    case Meter::End::work:
      fail("it takes more than ", meter.max_work(), " units of work");
      break;
    case Meter::End::memory:
      fail("it takes more than ", human_bytes(meter.max_memory()), " of memory");
      break;
    case Meter::End::stopped:
      fail("the template was interrupted");
  }
  return false;
}

bool Interpreter::room(uint64_t bytes) { return meter.has_room(bytes) ? ok() : (ok(), false); }

void Interpreter::keep(const Value& value) { kept_.push_back(value); }

// --- values ---

Value Interpreter::adopt(Object* object, size_t bytes, size_t inner_depth) {
  object->depth = static_cast<uint16_t>(std::min<size_t>(
      UINT16_MAX, std::max<size_t>(object->depth, inner_depth + (inner_depth == 0 ? 0 : 1))));
  meter.work(2);
  object->charge(&meter, bytes);
  Value value = Value::object(object);
  if (value.depth() > limits.max_value_depth) return fail("a value nests too deeply");
  return value;
}

Value Interpreter::own(std::string_view text) {
  TextWriter writer(meter);
  writer.own(text);
  return writer.take();
}

Value Interpreter::part(const Value& of, std::string_view part) {
  const Text& text = of.as<Text>();
  if (part.size() == text.text.size() && !text.escaped) return of;
  TextWriter writer(meter);
  writer.copy(text, part);
  return writer.take();
}

Value Interpreter::list(List items) {
  if (items.size() > limits.max_items)
    return fail("a list has more than ", limits.max_items, " items");
  meter.work(items.size());  // for the depth
  return adopt(new Sequence(Kind::list, std::move(items)), sizeof(Sequence));
}

Value Interpreter::tuple(List items) {
  if (items.size() > limits.max_items)
    return fail("a tuple has more than ", limits.max_items, " items");
  meter.work(items.size());
  return adopt(new Sequence(Kind::tuple, std::move(items)), sizeof(Sequence));
}

Value Interpreter::dict(Entries entries) {
  if (entries.size() > limits.max_items)
    return fail("a dict has more than ", limits.max_items, " items");
  meter.work(entries.size());
  for (const Entry& entry : entries) {
    if (!is_hashable(entry.first)) return refuse(entry.first, "unhashable type: '$'");
  }
  return adopt(new Dict(std::move(entries)), sizeof(Dict));
}

Value Interpreter::iterator(List items) {
  size_t depth = 0;
  meter.work(items.size());
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return adopt(new Iterator(std::move(items)), sizeof(Iterator), depth);
}

Value Interpreter::undefined(std::string message) {
  const size_t bytes = sizeof(Undefined) + message.size();
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
    meter.take(sizeof(Scope));
    scopes_.push_back(std::make_unique<Scope>(&meter));
    scope = scopes_.back().get();
  } else {
    scope = free_scopes_.back();
    free_scopes_.pop_back();
  }
  scope->parent = parent;
  return scope;
}

void Interpreter::close_scope(Scope* scope) {
  if (scope->captured) return;  // stays until the end
  scope->names.clear();
  free_scopes_.push_back(scope);
}

void Interpreter::capture(Scope* scope) {
  for (; scope != nullptr && !scope->captured; scope = scope->parent) scope->captured = true;
}

void Interpreter::set(Symbol symbol, Value value, Scope* scope) {
  if (scope != nullptr) {
    meter.work(1 + scope->names.size() / 4);
    scope->set(symbol, std::move(value));
  } else {
    root_[symbol] = std::move(value);
  }
}

Value Interpreter::load(Symbol symbol, const Scope* scope) {
  for (; scope != nullptr; scope = scope->parent) {
    meter.work(1 + scope->names.size() / 4);
    for (const auto& [name, value] : scope->names) {
      if (name == symbol) return value;
    }
  }
  if (!root_[symbol].is_missing()) return root_[symbol];
  const std::string_view name = program.names[symbol].as_text();
  if (context_.is(Kind::dict)) {
    if (const Value* value = find(context_.entries(), name, meter)) return *value;
  }
  meter.work(2);
  if (const int function = find_function(name); function >= 0) return Value::function(function);
  return undefined(concat("'", printable(name, 100), "' is undefined"));
}

// --- the public face ---

Template::Template(std::shared_ptr<const Program> program, const Limits& limits)
    : program_(std::move(program)), limits_(limits) {}

Result<Template> Template::parse(std::string_view source, const Limits& limits) {
  SLUICE_ASSIGN(auto program, parse_program(source, limits));
  return Template(std::move(program), limits);
}

Result<Rendered> Template::render(const Value& context, const RenderOptions& options) const {
  return Interpreter(*program_, limits_, context, options).run();
}

}  // namespace sluice::jinja
