#include "base/decimal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

// A natural number of any size.
class Natural {
 public:
  void multiply_and_add(uint32_t factor, uint32_t term) {
    uint64_t carry = term;
    for (uint32_t& limb : limbs_) {
      carry += uint64_t{limb} * factor;
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(static_cast<uint32_t>(carry));
  }
  // Returns the remainder.
  uint32_t divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = limbs_.size(); i-- > 0;) {
      rest = rest << 32 | limbs_[i];
      limbs_[i] = static_cast<uint32_t>(rest / divisor);
      rest %= divisor;
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    return static_cast<uint32_t>(rest);
  }
  void shift_left_by_limbs(int n) { limbs_.insert(limbs_.begin(), static_cast<size_t>(n), 0); }
  // How many bits it has; 0 of 0.
  int width() const {
    return limbs_.empty() ? 0
                          : static_cast<int>(limbs_.size()) * 32 - std::countl_zero(limbs_.back());
  }
  bool bit(int i) const {
    return i < width() && (limbs_[static_cast<size_t>(i) / 32] >> (i % 32) & 1) != 0;
  }

 private:
  std::vector<uint32_t> limbs_;  // the lowest first; the highest isn't 0
};

// More digits than a number exactly between two doubles has. Of those behind, it only counts
// whether they are all 0.
constexpr int kMaxDigits = 780;
constexpr int64_t kMaxExponent = int64_t{1} << 40;  // far beyond any text's digits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The double nearest to digits * 10^exponent, and a little more if `more`. Digits has n_digits.
double nearest(Natural& digits, int64_t n_digits, int64_t exponent, bool more) {
  if (n_digits + exponent > 310) return std::numeric_limits<double>::infinity();
  if (n_digits + exponent < -330) return 0;
  for (; exponent > 0; --exponent) digits.multiply_and_add(10, 0);
  // A power of 10 is less than 16 to the same power. So the quotient has 64 bits or more.
  const int limbs = exponent < 0 ? static_cast<int>(64 - 4 * exponent) / 32 + 1 : 0;
  digits.shift_left_by_limbs(limbs);
  for (; exponent <= -9; exponent += 9) more |= digits.divide(1'000'000'000) != 0;
  for (; exponent < 0; ++exponent) more |= digits.divide(10) != 0;
  // A double has 53 bits, the lowest of which is at least 2^-1074.
  const int shift = 32 * limbs, width = digits.width();
  const int dropped = std::max({width - 53, shift - 1074, 0});
  uint64_t kept = 0;
  for (int i = width; i-- > dropped;) kept = kept * 2 + (digits.bit(i) ? 1 : 0);
  if (dropped > 0 && digits.bit(dropped - 1)) {
    for (int i = 0; i < dropped - 1 && !more; ++i) more = digits.bit(i);
    if (more || kept % 2 != 0) ++kept;
  }
  return std::ldexp(static_cast<double>(kept), dropped - shift);
}

// Of a number that isn't negative, from the place 10^exponent down. The first is 0 only if all are.
struct Decimal {
  std::string digits;
  int exponent = 0;

  char at(int place) const {
    const auto i = static_cast<size_t>(exponent - place);  // above all digits, if it is negative
    return i < digits.size() ? digits[i] : '0';
  }
  // The places from `highest` down to `lowest`, with a point behind the place `units`.
  void append_to(std::string& out, int highest, int units, int lowest) const {
    for (int place = highest; place >= lowest; --place) {
      if (place == units - 1) out += '.';
      out += at(place);
    }
  }
  // To the places above `end`; halves to an even digit.
  void round(int end) {
    const int kept = exponent - end;
    if (kept >= static_cast<int>(digits.size())) return;
    const std::string rest = kept < 0 ? "0" : digits.substr(static_cast<size_t>(kept));
    digits.resize(static_cast<size_t>(std::max(kept, 0)));
    const bool odd = kept > 0 && digits.back() % 2 != 0;
    size_t i = digits.size();
    if (rest.find_last_not_of('0') > 0 || odd ? rest[0] >= '5' : rest[0] > '5') {
      for (; i > 0 && digits[i - 1] == '9'; --i) digits[i - 1] = '0';
      if (i > 0) {
        ++digits[i - 1];
      } else {
        digits.insert(0, 1, '1');
        ++exponent;
      }
    }
    if (digits.empty()) *this = {"0", 0};
  }
};

// All digits of a finite number, which isn't negative.
Decimal decimal_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto field = static_cast<int>(bits >> 52);
  const uint64_t fraction = (bits & 0xfffffffffffff) | (field > 0 ? uint64_t{1} << 52 : 0);
  // The number is fraction * 2^scale, or the same times 5^-scale and 10^scale.
  const int scale = std::max(field, 1) - 1075;
  Natural number;
  for (int shift = 48; shift >= 0; shift -= 16)
    number.multiply_and_add(1 << 16, fraction >> shift & 0xffff);
  for (int left = std::abs(scale); left > 0;) {
    uint32_t factor = 1;
    for (int i = 0; i < 13 && left > 0; ++i, --left) factor *= scale < 0 ? 5 : 2;
    number.multiply_and_add(factor, 0);
  }
  Decimal decimal;
  while (number.width() > 0) {
    uint32_t nine = number.divide(1'000'000'000);
    for (int i = 0; i < 9; ++i, nine /= 10) decimal.digits += static_cast<char>('0' + nine % 10);
  }
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  if (decimal.digits.empty()) return {"0", 0};
  std::ranges::reverse(decimal.digits);
  decimal.exponent = static_cast<int>(decimal.digits.size()) - 1 + std::min(scale, 0);
  return decimal;
}

// "-" or nothing, and the name of what is no finite number.
std::string beginning(double value) {
  if (std::isnan(value)) return "nan";
  std::string out = std::signbit(value) ? "-" : "";
  if (std::isinf(value)) out += "inf";
  return out;
}

// "e+05"
void append_exponent(std::string& out, int exponent) {
  const int size = std::abs(exponent);
  out += exponent < 0 ? "e-" : "e+";
  if (size < 10) out += '0';
  out += std::to_string(size);
}

}  // namespace

