// Reads decimal numbers.
//
// C's strtod would do. But the one of wasm's libc computes with 128 bits, and takes 13 KB of a
// page's modules.
#pragma once  // face

namespace sluice {

// The double that is nearest to the number at the start of a text, as strtod rounds it: of two that
// are as near, the even one; infinity beyond the largest. A number is
// [+-]digits[.digits][e[+-]digits], with a digit before or after the point; not "inf", "nan",
// hexadecimal digits or white space in front. `end`, unless it is null, becomes the first character
// behind it; `text` and 0 if there is none. The text ends with a zero byte.
double read_decimal(const char* text, const char** end = nullptr);

}  // namespace sluice
