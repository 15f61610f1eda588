// Makes Markdown readable on a terminal.
#pragma once  // inside

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::terminal {

// Renders Markdown in pieces of any size: bold, italic, struck and code spans,
// headings, lists, quotes, rules; code blocks in a dimmed frame. Tables stay as they are. Text
// that may still become a span is held back until its line ends, at most a few hundred bytes.
class MarkdownFilter {
 public:
  // Takes safe text in whole characters. Returns what can be shown.
  std::string push(std::string_view text);
  // The text ends here: returns the rest.
  std::string finish();

 private:
  struct Style {
    bool bold = false, italic = false, struck = false, underlined = false, code = false;
    bool operator==(const Style&) const = default;
  };
  enum class Rest : uint8_t { begins, formatted, plain };  // the state of the rest of the line

  bool step(std::string& out, bool end);
  bool begin_line(std::string_view line, bool whole, std::string& out);
  bool begin_code_line(std::string_view line, bool whole, std::string& out);
  void take(size_t n);
  static std::string escape(const Style& style);
  static size_t format(std::string_view text, bool whole, const Style& style, char before,
                       int depth, std::string& out);

  std::string pending_;  // of the line, not shown yet
  std::string fence_;    // of the code block; "": none
  Rest rest_ = Rest::begins;
  Style style_;        // of the line
  char before_ = ' ';  // the last character that was taken from the line
};

}  // namespace sluice::terminal
