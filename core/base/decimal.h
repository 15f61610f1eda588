// Reads and writes decimal numbers.
//
// C's strtod and printf would do. But those of wasm's libc compute with 128 bits, and take 13 KB
// and 9 KB of a page's modules.
#pragma once  // face

#include <string>

namespace sluice {

// The double that is nearest to the number at the start of a text, as strtod rounds it: of two that
// are as near, the even one; infinity beyond the largest. A number is
// [+-]digits[.digits][e[+-]digits], with a digit before or after the point; not "inf", "nan",
// hexadecimal digits or white space in front. `end`, unless it is null, becomes the first character
// behind it; `text` and 0 if there is none. The text ends with a zero byte.
double read_decimal(const char* text, const char** end = nullptr);

// What C's printf writes for "%.*f", "%.*e" or "%.*g" (`style`: f, e or g): all digits are exact,
// and halves are rounded to even ones. `precision` is at least 0. Also "inf", "-inf" and "nan".
std::string write_decimal(double value, char style, int precision);

// The fewest digits that read_decimal() reads as the same number, with at least one behind a point:
// "0.1", "3.0"; with an exponent, from 10^`large` on and below 0.0001: "1e+16", "2.5e-07". Also
// "inf", "-inf" and "nan".
std::string shortest_decimal(double value, int large = 16);

}  // namespace sluice
