#include "jinja/number.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/decimal.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// Whether the text had a minus. Takes the white space and the sign away.
bool take_sign(std::string_view& text) {
  text = strip(text, true, true);
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  return minus;
}

}  // namespace

uint64_t decimal_work(double value, int64_t precision) {
  const int exponent = std::isfinite(value) && value != 0 ? std::abs(std::ilogb(value)) : 0;
  return 100 + 4 * static_cast<uint64_t>(exponent) +
         30 * static_cast<uint64_t>(std::clamp<int64_t>(precision, 0, 1000));
}

std::optional<int64_t> parse_int(std::string_view text) {
  const bool minus = take_sign(text);
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c) || __builtin_mul_overflow(value, int64_t{10}, &value)) return std::nullopt;
    const int64_t digit = c - '0';
    const bool too_large = minus ? __builtin_sub_overflow(value, digit, &value)
                                 : __builtin_add_overflow(value, digit, &value);
    if (too_large) return std::nullopt;
  }
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  const bool minus = take_sign(text);
  if (text.empty()) return std::nullopt;
  double value = 0;
  if (is_digit(text[0]) || text[0] == '.') {
    const std::string digits(text);
    const char* end = nullptr;
    value = read_decimal(digits.c_str(), &end);
    if (end != digits.c_str() + digits.size()) return std::nullopt;
  } else {
    const std::string word = ascii_case(text, Case::lower);
    if (word == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (word == "inf" || word == "infinity") {
      value = std::numeric_limits<double>::infinity();
    } else {
      return std::nullopt;
    }
  }
  return minus ? -value : value;
}

}  // namespace sluice::jinja
