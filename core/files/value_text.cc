#include "files/value_text.h"

#include "base/format.h"

namespace sluice {

std::string quoted_text(std::string_view text, size_t max_bytes) {
  std::string line;
  for (const char c : max_bytes < text.size() ? text.substr(0, max_bytes + 1) : text) {
    if (c == '\n' || c == '\r' || c == '\t')
      line += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    else
      line += c;
  }
  return concat("\"", printable(line, max_bytes), "\"");
}

std::string element_text(const MetadataValue& value, uint64_t i, size_t max_bytes, size_t from) {
  switch (value.is_array() ? value.element : value.type) {
    case ValueType::string: {
      const std::string_view text = value.text(i);
      const bool cut = from > 0 && from < text.size();
      return concat(cut ? "..." : "", quoted_text(cut ? text.substr(from) : text, max_bytes));
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
  constexpr std::string_view kMore = ", ...]", kEnd = "]";
  std::string out = concat(value.count, " x ", value_type_name(value.element), " [");
  size_t cut = out.size();  // as much of it as leaves room for kMore
  for (uint64_t i = 0; i < value.count; ++i) {
    out += concat(i > 0 ? ", " : "", element_text(value, i, max_bytes / 2));
    if (i == 0 || out.size() + kMore.size() <= max_bytes) cut = out.size();
    if (i > 0 && out.size() + kEnd.size() > max_bytes) return concat(out.substr(0, cut), kMore);
  }
  return concat(out, kEnd);
}

}  // namespace sluice
