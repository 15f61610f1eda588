// How many columns of a terminal a text takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::terminal {

// Of one character.
size_t columns_of(uint32_t code_point);
// Of UTF-8 without control characters.
size_t columns_of(std::string_view text);
// The beginning of the text that takes at most so many columns, with "..." if that isn't all.
std::string cut_to(std::string_view text, size_t columns);
// The same, with spaces behind it up to so many columns.
std::string padded_to(std::string_view text, size_t columns);
// What of a line stands in the terminal's last row, as the terminal wraps it; a row that is full
// stays the last.
std::string_view last_row(std::string_view line, size_t columns);

}  // namespace sluice::terminal
