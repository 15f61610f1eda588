#include "files/value_text.h"

#include "base/format.h"

namespace sluice {

std::string element_text(const MetadataValue& value, uint64_t i, size_t max_bytes, size_t from) {
  switch (value.is_array() ? value.element : value.type) {
    case ValueType::string: {
      const std::string_view text = value.text(i);
      const bool cut = from > 0 && from < text.size();
      return concat(cut ? "..." : "", "\"", printable(cut ? text.substr(from) : text, max_bytes),
                    "\"");
    }
    case ValueType::boolean:
      return value.as_bool(i).value_or(false) ? "true" : "false";
    case ValueType::f32:
      return concat(static_cast<float>(value.as_f64(i).value_or(0)));
    case ValueType::f64:
      return concat(value.as_f64(i).value_or(0));
    default:
      if (const auto number = value.as_u64(i)) return concat(*number);
      return concat(value.as_i64(i).value_or(0));
  }
}

std::string value_text(const MetadataValue& value, size_t max_bytes) {
  if (!value.is_array()) return element_text(value, 0, max_bytes);
  std::string out = concat(value.count, " x ", value_type_name(value.element), " [");
  for (uint64_t i = 0; i < value.count; ++i) {
    const std::string next = concat(i > 0 ? ", " : "", element_text(value, i, max_bytes / 2));
    if (i > 0 && out.size() + next.size() + 6 > max_bytes) return out + ", ...]";
    out += next;
  }
  return out + "]";
}

}  // namespace sluice
