#include "jinja/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/decimal.h"
#include "jinja/text.h"

namespace sluice::jinja {
namespace {

// Without "_" between digits; nothing if one is elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || text[i - 1] == '_') {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

uint64_t decimal_work(double value, int64_t precision) {
  const int exponent = std::isfinite(value) && value != 0 ? std::abs(std::ilogb(value)) : 0;
  return 100 + 4 * static_cast<uint64_t>(exponent) +
         30 * static_cast<uint64_t>(std::clamp<int64_t>(precision, 0, 1000));
}

std::optional<int64_t> parse_int(std::string_view text, int base) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.starts_with("+")) return std::nullopt;
  int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value, base);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  std::string copy(text);
  if (copy.empty()) return std::nullopt;
  std::string word = copy[0] == '+' || copy[0] == '-' ? copy.substr(1) : copy;
  if (word.empty() || word[0] == '+' || word[0] == '-') return std::nullopt;
  if (!is_digit(word[0]) && word[0] != '.') {
    word = ascii_case(word, Case::lower);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word != "inf" && word != "infinity") return std::nullopt;
    return copy[0] == '-' ? -kInfinity : kInfinity;
  }
  const char* end = nullptr;
  const double value = read_decimal(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

std::optional<double> float_of(std::string_view text) {
  const auto plain = without_underscores(strip(text, true, true));
  return plain ? parse_float(*plain) : std::nullopt;
}

std::optional<int64_t> int_of(std::string_view text, int base) {
  const auto plain = without_underscores(strip(text, true, true));
  if (!plain || (base != 0 && (base < 2 || base > 36))) return std::nullopt;
  std::string digits = *plain;
  const size_t sign = !digits.empty() && (digits[0] == '-' || digits[0] == '+') ? 1 : 0;
  if (digits.size() > sign + 1 && digits[sign] == '0') {
    const char mark = static_cast<char>(digits[sign + 1] | 32);
    const int marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == 0 || base == marked)) {
      digits.erase(sign, 2);
      base = marked;
    } else if (base == 0 && digits.find_first_not_of('0', sign) != std::string::npos) {
      return std::nullopt;
    }
  }
  if (digits.size() <= sign || digits[sign] == '-' || digits[sign] == '+') return std::nullopt;
  return parse_int(digits, base == 0 ? 10 : base);
}

}  // namespace sluice::jinja
