// Small functions on texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::pull {

constexpr int kMaxParts = 999;  // of a split model

// With small ASCII letters, as in the names of hosts, headers and types.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// With capital ASCII letters.
inline std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

// Without white space at the ends.
inline std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace sluice::pull
