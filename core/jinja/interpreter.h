// Runs a template. One Interpreter renders once.
//
// What fails says so with fail() and returns a missing value; callers look at ok() or is_missing()
// and return. The first error counts. Only errors make missing values.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "jinja/ast.h"
#include "jinja/template.h"
#include "jinja/value.h"

namespace sluice::jinja {

class Interpreter;
struct Builtin;

// The arguments of a call. After bind() the list has one value for each parameter.
struct Arguments {
  explicit Arguments(Meter& meter) : list(&meter), named(&meter) {}
  List list;
  Entries named;  // the keys are texts

  // Takes a named argument away; missing if it isn't there.
  Value take(std::string_view name, Meter& meter);
  const Value& operator[](size_t i) const { return list[i]; }
  bool has(size_t i) const { return i < list.size() && !list[i].is_missing(); }
  // Given, and not None.
  bool some(size_t i) const { return has(i) && !list[i].is(Kind::none); }
  // Given, and true.
  bool yes(size_t i) const { return has(i) && is_true(list[i]); }
};

// The names that a body sees: its own, then those of the bodies around it.
struct Scope : Object {
  Scope(Meter* meter, Scope* around) : Object(Kind::scope), parent(around), names(meter) {}
  void let_go() override { names.clear(); }

  Scope* parent;
  bool captured = false;  // a macro refers to it, so it is kept
  Vector<std::pair<Symbol, Value>> names;
};

struct Macro : Object {
  Macro(const Stmt* made_by, Scope* in) : Object(Kind::macro), stmt(made_by), scope(in) {}
  const Stmt* stmt;  // a macro or a call block
  Scope* scope;      // where it was made
};

// A method and its object.
struct Method : Object {
  Method(Value object, int index) : Object(Kind::method), self(std::move(object)), method(index) {
    nest(self.depth());
  }
  Value self;
  int method;
};

// The loop variable.
struct Loop : Object {
  Loop(const Stmt& of, Value over, Scope* around, Meter* meter);
  void let_go() override { changed = Value(); }
  // Whether there is an item of this index. It tests no more items than it must, as in jinja2.
  bool has(Interpreter& run, int64_t index);
  const List& items() const { return stmt.test == nullptr ? source.items() : chosen; }
  int64_t count(Interpreter& run);

  const Stmt& stmt;
  Value source;
  Scope* scope;   // around the loop
  size_t at = 0;  // the next item that is to be tested
  List chosen;    // those that have passed the test, if there is one
  int64_t index0 = -1;
  Value changed;  // the last arguments of its changed()
};

class Interpreter {
 public:
  Interpreter(const Program& program, const Limits& limits, const Value& context,
              const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  Result<Rendered> run();

  // --- errors and limits ---
  // "$" in the pattern stands for the texts, in turn.
  Value fail(const char* message);
  Value fail(const char* pattern, std::string_view first, std::string_view second = {});
  Value fail(const char* pattern, int64_t number);
  Value too_many();  // items in a list
  // "$" in the pattern stands for the name of the value's type. An undefined value fails with its
  // own message.
  Value refuse(const Value& value, const char* pattern);
  // False after an error, and when the meter is spent.
  bool ok();
  // Whether there is memory for so many bytes more; else it fails.
  bool room(uint64_t bytes);

  // --- values ---
  // A text of the template's own.
  Value own(std::string_view text);
  // A part of a text, which the view lies in, with where it comes from.
  Value part(const Value& of, std::string_view part);
  List new_list() { return List(&meter); }
  // A value that has items, of any kind but a range.
  Value make(Kind kind, List items);
  Value list(List items) { return make(Kind::list, std::move(items)); }
  Value tuple(List items) { return make(Kind::tuple, std::move(items)); }
  Value generator(List items) { return make(Kind::generator, std::move(items)); }
  Value range(int64_t start, int64_t stop, int64_t step, bool from_input);
  Value dict(Entries entries);
  // A value that isn't there; the pattern as for fail() tells what is missing.
  Value undefined(const char* pattern, std::string_view first = {}, std::string_view second = {});
  Value adopt(Object* object, size_t bytes);

  // --- Python (lookup.cc, operators.cc, print.cc) ---
  // What a `for` goes through, as a value that has items; it takes those of a generator away. Both
  // fail if the value can't be iterated.
  Value iterate(const Value& value);
  bool collect(const Value& value, List& items);
  // The keys, the values or the pairs of both.
  List parts_of(const Value& dict, Kind parts);
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& index);
  Value slice(const Value& object, const Value& begin, const Value& end, const Value& step);
  Value binary(LexemeType op, const Value& a, const Value& b);
  Value negative(const Value& value);
  // -1, 0 or 1; fails for values without an order. NaN is like equal.
  int order(const Value& a, const Value& b);
  bool less(LexemeType op, const Value& a, const Value& b);  // lt, le, gt, ge
  bool contains(const Value& container, const Value& item);
  bool same(const Value& a, const Value& b) { return equal(a, b, meter); }
  // str() and repr(). What a list or a dict is printed as is from the input if anything in it is.
  void write(TextWriter& to, const Value& value);
  void write_repr(TextWriter& to, const Value& value);
  Value str(const Value& value);
  // For errors: at most some hundred bytes of repr().
  std::string shown(const Value& value);
  // An argument as this type; a missing one is `fallback`. They fail for other types.
  int64_t integer_of(const Value& value, int64_t fallback);
  Value text_of(const Value& value, std::string_view fallback);  // str() of any
  // "a.b.0" of an item, as the filters' `attribute` means it.
  Value path(const Value& item, const Value& attribute, const Value& fallback = {});
  // A stable sort by the keys.
  void sort(List& items, const List& keys, bool reverse);