double read_decimal(const char* text, const char** end) {
  const char* at = text;
  const bool negative = *at == '-';
  if (negative || *at == '+') ++at;
  Natural digits;
  int64_t n_digits = 0, exponent = 0;
  bool any = false, more = false, behind_point = false;
  for (;; ++at) {
    if (*at == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (!is_digit(*at)) break;
    any = true;
    if (behind_point) --exponent;
    if (n_digits == kMaxDigits) {
      more |= *at != '0';
      ++exponent;
    } else if (n_digits > 0 || *at != '0') {
      digits.multiply_and_add(10, static_cast<uint32_t>(*at - '0'));
      ++n_digits;
    }
  }
  if (!any) at = text;
  if (any && (*at == 'e' || *at == 'E')) {
    const char* digit = at + 1;
    const bool down = *digit == '-';
    if (down || *digit == '+') ++digit;
    int64_t written = 0;
    for (; is_digit(*digit); at = ++digit)
      written = std::min(written * 10 + (*digit - '0'), kMaxExponent);
    exponent += down ? -written : written;
  }
  if (end != nullptr) *end = at;
  const double size = n_digits > 0 ? nearest(digits, n_digits, exponent, more) : 0;
  return negative && any ? -size : size;
}

std::string write_decimal(double value, char style, int precision) {
  std::string out = beginning(value);
  if (!std::isfinite(value)) return out;
  Decimal decimal = decimal_of(std::fabs(value));
  if (style == 'f') {
    decimal.round(-precision - 1);
    decimal.append_to(out, std::max(decimal.exponent, 0), 0, -precision);
    return out;
  }
  const bool general = style == 'g';
  if (general) precision = std::max(precision, 1) - 1;
  decimal.round(decimal.exponent - precision - 1);
  const int exponent = decimal.exponent;
  int lowest = exponent - precision;
  // Without the zeros at the end of a fraction.
  const bool plain = general && exponent >= -4 && exponent <= precision;
  const int units = plain ? 0 : exponent;
  while (general && lowest < units && decimal.at(lowest) == '0') ++lowest;
  decimal.append_to(out, plain ? std::max(exponent, 0) : exponent, units, lowest);
  if (!plain) append_exponent(out, exponent);
  return out;
}

std::string shortest_decimal(double value, int large) {
  std::string out = beginning(value);
  if (!std::isfinite(value)) return out;
  const Decimal all = decimal_of(std::fabs(value));
  Decimal decimal;
  // Numbers of 15 digits are read as different doubles, but for those near 0.
  for (int n = std::fabs(value) < std::numeric_limits<double>::min() ? 1 : 15; n <= 17; ++n) {
    decimal = all;
    decimal.round(decimal.exponent - n);
    const std::string text =
        decimal.digits + "e" +
        std::to_string(decimal.exponent + 1 - static_cast<int>(decimal.digits.size()));
    if (read_decimal(text.c_str()) == std::fabs(value)) break;
  }
  const int exponent = decimal.exponent;
  int lowest = exponent + 1 - static_cast<int>(decimal.digits.size());
  while (lowest < exponent && decimal.at(lowest) == '0') ++lowest;
  if (exponent >= -4 && exponent < large) {
    decimal.append_to(out, std::max(exponent, 0), 0, std::min(lowest, -1));
  } else {
    decimal.append_to(out, exponent, exponent, lowest);
    append_exponent(out, exponent);
  }
  return out;
}

}  // namespace sluice
