// Numbers as Python reads and writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::jinja {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What it takes to print a number, or to read one that is printed so, as Meter counts it. Digits
// far from the point take long.
uint64_t decimal_work(double value, int64_t precision = 0);

// int(text) and float(text): with white space around it and a sign. No value if it is something
// else, or doesn't fit.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_float(std::string_view text);

}  // namespace sluice::jinja
