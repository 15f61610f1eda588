// Reads metadata values by type, names their types, and finds tensors by name.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/format.h"
#include "base/order.h"
#include "gguf/gguf.h"

namespace sluice {

std::string_view value_type_name(ValueType type) {
  switch (type) {
    case ValueType::u8:
      return "u8";
    case ValueType::i8:
      return "i8";
    case ValueType::u16:
      return "u16";
    case ValueType::i16:
      return "i16";
    case ValueType::u32:
      return "u32";
    case ValueType::i32:
      return "i32";
    case ValueType::f32:
      return "f32";
    case ValueType::boolean:
      return "bool";
    case ValueType::string:
      return "string";
    case ValueType::array:
      return "array";
    case ValueType::u64:
      return "u64";
    case ValueType::i64:
      return "i64";
    case ValueType::f64:
      return "f64";
  }
  return "unknown";
}

uint32_t value_type_size(ValueType type) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean:
      return 1;
    case ValueType::u16:
    case ValueType::i16:
      return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32:
      return 4;
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64:
      return 8;
    case ValueType::string:
    case ValueType::array:
      return 0;
  }
  return 0;
}

namespace {

ValueType scalar_type(const MetadataValue& value) {
  return value.is_array() ? value.element : value.type;
}

// The i-th number of a value of type T. Files are little-endian, as is every machine we run on.
template <typename T>
T load(const MetadataValue& value, uint64_t i) {
  static_assert(std::endian::native == std::endian::little);
  T number;
  std::memcpy(&number, value.bytes.data() + i * sizeof(T), sizeof(T));
  return number;
}

// Any integer, extended to 64 bits; `negative` if it is below 0.
struct Integer {
  uint64_t bits;
  bool negative;
};

std::optional<Integer> load_integer(const MetadataValue& value, uint64_t i) {
  if (i >= value.count) return std::nullopt;
  const auto of_signed = [](int64_t number) {
    return Integer{static_cast<uint64_t>(number), number < 0};
  };
  switch (scalar_type(value)) {
    case ValueType::u8:
    case ValueType::boolean:
      return Integer{load<uint8_t>(value, i), false};
    case ValueType::u16:
      return Integer{load<uint16_t>(value, i), false};
    case ValueType::u32:
      return Integer{load<uint32_t>(value, i), false};
    case ValueType::u64:
      return Integer{load<uint64_t>(value, i), false};
    case ValueType::i8:
      return of_signed(load<int8_t>(value, i));
    case ValueType::i16:
      return of_signed(load<int16_t>(value, i));
    case ValueType::i32:
      return of_signed(load<int32_t>(value, i));
    case ValueType::i64:
      return of_signed(load<int64_t>(value, i));
    default:
      return std::nullopt;
  }
}

std::unexpected<Error> wrong_type(std::string_view key, const MetadataValue& value,
                                  std::string_view expected) {
  return fail(Code::bad_file, "metadata '", printable(key), "' is ", describe(value), "; expected ",
              expected, ". Convert the model again");
}

}  // namespace

std::string describe(const MetadataValue& value) {
  if (value.is_array()) {
    return concat("an array of ", value.count, " x ", value_type_name(value.element));
  }
  if (const auto integer = value.as_i64())
    return concat(value_type_name(value.type), " ", *integer);
  if (const auto number = value.as_f64()) return concat(value_type_name(value.type), " ", *number);
  return concat("a value of type ", value_type_name(value.type));
}

std::string_view MetadataValue::text(uint64_t i) const {
  if (type == ValueType::string) return bytes;
  if (!is_array() || element != ValueType::string || i >= ends.size()) return {};
  const auto index = static_cast<size_t>(i);
  const uint32_t begin = index == 0 ? 0 : ends[index - 1];
  return std::string_view(bytes).substr(begin, ends[index] - begin);
}

std::optional<uint64_t> MetadataValue::as_u64(uint64_t i) const {
  const auto integer = load_integer(*this, i);
  if (!integer || integer->negative) return std::nullopt;
  return integer->bits;
}

std::optional<int64_t> MetadataValue::as_i64(uint64_t i) const {
  const auto integer = load_integer(*this, i);
  if (!integer) return std::nullopt;
  if (!integer->negative && integer->bits > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(integer->bits);
}

std::optional<double> MetadataValue::as_f64(uint64_t i) const {
  if (i >= count) return std::nullopt;
  const ValueType scalar = scalar_type(*this);
  if (scalar == ValueType::f32) return load<float>(*this, i);
  if (scalar == ValueType::f64) return load<double>(*this, i);
  if (scalar == ValueType::boolean) return std::nullopt;
  const auto integer = load_integer(*this, i);
  if (!integer) return std::nullopt;
  return integer->negative ? static_cast<double>(static_cast<int64_t>(integer->bits))
                           : static_cast<double>(integer->bits);
}

std::optional<bool> MetadataValue::as_bool(uint64_t i) const {
  if (i >= count || scalar_type(*this) != ValueType::boolean) return std::nullopt;
  return load<uint8_t>(*this, i) != 0;
}

const MetadataValue* Gguf::find(std::string_view key) const {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

// By sorting, because no choice of names makes that slow.
void Gguf::index_tensors() {
  by_name = order_of(tensors.size(), [&](uint32_t a, uint32_t b) {
    const int sign = tensors[a].name.compare(tensors[b].name);
    return sign != 0 ? sign < 0 : a < b;
  });
}

const TensorInfo* Gguf::find_tensor(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name, name, {}, [&](uint32_t index) { return std::string_view(tensors[index].name); });
  if (found == by_name.end() || tensors[*found].name != name) return nullptr;
  return &tensors[*found];
}

Result<std::optional<uint64_t>> Gguf::get_u64(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (!value) return std::nullopt;
  const auto number = value->as_u64();
  if (value->is_array() || value->type == ValueType::boolean || !number) {
    return wrong_type(key, *value, "one integer of at least 0");
  }
  return number;
}

Result<std::optional<double>> Gguf::get_f64(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (!value) return std::nullopt;
  const auto number = value->as_f64();
  if (value->is_array() || !number) return wrong_type(key, *value, "one number");
  return number;
}

Result<std::optional<bool>> Gguf::get_bool(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (!value) return std::nullopt;
  const auto truth = value->as_bool();
  if (value->is_array() || !truth) return wrong_type(key, *value, "one bool");
  return truth;
}

Result<std::optional<std::string_view>> Gguf::get_string(std::string_view key) const {
  const MetadataValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != ValueType::string) return wrong_type(key, *value, "a string");
  return value->text();
}

}  // namespace sluice
