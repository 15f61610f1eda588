// The values that a template computes with: those of Python that chat templates meet. Lists, dicts
// and texts never change, so they are shared. Only a Namespace changes, and the states of a loop, a
// cycler, a joiner and an iterator (interpreter.h).
#pragma once  // face

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::jinja {

// What one rendering has used and may use. Everything that can run or grow counts here.
struct Budget {
  uint64_t steps = 0;
  uint64_t max_steps = 0;
  size_t bytes = 0;  // of values and of text that is being written
  size_t max_bytes = 0;
  bool spent() const { return steps > max_steps || bytes > max_bytes; }
};

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
  list,
  tuple,
  dict,
  range,
  view,  // dict.keys(), dict.values(), dict.items()
  iterator,
  space,  // namespace()
  macro,
  method,
  loop,
  cycler,
  joiner,
};

struct Object {
  explicit Object(Kind kind_of) : kind(kind_of) {}
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  // Counts `size` bytes as long as the object lives, and the work of filling them.
  void charge(Budget* owner, size_t size);

  std::atomic<uint32_t> refs{0};
  Kind kind;
  uint16_t depth = 1;  // of nested objects; the interpreter refuses values that are too deep
  Budget* budget = nullptr;
  size_t bytes = 0;
};

struct Text;
struct Sequence;
struct Dict;

class Value {
 public:
  Value();
  Value(const Value& other);
  Value(Value&& other) noexcept : kind_(other.kind_), integer_(other.integer_) {
    other.kind_ = Kind::missing;
  }
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value number(double value);
  static Value function(int index);
  // `budget` counts their memory; values of the context have none.
  static Value text(std::string text, Budget* budget = nullptr);
  static Value list(std::vector<Value> items, Budget* budget = nullptr);
  static Value tuple(std::vector<Value> items, Budget* budget = nullptr);
  // The keys are different.
  static Value dict(std::vector<std::pair<Value, Value>> entries, Budget* budget = nullptr);
  // Takes part in owning the object.
  static Value object(Object* object);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_missing() const { return kind_ == Kind::missing; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_number() const { return is_integer() || kind_ == Kind::number; }

  // Only for values of these kinds.
  bool as_bool() const { return integer_ != 0; }
  int64_t as_integer() const { return integer_; }  // also a boolean
  double as_double() const;                        // any number
  std::string_view as_text() const;
  const std::vector<Value>& items() const;                      // of a list or tuple
  const std::vector<std::pair<Value, Value>>& entries() const;  // of a dict
  Object* get() const { return kind_ >= Kind::undefined ? object_ : nullptr; }
  template <typename T>
  T& as() const {
    return *static_cast<T*>(object_);
  }

  size_t depth() const { return kind_ >= Kind::undefined ? object_->depth : 0; }
  // The same object, or the same simple value.
  bool same(const Value& other) const { return kind_ == other.kind_ && integer_ == other.integer_; }

 private:
  Kind kind_ = Kind::missing;
  union {
    int64_t integer_;
    double number_;
    Object* object_;
  };
};

using Entry = std::pair<Value, Value>;

// An undefined value knows what is missing, for the error when it is used.
struct Undefined : Object {
  explicit Undefined(std::string text) : Object(Kind::undefined), message(std::move(text)) {}
  std::string message;
};

struct Text : Object {
  explicit Text(std::string content);
  std::string text;
  size_t chars;          // code points
  bool escaped = false;  // HTML that `escape` or `safe` made
};

struct Sequence : Object {
  Sequence(Kind kind_of, std::vector<Value> content);
  std::vector<Value> items;
  bool hashable = false;  // a tuple without lists and dicts in it
  bool group = false;     // of groupby: its two items also have names
};

struct Dict : Object {
  explicit Dict(std::vector<Entry> content);
  std::vector<Entry> entries;
};

struct Range : Object {
  Range(int64_t from, int64_t end, int64_t by);
  // Unsigned, because the place after the last may not fit.
  int64_t at(int64_t index) const {
    return static_cast<int64_t>(static_cast<uint64_t>(start) +
                                static_cast<uint64_t>(index) * static_cast<uint64_t>(step));
  }
  int64_t start, stop, step, length;
};

struct View : Object {
  enum class What : uint8_t { keys, values, items };
  View(Value of, What which);
  Value dict;
  What what;
};

struct Namespace : Object {
  Namespace() : Object(Kind::space) {}
  std::vector<Entry> entries;
};

// Python's name of the type: "str", "dict".
const char* type_name(const Value& value);

// The value of a key, or null. The key may be a text, a number or another value that has no parts
// which change.
const Value* find(const std::vector<Entry>& entries, const Value& key, Budget& budget);
const Value* find(const std::vector<Entry>& entries, std::string_view key);
// Sets a key's value, or appends it.
void put(std::vector<Entry>& entries, Value key, Value value, Budget& budget);
// Whether a dict may have it as a key: no lists and dicts, and no tuples of them.
bool is_hashable(const Value& value);

// Python's ==.
bool equal(const Value& a, const Value& b, Budget& budget);
// How many items a value with a length has; -1 for another value.
int64_t length_of(const Value& value);
bool is_true(const Value& value);

}  // namespace sluice::jinja
