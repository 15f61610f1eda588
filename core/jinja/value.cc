#include "jinja/value.h"

#include <algorithm>

#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// Python's names of the kinds, in their order.
constexpr const char* kTypeNames[] = {
    "NoneType",   "NoneType", "bool",      "int",   "float",     "function",    "Undefined",
    "str",        "list",     "tuple",     "range", "generator", "dict_keys",   "dict_values",
    "dict_items", "dict",     "Namespace", "Macro", "method",    "LoopContext", "scope"};

}  // namespace

Object::~Object() {
  if (owner != nullptr) owner->give_back(bytes);
}

void Object::nest(size_t inner) {
  depth = static_cast<uint16_t>(std::min<size_t>(std::max<size_t>(depth, inner + 1), UINT16_MAX));
}

void Object::charge(Meter* counted, size_t size) {
  constexpr size_t kAround = 32;  // about what the allocator takes
  owner = counted;
  bytes = size + kAround;
  if (owner != nullptr) owner->take(bytes);
}

[[gnu::noinline]] Value::Value(const Value& other)
    : kind_(other.kind_), from_input_(other.from_input_), integer_(other.integer_) {
  if (kind_ >= Kind::undefined) object_->refs.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noinline]] Value::~Value() {
  if (kind_ < Kind::undefined) return;
  if (object_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object_;
}

Value& Value::operator=(const Value& other) {
  Value copy(other);
  return *this = std::move(copy);
}

Value& Value::operator=(Value&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(from_input_, other.from_input_);
  std::swap(integer_, other.integer_);
  return *this;
}

Value Value::object(Object* object) {
  Value value;
  value.kind_ = object->kind;
  value.object_ = object;
  object->refs.fetch_add(1, std::memory_order_relaxed);
  return value;
}

Value Value::text(std::string text) { return text_in_parts(std::move(text), InputSpans(nullptr)); }

Value Value::input_text(std::string text, uint32_t field) {
  InputSpans spans(nullptr);
  // What is too long for a span is no prompt's, and must not pass for the template's.
  if (text.size() > UINT32_MAX) text.resize(UINT32_MAX);
  const bool empty = text.empty();
  if (!empty) spans.push_back({0, static_cast<uint32_t>(text.size()), field, 0});
  return text_in_parts(std::move(text), std::move(spans)).marked(empty);
}

Value Value::text_in_parts(std::string text, InputSpans input) {
  return object(new Text(std::move(text), std::move(input)));
}

Value Value::list(List items) { return object(new Sequence(Kind::list, std::move(items))); }
Value Value::dict(Entries entries) { return object(new Dict(std::move(entries))); }

bool Value::from_input() const {
  if (kind_ < Kind::undefined) return from_input_;
  return object_->from_input || (is_text() && !as<Text>().input.empty());
}

Value Value::marked(bool input) const {
  Value value = *this;
  if (kind_ < Kind::undefined) {
    value.from_input_ = input;
  } else {
    object_->from_input = input;
  }
  return value;
}

double Value::as_double() const {
  return kind_ == Kind::number ? std::bit_cast<double>(integer_) : static_cast<double>(integer_);
}
std::string_view Value::as_text() const { return as<Text>().text; }
const List& Value::items() const { return as<Sequence>().items; }
const Entries& Value::entries() const { return as<Dict>().entries; }

Text::Text(std::string content, InputSpans spans)
    : Object(Kind::text),
      text(std::move(content)),
      input(std::move(spans)),
      chars(count_chars(text)) {}

Text::~Text() = default;

Sequence::Sequence(Kind kind_of, List content)
    : Object(kind_of),
      items(std::move(content)),
      hashable(kind_of == Kind::generator || kind_of == Kind::range ||
               (kind_of == Kind::tuple && std::all_of(items.begin(), items.end(), is_hashable))) {
  for (const Value& item : items) nest(item.depth());
}

Dict::Dict(Entries content) : Object(Kind::dict), entries(std::move(content)) {
  for (const auto& [key, value] : entries) nest(std::max(key.depth(), value.depth()));
}

void append(List& to, const List& items, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) to.push_back(items[i]);
}

const char* type_name(const Value& value) {
  if (value.is_text() && value.as<Text>().escaped) return "Markup";
  return kTypeNames[static_cast<size_t>(value.kind())];
}

const Value* find(const Entries& entries, const Value& key, Meter& meter) {
  if (key.is_text()) return find(entries, key.as_text(), meter);
  for (const Entry& entry : entries) {
    if (equal(entry.first, key, meter)) return &entry.second;
    if (meter.spent()) break;
  }
  return nullptr;
}

const Value* find(const Entries& entries, std::string_view key, Meter& meter) {
  // Most keys have another length.
  meter.work(1 + entries.size() / 4);
  for (const Entry& entry : entries) {
    if (!entry.first.is_text() || entry.first.as_text().size() != key.size()) continue;
    meter.pass(key.size());
    if (entry.first.as_text() == key) return &entry.second;
    if (meter.spent()) break;
  }
  return nullptr;
}

const Value* find(const Entries& entries, std::string_view key) {
  for (const Entry& entry : entries) {
    if (entry.first.is_text() && entry.first.as_text() == key) return &entry.second;
  }
  return nullptr;
}

void put(Entries& entries, Value key, Value value, Meter& meter) {
  if (const Value* place = find(entries, key, meter)) {
    *const_cast<Value*>(place) = std::move(value);
  } else {
    entries.emplace_back(std::move(key), std::move(value));
  }
}

bool is_hashable(const Value& value) {
  return value.has_items() ? value.as<Sequence>().hashable : !value.is(Kind::dict);
}

bool equal(const Value& a, const Value& b, Meter& meter) {
  meter.work(1);
  if (a.is_text() && b.is_text()) {
    if (a.as_text().size() != b.as_text().size()) return false;
    meter.pass(a.as_text().size());
    return a.as_text() == b.as_text();
  }
  if (a.is_number() && b.is_number()) {
    if (a.is_integer() && b.is_integer()) return a.as_integer() == b.as_integer();
    return a.as_double() == b.as_double();
  }
  if (a.kind() != b.kind()) return false;
  // A value that is compared over and over may be large by sharing.
  if (meter.spent()) return false;
  if (a.same(b) || a.is(Kind::undefined)) return true;
  if (a.is_sequence() || a.is(Kind::range)) {
    const auto& x = a.items();
    const auto& y = b.items();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!equal(x[i], y[i], meter)) return false;
    }
    return true;
  }
  if (a.is(Kind::dict)) {
    if (a.entries().size() != b.entries().size()) return false;
    for (const auto& [key, value] : a.entries()) {
      const Value* other = find(b.entries(), key, meter);
      if (other == nullptr || !equal(value, *other, meter)) return false;
    }
    return true;
  }
  return false;
}

int64_t length_of(const Value& value) {
  if (value.has_items() && !value.is(Kind::generator)) {
    return static_cast<int64_t>(value.items().size());
  }
  if (value.is_text()) return static_cast<int64_t>(value.as<Text>().chars);
  if (value.is(Kind::dict)) return static_cast<int64_t>(value.entries().size());
  return value.is(Kind::undefined) ? 0 : -1;
}

bool is_true(const Value& value) {
  if (value.is_number()) return value.as_double() != 0;
  return !value.is_missing() && !value.is(Kind::none) && length_of(value) != 0;
}

}  // namespace sluice::jinja
