// Texts by code points, as Python's str has them. Case and classes of characters are complete for
// Latin, Greek and Cyrillic letters; for other scripts they follow the large blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::jinja {

size_t count_chars(std::string_view text);
// Where the character of this index begins, or the text's end. `chars` is the count of all.
size_t byte_offset(std::string_view text, size_t chars, size_t index);
// The characters from `begin` to before `end`.
std::string_view sub_chars(std::string_view text, size_t chars, size_t begin, size_t end);
// The bytes of the character that starts here.
size_t char_bytes(std::string_view text);

bool is_space(uint32_t c);
bool is_line_end(uint32_t c);
bool is_alpha(uint32_t c);
bool is_decimal(uint32_t c);
bool is_upper(uint32_t c);
bool is_lower(uint32_t c);
// Whether repr() shows it as it is.
bool is_printable(uint32_t c);

enum class Case : uint8_t { lower, upper, swap };
std::string change_case(std::string_view text, Case to);
// Python's title(): letters after a letter are small, others large.
std::string title_case(std::string_view text);
std::string capitalize(std::string_view text);

// Without the white space, or without the characters in `chars`, at these ends.
std::string_view strip(std::string_view text, bool left, bool right);
std::string_view strip_chars(std::string_view text, std::string_view chars, bool left, bool right);

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        int64_t max_count);
// How many places do not overlap where `part` occurs in `text`.
size_t count_parts(std::string_view text, std::string_view part);
// "<", ">", "&" and quotes as HTML's entities.
std::string escape_html(std::string_view text);

}  // namespace sluice::jinja
