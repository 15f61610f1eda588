#include "terminal/columns.h"

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <locale>

#include "base/utf8.h"

namespace sluice::terminal {
namespace {

// wcwidth() asks the thread's locale. Texts are UTF-8 here, whatever the user's says.
class Utf8Locale {
 public:
  Utf8Locale() : before_(utf8() != locale_t{} ? ::uselocale(utf8()) : locale_t{}) {}
  ~Utf8Locale() {
    if (before_ != locale_t{}) ::uselocale(before_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    return locale;
  }
  locale_t before_;
};

// Takes the first character of the text.
uint32_t take(std::string_view& text) {
  const Utf8Char c = utf8_decode(text);
  text.remove_prefix(c.length);
  return c.valid ? c.code_point : 0xfffd;
}

}  // namespace

size_t columns_of(uint32_t code_point) {
  if (code_point >= 0x20 && code_point < 0x7f) return 1;
  const Utf8Locale locale;
  const int width = ::wcwidth(static_cast<wchar_t>(code_point));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) columns += columns_of(take(text));
  return columns;
}

std::string cut_to(std::string_view text, size_t columns) {
  constexpr size_t kDots = 3;
  std::string_view rest = text;
  size_t taken = 0, shorter = 0, used = 0;
  while (!rest.empty()) {
    used += columns_of(take(rest));
    if (used > columns)
      return std::string(text.substr(0, shorter)) + (columns < kDots ? "" : "...");
    taken = text.size() - rest.size();
    if (used + kDots <= columns) shorter = taken;
  }
  return std::string(text);
}

std::string padded_to(std::string_view text, size_t columns) {
  std::string out = cut_to(text, columns);
  const size_t used = columns_of(out);
  if (used < columns) out.append(columns - used, ' ');
  return out;
}

std::string_view last_row(std::string_view line, size_t columns) {
  std::string_view rest = line;
  size_t begin = 0, used = 0;
  while (!rest.empty()) {
    const size_t at = line.size() - rest.size();
    const uint32_t c = take(rest);
    // A tab goes to the next column that 8 divides, and never beyond the last.
    const size_t width = c == '\t' ? 0 : columns_of(c);
    if (used + width > columns) {
      begin = at;
      used = 0;
    }
    used = c == '\t' ? std::min(columns - 1, (used | 7) + 1) : used + width;
  }
  return line.substr(begin);
}

}  // namespace sluice::terminal
