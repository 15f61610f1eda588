// The global functions, jinja2's and those that transformers adds, and the tests: what can follow
// `is`.
#include "jinja/filters.h"

namespace sluice::jinja {
namespace {

// --- functions ---

Value make_range(Interpreter& run, const Value&, Arguments& arguments) {
  const int64_t first = run.integer_of(arguments[0], 0);
  const bool one = !arguments.has(1);
  const int64_t start = one ? 0 : first;
  const int64_t stop = one ? first : run.integer_of(arguments[1], 0);
  const int64_t step = run.integer_of(arguments[2], 1);
  if (step == 0) return run.fail("range() arg 3 must not be zero");
  bool input = false;
  for (const Value& argument : arguments.list) input |= argument.from_input();
  return run.range(start, stop, step, input);
}

// What dict(...) makes of its arguments: a dict, or none, and what has names.
void read_entries(Interpreter& run, const Arguments& arguments, Entries& entries) {
  if (arguments.list.size() > 1) run.fail("dict expected at most 1 argument");
  for (const Value& given : arguments.list) {
    if (!given.is(Kind::dict)) {
      run.refuse(given, "dict() and namespace() take another dict here, and nothing of the type $");
      return;
    }
    run.meter.work(given.entries().size());
    for (const Entry& entry : given.entries()) entries.push_back(entry);
  }
  for (const Entry& entry : arguments.named) {
    if (run.ok()) put(entries, entry.first, entry.second, run.meter);
  }
}

Value make_dict(Interpreter& run, const Value&, Arguments& arguments) {
  Entries entries(&run.meter);
  read_entries(run, arguments, entries);
  return run.dict(std::move(entries));
}

Value make_namespace(Interpreter& run, const Value&, Arguments& arguments) {
  auto* const space = new Namespace(&run.meter);
  const Value made = run.adopt(space, sizeof(Namespace));
  run.keep(made);
  read_entries(run, arguments, space->entries);
  return made;
}

Value raise_exception(Interpreter& run, const Value&, Arguments& arguments) {
  constexpr size_t kMostShown = 2000;
  const Value message = run.str(arguments[0]);
  if (message.is_missing()) return {};
  return run.fail("raise_exception: $", message.as_text().substr(0, kMostShown));
}

constexpr Builtin kFunctions[] = {
    {"range", make_range, "/start stop step", 1},
    {"dict", make_dict, "*", 0},
    {"namespace", make_namespace, "*", 0},
    {"raise_exception", raise_exception, "message", 1},
    {"strftime_now", strftime_now, "format", 1},
};

// --- tests ---

constexpr int kinds(std::initializer_list<Kind> list) {
  int bits = 0;
  for (const Kind kind : list) bits |= 1 << static_cast<int>(kind);
  return bits;
}
constexpr int kSequences =
    kinds({Kind::undefined, Kind::text, Kind::list, Kind::tuple, Kind::dict, Kind::range});

// Whether the value is of one of the kinds.
Value is_kind(Interpreter&, const Value& self, Arguments& arguments) {
  return Value::boolean((arguments.which >> static_cast<int>(self.kind()) & 1) != 0);
}

Value is_this_boolean(Interpreter&, const Value& self, Arguments& arguments) {
  return Value::boolean(self.is(Kind::boolean) && self.as_bool() == (arguments.which != 0));
}

// Whether self % number, or self % 2, is this rest.
Value has_rest(Interpreter& run, const Value& self, Arguments& arguments) {
  const Value number = arguments.has(0) ? arguments[0] : Value::integer(2);
  const Value left = run.binary(LexemeType::mod, self, number);
  return Value::boolean(run.same(left, Value::integer(arguments.which)));
}

Value is_same(Interpreter& run, const Value& self, Arguments& arguments) {
  const bool texts = self.is_text() && arguments[0].is_text();
  return Value::boolean(texts ? run.same(self, arguments[0]) : self.same(arguments[0]));
}

Value compares(Interpreter& run, const Value& self, Arguments& arguments) {
  return Value::boolean(run.compare(static_cast<LexemeType>(arguments.which), self, arguments[0]));
}
constexpr int op(LexemeType type) { return static_cast<int>(type); }

constexpr Builtin kTests[] = {
    {"defined", is_kind, "", 0, ~kinds({Kind::undefined})},
    {"undefined", is_kind, "", 0, kinds({Kind::undefined})},
    {"none", is_kind, "", 0, kinds({Kind::none})},
    {"string", is_kind, "", 0, kinds({Kind::text})},
    {"mapping", is_kind, "", 0, kinds({Kind::dict})},
    {"boolean", is_kind, "", 0, kinds({Kind::boolean})},
    {"integer", is_kind, "", 0, kinds({Kind::integer})},
    {"float", is_kind, "", 0, kinds({Kind::number})},
    {"number", is_kind, "", 0, kinds({Kind::boolean, Kind::integer, Kind::number})},
    {"sequence", is_kind, "", 0, kSequences},
    {"iterable", is_kind, "", 0,
     kSequences | kinds({Kind::keys, Kind::values, Kind::pairs, Kind::generator, Kind::loop})},
    {"true", is_this_boolean, "", 0, true},
    {"false", is_this_boolean, "", 0, false},
    {"odd", has_rest, "", 0, 1},
    {"even", has_rest, "", 0, 0},
    {"divisibleby", has_rest, "num", 1, 0},
    {"lower", has_case, "", 0, kLower},
    {"upper", has_case, "", 0, kUpper},
    {"sameas", is_same, "other", 1},
    {"in", compares, "seq", 1, op(LexemeType::pipe)},
    {"eq == equalto", compares, "/other", 1, op(LexemeType::eq)},
    {"ne !=", compares, "/other", 1, op(LexemeType::ne)},
    {"lt < lessthan", compares, "/other", 1, op(LexemeType::lt)},
    {"le <=", compares, "/other", 1, op(LexemeType::le)},
    {"gt > greaterthan", compares, "/other", 1, op(LexemeType::gt)},
    {"ge >=", compares, "/other", 1, op(LexemeType::ge)},
};

}  // namespace

bool is_word_of(const char* words, std::string_view text) {
  for (; *words != '\0'; words += *words == ' ' ? 1 : 0) {
    size_t n = 0;
    while (n < text.size() && words[n] != '\0' && words[n] == text[n]) ++n;
    if (n == text.size() && (words[n] == ' ' || words[n] == '\0')) return true;
    while (*words != ' ' && *words != '\0') ++words;
  }
  return false;
}

const Builtin* find_builtin(std::span<const Builtin> rows, std::string_view name) {
  for (const Builtin& row : rows) {
    if (is_word_of(row.name, name)) return &row;
  }
  return nullptr;
}

int find_function(std::string_view name) {
  const Builtin* const found = find_builtin(kFunctions, name);
  return found == nullptr ? -1 : static_cast<int>(found - kFunctions);
}

const Builtin& function_at(int index) { return kFunctions[index]; }

const Builtin* find_test(std::string_view name) { return find_builtin(kTests, name); }

}  // namespace sluice::jinja
