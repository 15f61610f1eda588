// C's strtod, which nlohmann-json calls for numbers that are in JSON's form. It takes the place of
// libc's, which is larger (base/decimal.h).
#include <cstdlib>

#include "base/decimal.h"

extern "C" {

double strtod(const char* text, char** end) {
  const char* behind = text;
  const double value = sluice::read_decimal(text, &behind);
  if (end != nullptr) *end = const_cast<char*>(behind);
  return value;
}

// libc has all three in one object, and libc++ names these two for its stof and stold. Nobody calls
// those, so neither gets into a module.
float strtof(const char* text, char** end) { return static_cast<float>(strtod(text, end)); }
long double strtold(const char* text, char** end) { return strtod(text, end); }
}
