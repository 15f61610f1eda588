#include "terminal/screen.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "api/json.h"
#include "app/diagnostics.h"
#include "app/output.h"
#include "base/format.h"
#include "terminal/turns.h"

namespace sluice::terminal {

bool obeys_escapes(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(descriptor) == 1 && !cli::terminal_is_dumb() &&
         (no_color == nullptr || *no_color == '\0');
}

namespace {

std::string faint(std::string_view text, bool styled) {
  return styled ? concat("\033[2m", text, "\033[0m") : std::string(text);
}

}  // namespace

Screen::Screen(bool json, bool quiet)
    : json_(json),
      quiet_(quiet),
      terminal_(!json && cli::stdout_is_terminal()),
      styled_(!json && obeys_escapes(STDOUT_FILENO)),
      styled_errors_(obeys_escapes(STDERR_FILENO)) {}

void Screen::write(std::string_view text) {
  output_.write(text);
  if (!text.empty()) at_line_start_ = text.back() == '\n';
}

void Screen::end_line() {
  if (!at_line_start_) write("\n");
}

// Text on stderr begins a new line behind an answer. (On a terminal ShownReply ends the line.)
void Screen::begin_line() {
  if (!std::exchange(at_line_start_, true) && !terminal_ && cli::outputs_meet())
    cli::write_err("\n");
}

void Screen::write_json(std::string_view json) { write(safe_json(json)); }

void Screen::say(const std::string& text) {
  begin_line();
  cli::write_err(safe_text(text.ends_with('\n') ? text : text + "\n"));
}

void Screen::say_dimmed(const std::string& text) {
  if (quiet_) return;
  begin_line();
  cli::write_err(faint(safe_text(text), styled_errors_) + "\n");
}

void Screen::say_messages(std::span<const Message> messages, size_t most_lines) {
  begin_line();
  cli::write_err(turns_text(messages, styled_errors_, most_lines));
}

int Screen::report(const Error& error) {
  begin_line();
  // Without the event: writing it would end the program with status 0 if the pipe is closed.
  const int status = cli::report(error, false);
  if (json_) write_json(error_json(error) + "\n");
  return status;
}

void ShownReply::show(const std::string& text) {
  if (text.empty()) return;
  screen_.write(text);
  at_line_start_ = text.back() == '\n';
}

void ShownReply::end_thinking() {
  if (!std::exchange(thinking_, false)) return;
  const std::string mark = concat(at_line_start_ ? "" : "\n", "(end of thinking)");
  show(faint(mark, screen_.styled()) + "\n\n");
}

void ShownReply::add(std::string_view text, bool reasoning) {
  if (text.empty()) return;
  if (!screen_.terminal()) {
    if (!reasoning) screen_.write(text);
    return;
  }
  if (reasoning) {
    if (!std::exchange(thinking_, true)) show(faint("(thinking)", screen_.styled()) + "\n");
    const std::string safe = safe_text(text);
    show(faint(safe, screen_.styled()));
    at_line_start_ = safe.ends_with('\n');
    return;
  }
  end_thinking();
  show(screen_.styled() ? markdown_.push(safe_text(text)) : safe_text(text));
}

void ShownReply::finish() {
  if (!screen_.terminal()) return;
  end_thinking();
  show(markdown_.finish());
  if (!at_line_start_) show("\n");
}

}  // namespace sluice::terminal
