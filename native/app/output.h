// Standard output and standard error, as bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "app/exit_status.h"

namespace sluice::cli {

// Opens the standard descriptors that are closed, so that no other file becomes one of them. Makes
// a closed pipe an error of write() and not a signal.
void prepare_standard_streams();

// Writes to stdout at once, byte for byte. If that fails, ends the program: silently with status 0
// if the reader has gone, else with an error and status 1.
void write_out(std::string_view text);
// The same for a command that must still save something: after a failure it writes nothing more and
// gives the status.
class Output {
 public:
  void write(std::string_view text);
  bool gone() const { return status_.has_value(); }
  // The status with which the program then ends.
  int status() const { return status_.value_or(kDone); }

 private:
  std::optional<int> status_;
};
// As write_out(), for a text that the program makes for people, with names and values from files:
// through safe_text().
void write_shown(std::string_view text);
// As write_out(), for what the user asked for, such as a model's text: byte for byte, but through
// safe_text() on a terminal.
void write_content(std::string_view text);
// As write_out(), for JSON, whole or a part: through safe_json().
void write_json(std::string_view json);
void write_err(std::string_view text);

bool stdout_is_terminal();
// True if the terminal has no escape sequences (TERM=dumb).
bool terminal_is_dumb();
// True if output to stdout and to stderr may share a line: both are the same file or pipe, as with
// 2>&1, or stdout is a pipe and stderr a terminal, to which the pipe's reader may write.
bool outputs_meet();
// The columns of the terminal, or 80 if they are unknown.
size_t terminal_columns(int descriptor);
// Its rows, or 24.
size_t terminal_rows(int descriptor);

}  // namespace sluice::cli
