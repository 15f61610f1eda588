// What the commands share: exit status, output, signals, the prompt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine.h"

namespace sluice::cli {

constexpr size_t kMaxShownPath = 300;  // bytes of a path in a message, as in the core's

// The program's exit status; Ctrl-C gives 128 + the signal's number.
enum Exit : int {
  kDone = 0,
  kFailed = 1,    // while running: context_full, download_failed, output that can't be written, ...
  kUsage = 2,     // invalid_argument
  kBadFile = 3,   // bad_file, unsupported_model, unsupported_type, download_corrupt
  kNoMemory = 4,  // out_of_memory, budget_too_small
};
int exit_status(Code code);

// Shows an error: "sluice: error: ..." on stderr and, with `json`, an error event on stdout.
// Nothing in a message, a note or a status controls the terminal. Returns its exit status.
int report(const Error& error, bool json);

// --- output --------------------------------------------------------------------------------------

// Opens the standard descriptors that are closed, so that no other file becomes one of them. Makes
// a closed pipe an error of write() and not a signal.
void prepare_standard_streams();
// Writes to stdout at once, byte for byte. If that fails, ends the program: silently with status 0
// if the reader has gone, else with an error and status 1.
void write_out(std::string_view text);
// The same for a command that has something to save then: it writes nothing more and says so.
class Output {
 public:
  void write(std::string_view text);
  bool gone() const { return status_.has_value(); }
  // The status with which the program then ends.
  int status() const { return status_.value_or(kDone); }

 private:
  std::optional<int> status_;
};
// The same for a text that the program makes for people, of names and values from files: as
// safe_text().
void write_shown(std::string_view text);
// The same for what was asked for, as a model's text: byte for byte, but on a terminal as
// safe_text().
void write_content(std::string_view text);
// The same for JSON, whole or a part: as safe_json().
void write_json(std::string_view json);
void write_err(std::string_view text);
// Writes all of the text to a descriptor. Returns the errno of the failure, or 0.
int write_to(int descriptor, std::string_view text);
// From now on warn() and note() write nothing, and no status is shown.
void be_quiet();
// True if the terminal has no escape sequences (TERM=dumb).
bool terminal_is_dumb();
// "sluice: ..." on stderr.
void note(const std::string& text);
// "sluice: warning: ..." on stderr, for each.
void warn(const std::string& text);
void warn(const Notes& notes);
bool stdout_is_terminal();
// True if what goes to stdout and to stderr may stand on one line: both are the same file or pipe,
// as with 2>&1, or stdout is a pipe and stderr a terminal, to which the pipe's reader may write.
bool outputs_meet();
// A line on stderr that the next one replaces, for progress, cut to the terminal's width. It can be
// shown on a terminal, unless be_quiet() was called.
bool can_show_status();
void show_status(const std::string& text);
void erase_status();

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);
// The text of a token in quotes, with escapes for invisible characters and invalid UTF-8. For a
// control token, which has no text, its name.
std::string readable(const Tokenizer& tokenizer, TokenId id);
// Divides a text between words into lines of at most `width` bytes. A longer word is a line by
// itself.
std::vector<std::string> wrapped(const std::string& text, size_t width);

// --- signals -------------------------------------------------------------------------------------

// Makes SIGINT and SIGTERM end the program at once, with status 128 + their number.
void install_signal_handlers();
// What a signal that ends the program prints on standard error; "" nothing. Longer than 300 bytes
// it is cut. May be called again and again.
void set_farewell(std::string_view text);
// From now on the first signal, also SIGHUP and SIGQUIT, only sets interrupted_by(). The second one
// ends the program, unless it is SIGHUP.
void defer_signals();
// The signal that was caught, or 0.
int interrupted_by();
// Whoever started the program has it ignore this signal, as nohup does with SIGHUP.
bool is_ignored(int signal);

// --- the prompt ----------------------------------------------------------------------------------

struct Prompt {
  std::optional<std::string> text;             // PROMPT or -p
  std::optional<std::string> file;             // -f; "-" is standard input
  std::optional<std::vector<TokenId>> tokens;  // --tokens
  std::string source;                          // which of them was given; "": none
};
// The bytes of a file; "-" is standard input. `what` it is, for messages. Fails with bad_file.
Result<std::string> read_text(const std::string& path, std::string_view what);
// The text that was given, or the bytes of the file that was given. If nothing was given, what is
// piped in, unless empty; the newline at its end, which echo adds, is taken off, but not from a
// text `of_lines`. Else nothing. Fails with bad_file if it can't be read.
Result<std::optional<std::string>> prompt_text(const Prompt& prompt, bool of_lines = false);

}  // namespace sluice::cli
