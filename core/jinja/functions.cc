// The global functions: jinja2's, without lipsum, and those that transformers adds.
#include "jinja/interpreter.h"

namespace sluice::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // as in jinja2's sandbox

Value make_range(Interpreter& run, const Value&, Arguments& arguments) {
  const int64_t first = run.integer_of(arguments[0], 0);
  const bool one = !arguments.has(1);
  const int64_t start = one ? 0 : first;
  const int64_t stop = one ? first : run.integer_of(arguments[1], 0);
  const int64_t step = run.integer_of(arguments[2], 1);
  if (!run.ok()) return {};
  if (step == 0) return run.fail("range() arg 3 must not be zero");
  auto* const range = new Range(start, stop, step);
  const Value made = run.adopt(range, sizeof(Range));
  if (range->length > kMaxRange) {
    return run.fail("Range too big. The sandbox blocks ranges larger than ", kMaxRange, ".");
  }
  return made;
}

// What Python's dict(...) makes of its arguments.
bool read_entries(Interpreter& run, Arguments& arguments, std::vector<Entry>& entries) {
  if (arguments.list.size() > 1) {
    run.fail("dict expected at most 1 argument, got ", arguments.list.size());
    return false;
  }
  if (!arguments.list.empty() && arguments.list[0].is(Kind::dict)) {
    entries = arguments.list[0].entries();
  } else if (!arguments.list.empty()) {
    std::vector<Value> pairs;
    if (!run.collect(arguments.list[0], pairs)) return false;
    for (const Value& pair : pairs) {
      std::vector<Value> parts;
      if (!run.collect(pair, parts)) return false;
      if (parts.size() != 2 || !is_hashable(parts[0])) {
        run.fail("dict() needs pairs of a key and a value");
        return false;
      }
      put(entries, parts[0], parts[1], run.budget);
    }
  }
  for (Entry& entry : arguments.named) put(entries, entry.first, entry.second, run.budget);
  return run.ok();
}

Value make_dict(Interpreter& run, const Value&, Arguments& arguments) {
  std::vector<Entry> entries;
  return read_entries(run, arguments, entries) ? run.dict(std::move(entries)) : Value();
}

Value make_namespace(Interpreter& run, const Value&, Arguments& arguments) {
  auto* const space = new Namespace;
  const Value made = run.adopt(space, sizeof(Namespace));
  run.keep(made);
  return read_entries(run, arguments, space->entries) ? made : Value();
}

Value make_cycler(Interpreter& run, const Value&, Arguments& arguments) {
  if (!arguments.named.empty()) return run.fail("cycler() takes no keyword arguments");
  if (arguments.list.empty()) return run.fail("at least one item has to be provided");
  size_t depth = 1;
  for (const Value& item : arguments.list) depth = std::max(depth, item.depth());
  return run.adopt(new Cycler(std::move(arguments.list)), sizeof(Cycler), depth);
}

Value make_joiner(Interpreter& run, const Value&, Arguments& arguments) {
  return run.adopt(new Joiner(run.text_of(arguments[0], ", ")), sizeof(Joiner));
}

Value raise_exception(Interpreter& run, const Value&, Arguments& arguments) {
  return run.fail("raise_exception: ", run.str(arguments[0]));
}

Value strftime_now(Interpreter& run, const Value&, Arguments& arguments) {
  if (!arguments[0].is_text()) return run.fail("strftime_now() needs a text");
  if (!run.room(uint64_t{arguments[0].as_text().size()} * 16)) return {};
  return run.text(format_time(arguments[0].as_text(), run.options));
}

constexpr Builtin kFunctions[] = {
    {"range", make_range, "/start stop step", 1},
    {"dict", make_dict, "*", 0},
    {"namespace", make_namespace, "*", 0},
    {"cycler", make_cycler, "*", 0},
    {"joiner", make_joiner, "sep", 0},
    {"raise_exception", raise_exception, "message", 1},
    {"strftime_now", strftime_now, "format", 1},
};

}  // namespace

int find_function(std::string_view name) {
  int index = 0;
  for (const Builtin& function : kFunctions) {
    if (name == function.name) return index;
    ++index;
  }
  return -1;
}

const Builtin& function_at(int index) { return kFunctions[index]; }

}  // namespace sluice::jinja
