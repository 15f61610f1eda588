#include "app/numbers.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/format.h"

namespace sluice::cli {

void refuse(const std::string& name, const std::string& expected, const std::string& found) {
  throw CLI::ValidationError(name.substr(0, name.find(',')),
                             concat("expected ", expected, ", found '", printable(found), "'"));
}

std::optional<int64_t> integer_in(std::string_view text, int64_t low, int64_t high) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool read = error == std::errc() && stop == end;
  return read && value >= low && value <= high ? std::optional(value) : std::nullopt;
}

int64_t read_integer(const std::string& name, const std::string& text, int64_t low, int64_t high) {
  const auto value = integer_in(text, low, high);
  if (!value) refuse(name, concat("a whole number from ", low, " to ", high), text);
  return *value;
}

std::vector<int64_t> read_integers(const std::string& name, const std::string& text, int64_t low,
                                   int64_t high) {
  std::vector<int64_t> values;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const auto value = integer_in(item, low, high);
    if (!value) {
      refuse(name, concat("whole numbers from ", low, " to ", high, " with commas between them"),
             item.size() == text.size() ? text : concat(printable(item, 30), "' in '", text));
    }
    values.push_back(*value);
    at = comma + 1;
  }
  return values;
}

std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

namespace {

struct Unit {
  const char* name;
  double bytes;
};
constexpr Unit kUnits[] = {
    {"", 1},         {"b", 1},    {"k", 1e3},      {"kb", 1e3},     {"kib", 0x1p10},
    {"m", 1e6},      {"mb", 1e6}, {"mib", 0x1p20}, {"g", 1e9},      {"gb", 1e9},
    {"gib", 0x1p30}, {"t", 1e12}, {"tb", 1e12},    {"tib", 0x1p40},
};

// Nothing if it is no size, or below `least`.
std::optional<uint64_t> bytes_in(std::string_view rest, double least = 1) {
  const auto value = take_number(rest);
  std::string name_of_unit(rest);
  for (char& c : name_of_unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const Unit& unit : kUnits) {
    if (!value || name_of_unit != unit.name) continue;
    const double bytes = *value * unit.bytes;
    // A part of a byte is a unit that was forgotten.
    if (unit.bytes == 1 && bytes != std::floor(bytes)) break;
    if (bytes >= least && bytes < 0x1p53) return static_cast<uint64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace

bool is_size(std::string_view text) { return bytes_in(text).has_value(); }

uint64_t read_bytes(const std::string& name, const std::string& text, double least) {
  if (const auto bytes = bytes_in(text, least)) return *bytes;
  std::string close = text;
  std::erase(close, ' ');
  std::ranges::replace(close, ',', '.');
  refuse(name,
         concat("a size from ", least, least == 1 ? " byte" : " bytes",
                " on, like 1500000, 300M, 2G or 1.5GiB (units: B, k, M, G, T, or "
                "KiB, MiB, GiB, TiB",
                bytes_in(close) ? concat("; without spaces, and with a point: ", printable(close))
                                : "",
                ")"),
         text);
}

}  // namespace sluice::cli
