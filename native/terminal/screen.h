// Where a chat shows its answers, notes and figures.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/output.h"
#include "base/result.h"
#include "terminal/conversation.h"
#include "terminal/markdown.h"

namespace sluice::terminal {

// A terminal whose texts may be bold or faint: it obeys escapes, and NO_COLOR isn't set.
bool obeys_escapes(int descriptor);

// Writes answers and events to standard output, all else to standard error. When a pipe or a
// terminal was closed, it writes nothing more, and gone() is true.
class Screen {
 public:
  Screen(bool json, bool quiet);
  bool json() const { return json_; }
  bool quiet() const { return quiet_; }
  bool terminal() const { return terminal_; }  // answers go to a terminal
  bool styled() const { return styled_; }      // which obeys escape sequences

  void write(std::string_view text);
  void write_json(std::string_view json);  // as cli::write_json()
  // Begins a new line, unless the output is at the start of one.
  void end_line();
  // Standard output can't be written any more; the status with which the program then ends.
  bool gone() const { return output_.gone(); }
  int gone_status() const { return output_.status(); }

  // Lines for people, as safe_text(): an answer to a command, or figures, dimmed.
  void say(const std::string& text);
  void say_dimmed(const std::string& text);
  // Messages, as turns_text().
  void say_messages(std::span<const Message> messages, size_t most_lines);
  // "sluice: error: ..", and an event with --json. Returns its exit status.
  int report(const Error& error);

 private:
  void begin_line();

  bool json_;
  bool quiet_;
  bool terminal_;
  bool styled_;
  bool styled_errors_;
  bool at_line_start_ = true;
  cli::Output output_;
};

// Shows one answer piece by piece. On a terminal thinking is dimmed and Markdown rendered;
// elsewhere the text is shown unchanged, without the thinking.
class ShownReply {
 public:
  explicit ShownReply(Screen& screen) : screen_(screen) {}
  void add(std::string_view text, bool reasoning);
  // The answer ends here, and so does its line on a terminal.
  void finish();

 private:
  void show(const std::string& text);
  void end_thinking();

  Screen& screen_;
  MarkdownFilter markdown_;
  bool thinking_ = false;
  bool at_line_start_ = true;
};

}  // namespace sluice::terminal
