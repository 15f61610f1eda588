#include "base/decimal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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

}  // namespace sluice
