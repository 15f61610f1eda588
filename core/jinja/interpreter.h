// Runs a template. One Interpreter renders once.
//
// What fails says so with fail() and returns a missing value; callers look at ok() or is_missing()
// and return. The first error counts. Only errors make missing values.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "jinja/ast.h"
#include "jinja/template.h"
#include "jinja/value.h"

namespace sluice::jinja {

class Interpreter;

// The arguments of a call. After bind() the list has one value for each parameter.
struct Arguments {
  explicit Arguments(Meter& meter) : list(&meter), named(&meter) {}
  List list;
  Entries named;  // the keys are texts

  const Value& operator[](size_t i) const { return list[i]; }
  bool has(size_t i) const { return i < list.size() && !list[i].is_missing(); }
  // Given, and not None.
  bool some(size_t i) const { return has(i) && !list[i].is(Kind::none); }
  // Given, and true.
  bool yes(size_t i) const { return has(i) && is_true(list[i]); }
};

// Goes through the items of a value.
struct ItemCursor {
  Value source;
  size_t at = 0;
  // False at the end, after an error and when the meter is spent.
  bool next(Interpreter& run, Value& item);
};

// The names that a body sees: its own, then those of the bodies around it.
struct Scope {
  explicit Scope(Meter* meter) : names(meter) {}
  Scope* parent = nullptr;
  bool captured = false;  // a macro or a loop that may live longer refers to it
  Vector<std::pair<Symbol, Value>> names;
  void set(Symbol symbol, Value value);
};

// An iterator gives its items once. Iterators of filters compute an item when it is asked for.
struct Iterator : Object {
  explicit Iterator(List list) : Object(Kind::iterator), items(std::move(list)) {}
  virtual bool next(Interpreter& run, Value& item);
  List items;
  size_t at = 0;
};

struct Macro : Object {
  Macro() : Object(Kind::macro) {}
  const Stmt* stmt = nullptr;  // a macro or a call block
  Scope* scope = nullptr;      // where it was made
};

// A method and its object.
struct Method : Object {
  Method(Value object, int index);
  Value self;
  int method;
};

struct Loop : Object {
  explicit Loop(Meter* meter) : Object(Kind::loop), changed(meter) {}
  bool next(Interpreter& run, Value& item);
  bool peek(Interpreter& run);  // whether there is another item, which is then in `after`
  int64_t count(Interpreter& run);
  // The loop is over, but may live on as a value. It lets go of its items: they can hold other
  // loops, and so on, deeper than any value may be.
  void end();

  const Stmt* stmt = nullptr;
  Scope* scope = nullptr;  // around the loop
  bool over = false;
  bool filtered = false;  // what is to come has passed the loop's test
  ItemCursor source;
  int64_t depth0 = 0, index0 = -1, length = -1;
  Value before, current, after;
  List changed;
  bool has_changed = false;

 private:
  bool pull(Interpreter& run, Value& item);
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
  Value fail(const char* pattern, std::string_view first = {}, std::string_view second = {});
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
  Value list(List items);
  Value tuple(List items);
  Value dict(Entries entries);
  Value iterator(List items);
  // A value that isn't there; the pattern as for fail() tells what is missing.
  Value undefined(const char* pattern, std::string_view first = {}, std::string_view second = {});
  // A new object, with the depth of what it holds.
  Value adopt(Object* object, size_t bytes, size_t inner_depth = 0);

  // --- Python (lookup.cc, operators.cc, print.cc) ---
  // Both fail if the value can't be iterated.
  bool start(const Value& value, ItemCursor& cursor);
  bool collect(const Value& value, List& items);
  // The next item of an iterator, which may ask others for theirs. As ItemCursor::next.
  bool next_of(Iterator& iterator, Value& item);
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& index);
  Value slice(const Value& object, const Value& begin, const Value& end, const Value& step);
  Value binary(LexemeType op, const Value& a, const Value& b);
  Value negative(const Value& value);
  // Fails for values without an order, and gives none then. NaN has none either.
  std::partial_ordering order(const Value& a, const Value& b);
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
  Value call_filter(std::string_view name, const Value& input, Arguments& arguments);
  Value call_test(std::string_view name, const Value& input, Arguments& arguments);
  // Puts the arguments in the order of the parameters, whose names have spaces between them. "/" in
  // front: they can't be given by name.
  bool bind(Arguments& arguments, std::string_view function, std::string_view parameters,
            size_t required);
  // Keeps a value that can hold others to the end, so that no circle of values stays behind.
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
  Flow run_loop(const Stmt& stmt, const Value& source, Scope* scope, int64_t depth0);
  void run_with(const Stmt& stmt, Scope* scope);
  void run_call_block(const Stmt& stmt, Scope* scope);
  Flow run_captured(const Stmt& stmt, Scope* scope);
  void assign(const Expr& target, const Value& value, Scope* scope);
  Value call_macro(const Macro& macro, Arguments& arguments);
  Value call_loop(const Loop& loop, Arguments& arguments);
  Value make_macro(const Stmt& stmt, Scope* scope);
  Scope* open_scope(Scope* parent);
  void close_scope(Scope* scope);
  void capture(Scope* scope);
  void set(Symbol symbol, Value value, Scope* scope);
  Value load(Symbol symbol, const Scope* scope);

  // Expressions (expressions.cc).
  Value eval(const Expr& expr, Scope* scope);
  Value eval_inner(const Expr& expr, Scope* scope);
  Value eval_display(const Expr& expr, Scope* scope);
  Value eval_chain(const Expr& expr, Scope* scope);
  Value eval_concat(const Expr& expr, Scope* scope);
  Value eval_compare(const Expr& expr, Scope* scope);
  Value eval_slice(const Expr& expr, Scope* scope);
  Value eval_call(const Expr& expr, Scope* scope, const Value* caller);
  Value eval_filter(const Expr& expr, Scope* scope, const Value* input);
  bool eval_arguments(const Expr& expr, Scope* scope, Arguments& arguments);

  // Where the text goes that is written: to the result, or to what captures it.
  struct Capture;

  Value context_;
  List root_;  // the names of the top level, by symbol
  Vector<std::unique_ptr<Scope>> scopes_;
  Vector<Scope*> free_scopes_;
  List kept_;
  TextWriter* out_ = nullptr;
  size_t level_ = 0;
  uint32_t line_ = 1;
  bool failed_ = false;
  bool stopped_ = false;
  uint64_t next_ask_ = 0;  // the step at which options.stopped is asked again
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