  // --- calls (expressions.cc) ---
  Value call(const Value& callee, Arguments& arguments);
  Value call_builtin(const Builtin& builtin, const Value& self, Arguments& arguments);
  // A filter or a test.
  Value apply(bool test, std::string_view name, const Value& input, Arguments& arguments);
  // Puts the arguments in the order of the parameters, whose names have spaces between them. "/" in
  // front: they can't be given by name.
  bool bind(Arguments& arguments, std::string_view function, std::string_view parameters,
            size_t required);
  // Fails if there are more arguments than `most`, or any that is named.
  bool all_taken(const Arguments& arguments, std::string_view function, size_t most);
  // Keeps a value that can hold others to the end, when it lets go of them.
  void keep(const Value& value);

  Meter meter;  // outlives all values
  const Program& program;
  const Limits& limits;
  const RenderOptions& options;

 private:
  friend struct Loop;
  enum class Flow : uint8_t { on, leave, next };

  // Statements (statements.cc).
  Flow run_body(const Body& body, Scope* scope);
  Flow run_stmt(const Stmt& stmt, Scope* scope);
  Flow run_branch(const Stmt& stmt, Scope* scope);
  void run_output(const Stmt& stmt, Scope* scope);
  Flow run_loop(const Stmt& stmt, Scope* scope);
  Flow run_with(const Stmt& stmt, Scope* scope);
  void run_call_block(const Stmt& stmt, Scope* scope);
  // What it writes; missing if a loop around it is left.
  Value text_of_body(const Body& body, Scope* scope, Flow& flow);
  Flow run_captured(const Stmt& stmt, Scope* scope);
  void assign(const Expr& target, const Value& value, Scope* scope);
  Value call_macro(const Macro& macro, Arguments& arguments);
  Value make_macro(const Stmt& stmt, Scope* scope);
  Value new_scope(Scope* parent);
  void set(Symbol symbol, Value value, Scope* scope);
  Value load(Symbol symbol, const Scope* scope);

  // Expressions (expressions.cc).
  Value eval(const Expr& expr, Scope* scope);
  Value eval_inner(const Expr& expr, Scope* scope);
  Value eval_display(const Expr& expr, Scope* scope);
  Value eval_chain(const Expr& expr, Scope* scope);
  Value eval_concat(const Expr& expr, Scope* scope);
  Value eval_slice(const Expr& expr, Scope* scope);
  Value eval_call(const Expr& expr, Scope* scope, const Value* caller);
  Value eval_filter(const Expr& expr, Scope* scope, const Value* input);
  bool eval_arguments(const Expr& expr, Scope* scope, Arguments& arguments);

  // What calls itself counts as long as this lives; too many at a time fail.
  struct Level {
    explicit Level(Interpreter& interpreter);
    ~Level() { --run.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Interpreter& run;
  };

  Value context_;
  List root_;  // the names of the top level, by symbol
  List kept_;
  TextWriter* out_ = nullptr;  // the result, or what captures the text
  size_t level_ = 0;
  uint32_t line_ = 1;
  bool failed_ = false;
  std::string error_;
};

// --- the tables of what has a name ---

using NativeCall = Value (*)(Interpreter& run, const Value& self, Arguments& arguments);
struct Builtin {
  const char* name;
  NativeCall run;
  const char* parameters;  // as for bind(); "*": takes the arguments as they are
  uint8_t required;
};

// One row of a table for a function that does several: it gets which one as its last argument.
template <auto function, auto which>
Value variant(Interpreter& run, const Value& self, Arguments& arguments) {
  return function(run, self, arguments, which);
}

const Builtin* find_filter(std::string_view name);  // filters.cc
const Builtin* find_test(std::string_view name);    // globals.cc
// The index of a global function, or -1.
int find_function(std::string_view name);  // globals.cc
const Builtin& function_at(int index);
// The index of a method of this value, or -1.
int find_method(const Value& self, std::string_view name);  // methods.cc
const Builtin& method_at(int index);
// Whether Python has a method of this name that changes the value; the sandbox forbids it.
bool changes_value(const Value& self, std::string_view name);

// Python's "..." % values and "...".format(...) (formatting.cc).
Value format_percent(Interpreter& run, const Value& format, const Value& values);
Value format_braces(Interpreter& run, const Value& format, const Arguments& arguments);
// The text of json.dumps() (print.cc). What is made of anything from the input is all from the
// input.
struct JsonStyle {
  bool ascii = false;
  bool sorted = false;
  bool lines = false;
  bool input = false;  // the style itself comes from the input
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
Value to_json(Interpreter& run, const Value& value, const JsonStyle& style);
// C's strftime for the time of the options (strftime.cc).
std::string format_time(std::string_view format, const RenderOptions& options);

}  // namespace sluice::jinja
