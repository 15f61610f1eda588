// Reads the numbers in arguments. A whole argument is a number or an error: no "12abc", no NaN,
// nothing out of range. What reads or refuses a value throws CLI::ValidationError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// Throws the error for the value `found` of the option `name` ("-n,--predict").
[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const std::string& found);

// A decimal number from `low` to `high`; nothing if the text is something else.
std::optional<int64_t> integer_in(std::string_view text, int64_t low, int64_t high);
int64_t read_integer(const std::string& name, const std::string& text, int64_t low, int64_t high);
// 1,2,3
std::vector<int64_t> read_integers(const std::string& name, const std::string& text, int64_t low,
                                   int64_t high);

// Reads a finite decimal number at the start of `text` and removes it from `text`.
std::optional<double> take_number(std::string_view& text);

// True of a size as --memory-budget takes it.
bool is_size(std::string_view text);
// Such a size in bytes, from `least` on. Refuses other texts.
uint64_t read_bytes(const std::string& name, const std::string& text, double least);

}  // namespace sluice::cli
