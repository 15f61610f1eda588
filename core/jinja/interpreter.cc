// What an Interpreter is made of besides statements and expressions: its limits, names and values.
#include "jinja/interpreter.h"

#include <algorithm>

#include "jinja/parser.h"

namespace sluice::jinja {
namespace {

constexpr size_t kMostShown = 2000;  // bytes of a text in a message

// The pattern with the texts in place of its two "$".
std::string filled(const char* pattern, std::string_view first, std::string_view second) {
  std::string out;
  for (; *pattern != '\0'; ++pattern) {
    if (*pattern != '$') {
      out += *pattern;
      continue;
    }
    out += first;
    first = second;
  }
  return out;
}

}  // namespace

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
  Rendered rendered = result.take_rendered();
  ok();
  if (meter.end() == Meter::End::stopped) return sluice::fail(Code::aborted, error_);
  if (failed_) return std::unexpected(template_error(line_, error_));
  return rendered;
}

// --- errors and limits ---

Value Interpreter::fail(const char* pattern, std::string_view first, std::string_view second) {
  if (!failed_) {
    failed_ = true;
    error_ = filled(pattern, first.substr(0, kMostShown), second.substr(0, kMostShown));
  }
  return {};
}

Value Interpreter::fail(const char* pattern, int64_t number) {
  return fail(pattern, std::to_string(number));
}

Value Interpreter::refuse(const Value& value, const char* pattern) {
  if (value.is(Kind::undefined)) return fail("$", value.as<Undefined>().message);
  return fail(pattern, type_name(value));
}

bool Interpreter::ok() {
  if (failed_) return false;
  switch (meter.end()) {
    case Meter::End::none:
      return true;
    case Meter::End::work:
      fail("it takes more than $ units of work", static_cast<int64_t>(meter.max_work()));
      break;
    case Meter::End::memory:
      fail("it takes more than $ of memory", human_bytes(meter.max_memory()));
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
  meter.work(4);
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
  if (items.size() > limits.max_items) return too_many();
  meter.work(items.size());  // for the depth
  return adopt(new Sequence(Kind::list, std::move(items)), sizeof(Sequence));
}

Value Interpreter::tuple(List items) {
  if (items.size() > limits.max_items) return too_many();
  meter.work(items.size());
  return adopt(new Sequence(Kind::tuple, std::move(items)), sizeof(Sequence));
}

Value Interpreter::dict(Entries entries) {
  if (entries.size() > limits.max_items) return too_many();
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

Value Interpreter::too_many() {
  return fail("a list has more than $ items", static_cast<int64_t>(limits.max_items));
}

Value Interpreter::undefined(const char* pattern, std::string_view first, std::string_view second) {
  auto* const made = new Undefined(filled(pattern, printable(first), printable(second)));
  return adopt(made, sizeof(Undefined) + made->message.size());
}

bool Iterator::next(Interpreter&, Value& item) {
  if (at >= items.size()) return false;
  item = items[at++];
  return true;
}

Method::Method(Value object, const Builtin* builtin)
    : Object(Kind::method), self(std::move(object)), method(builtin) {
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
  return undefined("'$' is undefined", name);
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
