// What an Interpreter is made of besides statements and expressions: its limits, names and values.
#include "jinja/interpreter.h"

#include <algorithm>

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

std::string end_of(const Meter& meter) {
  if (meter.end() == Meter::End::stopped) return "the template was interrupted";
  const bool memory = meter.end() == Meter::End::memory;
  return memory ? filled("it takes more than $ of memory", human_bytes(meter.max_memory()), {})
                : filled("it takes more than $ units of work; does a loop never end?",
                         std::to_string(meter.max_work()), {});
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
      kept_(&meter) {
  meter.work(of.work);
}

Interpreter::~Interpreter() {
  // Values that change can hold each other in a circle.
  for (const Value& value : kept_) value.get()->let_go();
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
  if (failed_) return {};
  failed_ = true;
  // What fails after the meter's end may fail because of it.
  error_ = meter.spent()
               ? end_of(meter)
               : filled(pattern, first.substr(0, kMostShown), second.substr(0, kMostShown));
  return {};
}

Value Interpreter::fail(const char* message) { return fail(message, {}, {}); }

Value Interpreter::fail(const char* pattern, int64_t number) {
  return fail(pattern, std::to_string(number));
}

Value Interpreter::refuse(const Value& value, const char* pattern) {
  if (value.is(Kind::undefined)) return fail("$", value.as<Undefined>().message);
  return fail(pattern, type_name(value));
}

bool Interpreter::ok() {
  if (meter.spent()) fail("");
  return !failed_;
}

bool Interpreter::room(uint64_t bytes) { return meter.has_room(bytes) ? ok() : (ok(), false); }

Interpreter::Level::Level(Interpreter& interpreter) : run(interpreter) {
  if (++run.level_ > run.limits.max_calls) run.fail("it nests too deeply while it runs");
}

void Interpreter::keep(const Value& value) { kept_.push_back(value); }

// --- values ---

Value Interpreter::adopt(Object* object, size_t bytes) {
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

Value Interpreter::make(Kind kind, List items) {
  if (items.size() > limits.max_items) return too_many();
  meter.work(items.size());  // for the depth
  return adopt(new Sequence(kind, std::move(items)), sizeof(Sequence));
}

Value Interpreter::range(int64_t start, int64_t stop, int64_t step, bool from_input) {
  constexpr int64_t kMostItems = 100'000;  // as in jinja2's sandbox
  List numbers = new_list();
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (numbers.size() == kMostItems) {
      return fail("Range too big. The sandbox blocks ranges larger than $.", kMostItems);
    }
    numbers.push_back(Value::integer(i).marked(from_input));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  meter.work(numbers.size());
  return adopt(new Range(std::move(numbers), start, stop, step), sizeof(Range)).marked(from_input);
}

Value Interpreter::dict(Entries entries) {
  if (entries.size() > limits.max_items) return too_many();
  meter.work(entries.size());
  for (const Entry& entry : entries) {
    if (!is_hashable(entry.first)) return refuse(entry.first, "unhashable type: '$'");
  }
  return adopt(new Dict(std::move(entries)), sizeof(Dict));
}

Value Interpreter::too_many() {
  return fail("a list has more than $ items", static_cast<int64_t>(limits.max_items));
}

Value Interpreter::undefined(const char* pattern, std::string_view first, std::string_view second) {
  auto* const made = new Undefined(filled(pattern, printable(first), printable(second)));
  return adopt(made, sizeof(Undefined) + made->message.size());
}

// --- names ---

Value Interpreter::new_scope(Scope* parent) {
  auto* const scope = new Scope(&meter, parent);
  scope->charge(&meter, sizeof(Scope));
  return Value::object(scope);
}

void Interpreter::set(Symbol symbol, Value value, Scope* scope) {
  if (scope == nullptr) {
    root_[symbol] = std::move(value);
    return;
  }
  meter.work(1 + scope->names.size() / 4);
  for (auto& [name, old] : scope->names) {
    if (name != symbol) continue;
    old = std::move(value);
    return;
  }
  scope->names.emplace_back(symbol, std::move(value));
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
