// The values that a template computes with: those of Python that chat templates meet. Lists, dicts
// and texts never change, so they are shared. Only namespaces, loops, generators and scopes change.
//
// Every text knows which of its bytes come from the template's input and which are the template's
// own, so that nobody's text can become a control token. Numbers, booleans and None know it as a
// whole.
#pragma once  // face

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "jinja/meter.h"
#include "jinja/vector.h"

namespace sluice::jinja {

enum class Kind : uint8_t {
  missing,  // no value: an argument that was not given, or the result of what failed
  none,
  boolean,
  integer,
  number,
  function,  // a global function, by its place in the table
  // The following are objects.
  undefined,
  text,
  // These have items().
  list,
  tuple,
  range,
  generator,  // what many filters give: its items can be taken once
  keys,       // dict.keys(), dict.values(), dict.items()
  values,
  pairs,

  dict,
  space,  // namespace()
  macro,
  method,
  loop,
  scope,  // the names of a body; no template sees it
};

struct Object {
  explicit Object(Kind kind_of) : kind(kind_of) {}
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  // Lets go of the values that were set in it, so that no circle of values stays behind.
  virtual void let_go() {}
  // It holds a value of this depth.
  void nest(size_t inner);
  // Counts `size` bytes as long as the object lives.
  void charge(Meter* counted, size_t size);

  std::atomic<uint32_t> refs{0};
  Kind kind;
  bool from_input = false;  // a list, a dict, a range or a text without bytes
  uint16_t depth = 1;       // of nested objects; the interpreter refuses values that are too deep
  Meter* owner = nullptr;
  size_t bytes = 0;
};

// Bytes of a text that come from the input. `field` counts the texts of the input from 1, names of
// members included; 0: several of them, or what is no text. `offset`: of the first byte in the
// field, where the text has its form.
struct InputSpan {
  uint32_t begin;
  uint32_t end;
  uint32_t field;
  uint32_t offset;
};
using InputSpans = Vector<InputSpan>;  // in order, without overlaps

struct Text;
class Value;
template <>
inline constexpr bool kMovesAsBytes<Value> = true;
using Entry = std::pair<Value, Value>;
using List = Vector<Value>;
using Entries = Vector<Entry>;

class Value {
 public:
  Value() : Value(Kind::missing, 0) {}
  Value(const Value& other);
  Value(Value&& other) noexcept
      : kind_(other.kind_), from_input_(other.from_input_), integer_(other.integer_) {
    other.kind_ = Kind::missing;
  }
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  static Value none() { return {Kind::none, 0}; }
  static Value boolean(bool value) { return {Kind::boolean, value ? 1 : 0}; }
  static Value integer(int64_t value) { return {Kind::integer, value}; }
  static Value number(double value) { return {Kind::number, std::bit_cast<int64_t>(value)}; }
  static Value function(int index) { return {Kind::function, index}; }
  // A text of the template's own, and one of the input's. Only the core's own code makes the first.
  static Value text(std::string text);
  static Value input_text(std::string text, uint32_t field);
  // A text in parts. The spans lie within the text.
  static Value text_in_parts(std::string text, InputSpans input);
  static Value list(List items);
  // The keys are different.
  static Value dict(Entries entries);
  // Takes part in owning the object.
  static Value object(Object* object);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_missing() const { return kind_ == Kind::missing; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }
  bool has_items() const { return kind_ >= Kind::list && kind_ <= Kind::pairs; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_number() const { return is_integer() || kind_ == Kind::number; }

  // Only for values of these kinds.
  bool as_bool() const { return integer_ != 0; }
  int64_t as_integer() const { return integer_; }  // also a boolean
  double as_double() const;                        // any number
  std::string_view as_text() const;
  const List& items() const;       // if it has_items()
  const Entries& entries() const;  // of a dict
  Object* get() const { return kind_ >= Kind::undefined ? object_ : nullptr; }
  template <typename T>
  T& as() const {
    return *static_cast<T*>(object_);
  }

  // Whether a number, a boolean, None, a list, a dict or any byte of a text comes from the input.
  bool from_input() const;
  // The same value, from the input if `input`: not for texts that have bytes.
  Value marked(bool input) const;

  size_t depth() const { return kind_ >= Kind::undefined ? object_->depth : 0; }
  // The same object, or the same simple value.
  bool same(const Value& other) const { return kind_ == other.kind_ && integer_ == other.integer_; }

 private:
  Value(Kind kind, int64_t integer) : kind_(kind), integer_(integer) {}
  Kind kind_;
  bool from_input_ = false;  // of a simple value
  union {
    int64_t integer_;  // or the bits of a number
    Object* object_;
  };
};

// An undefined value knows what is missing, for the error when it is used.
struct Undefined : Object {
  explicit Undefined(std::string text) : Object(Kind::undefined), message(std::move(text)) {}
  std::string message;
};

struct Text : Object {
  Text(std::string content, InputSpans spans);
  ~Text() override;
  std::string text;
  InputSpans input;
  size_t chars;          // code points
  bool escaped = false;  // HTML that `escape` or `safe` made
};

struct Sequence : Object {
  Sequence(Kind kind_of, List content);
  List items;
  bool hashable;       // no list, no view, and nothing such in it
  bool group = false;  // of groupby: its two items also have names
};

struct Dict : Object {
  explicit Dict(Entries content);
  Entries entries;
};

struct Range : Sequence {
  Range(List numbers, int64_t from, int64_t end, int64_t by)
      : Sequence(Kind::range, std::move(numbers)), start(from), stop(end), step(by) {}
  int64_t start, stop, step;
};

struct Namespace : Object {
  explicit Namespace(Meter* meter) : Object(Kind::space), entries(meter) {}
  void let_go() override { entries.clear(); }
  Entries entries;
};

// Adds the items from `begin` to before `end`.
void append(List& to, const List& items, size_t begin, size_t end);

// Python's name of the type: "str", "dict".
const char* type_name(const Value& value);

// The value of a key, or null. The key may be a text, a number or another value that has no parts
// which change.
const Value* find(const Entries& entries, const Value& key, Meter& meter);
const Value* find(const Entries& entries, std::string_view key, Meter& meter);
// For small dicts of the core's own code.
const Value* find(const Entries& entries, std::string_view key);
// Sets a key's value, or appends it.
void put(Entries& entries, Value key, Value value, Meter& meter);
// Whether a dict may have it as a key: no lists and dicts, and no tuples of them.
bool is_hashable(const Value& value);

// Python's ==. False when the work ends.
bool equal(const Value& a, const Value& b, Meter& meter);
// How many items a value with a length has; -1 for another value.
int64_t length_of(const Value& value);
bool is_true(const Value& value);

}  // namespace sluice::jinja
