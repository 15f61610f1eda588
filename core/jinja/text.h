// Texts by code points, as Python's str has them. Case and classes of characters are complete for
// Latin, Greek and Cyrillic letters; for other scripts they follow the large blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jinja/text_writer.h"

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

enum class Case : uint8_t { lower, upper };
// The character in this case: one code point or two.
std::string in_case(uint32_t c, Case to);
// The same for a number's letters.
std::string ascii_case(std::string_view text, Case to);

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
  bool valid() const { return valid_; }
  size_t at() const { return at_; }  // where the character begins
  std::string_view bytes() const { return text_.substr(at_, size_); }

 private:
  std::string_view text_;
  size_t at_ = 0, size_ = 0;
  uint32_t code_ = 0;
  bool valid_ = true;
};

// The words between white space, from the left or from the right. If there are more than `most`,
// the last one is all the rest.
Vector<std::string_view> split_words(Meter& meter, std::string_view text, size_t most, bool right);
// The lines, without what ends them unless `keep_ends`. `most` as above.
Vector<std::string_view> split_lines(Meter& meter, std::string_view text, size_t most,
                                     bool keep_ends);

// Writes a text with "<", ">", "&" and quotes as HTML's entities.
void escape_html(TextWriter& to, const Text& text);

}  // namespace sluice::jinja
