// Texts by code points, as Python's str has them, and numbers as Python reads them. Bytes that are
// no UTF-8 are like U+FFFD.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "jinja/text_writer.h"

namespace sluice::jinja {

size_t count_chars(std::string_view text);
// The characters from `begin` to before `end`; what is behind the last isn't there. `chars` is the
// count of all.
std::string_view sub_chars(std::string_view text, size_t chars, size_t begin, size_t end);
// The bytes of the character that starts here.
size_t char_bytes(std::string_view text);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(uint32_t c);
bool is_line_end(uint32_t c);
bool is_alpha(uint32_t c);
bool is_decimal(uint32_t c);
bool is_upper(uint32_t c);
bool is_lower(uint32_t c);
// Whether repr() shows it as it is.
bool is_printable(uint32_t c);

// Without the white space at these ends.
std::string_view strip(std::string_view text, bool left, bool right);
// Without the characters in `chars`.
std::string_view strip_chars(Meter& meter, std::string_view text, std::string_view chars, bool left,
                             bool right);

// A view of a text by characters. It counts their reading.
class Chars {
 public:
  Chars(Meter& meter, std::string_view text) : text_(text) { meter.scan(text.size()); }
  bool next();  // to the next character; false at the end
  uint32_t code() const { return code_; }
  size_t at() const { return at_; }  // where the character begins
  size_t end() const { return at_ + size_; }

 private:
  std::string_view text_;
  size_t at_ = 0, size_ = 0;
  uint32_t code_ = 0;
};

// The words between white space, from the left or from the right. If there are more than `most`,
// the last one is all the rest.
Vector<std::string_view> split_words(Meter& meter, std::string_view text, size_t most, bool right);
// The lines, without what ends them unless `keep_ends`. `most` as above.
Vector<std::string_view> split_lines(Meter& meter, std::string_view text, size_t most,
                                     bool keep_ends);

// Writes a text with what `change` says in place of its characters: "" for the character itself.
void write_changed(TextWriter& to, const Text& text,
                   const std::function<std::string(uint32_t)>& change);
// A letter in this case, or "" if it has it already.
std::string in_case(uint32_t c, bool large);
// Writes a text with "<", ">", "&" and quotes as HTML's entities.
void escape_html(TextWriter& to, const Text& text);

// What it takes to print a number, or to read one that is printed so, as Meter counts it. Digits
// far from the point take long.
uint64_t decimal_work(double value, int64_t precision = 0);
// int(text) and float(text): with white space around it and a sign. No value if it is something
// else, or doesn't fit.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_float(std::string_view text);

}  // namespace sluice::jinja
