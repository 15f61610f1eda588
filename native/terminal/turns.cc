#include "terminal/turns.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "terminal/markdown.h"

namespace sluice::terminal {
namespace {

constexpr size_t kColumns = 80;

std::string dimmed(std::string_view text, bool styled) {
  return styled ? concat("\033[2m", text, "\033[0m") : std::string(text);
}

// The beginning of a text, with dots if that isn't all.
std::string beginning(std::string_view text, size_t most_lines) {
  size_t end = 0;
  for (size_t line = 0; line < most_lines && end < text.size(); ++line)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  end = std::min(end, most_lines * kColumns);
  if (end >= text.size()) return std::string(text);
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  text = text.substr(0, end);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return concat(text, " ...");
}

std::string rendered(const Message& message, bool styled, size_t most_lines) {
  const std::string text =
      safe_text(most_lines > 0 ? beginning(message.content, most_lines) : message.content);
  if (!styled || message.role != "assistant") return text;
  MarkdownFilter markdown;
  std::string out = markdown.push(text);
  return out + markdown.finish();
}

}  // namespace

std::string turns_text(std::span<const Message> messages, bool styled, size_t most_lines) {
  std::string out;
  for (const Message& message : messages) {
    if (!out.empty()) out += '\n';
    out += dimmed(printable(message.role) + ":", styled) + "\n";
    if (most_lines == 0 && !message.reasoning.empty()) {
      out += dimmed(concat("(thinking)\n", safe_text(message.reasoning)), styled);
      out += dimmed("\n(end of thinking)", styled) + "\n\n";
    }
    out += rendered(message, styled, most_lines);
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

}  // namespace sluice::terminal
