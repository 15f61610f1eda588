// What the commands share: exit status, output, signals, finding and loading a model, the prompt.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine.h"

namespace sluice::cli {

// The program's exit status; Ctrl-C gives 128 + the signal's number.
enum Exit : int {
  kDone = 0,
  kFailed = 1,    // while running: context_full, output that can't be written, ...
  kUsage = 2,     // invalid_argument
  kBadFile = 3,   // bad_file, unsupported_model, unsupported_type
  kNoMemory = 4,  // out_of_memory, budget_too_small
};
int exit_status(Code code);

// Shows an error: "sluice: error: ..." on stderr and, with `json`, an error event on stdout.
// Returns the exit status that goes with it.
int report(const Error& error, bool json);

// --- output --------------------------------------------------------------------------------------

// Makes sure that the three standard descriptors are taken, so that no file becomes one of them,
// and that a closed pipe is an error of write() and not a signal.
void prepare_standard_streams();
// Writes to stdout at once. Where that can't be done the program ends: with status 0 and not a word
// if the reader has gone away, else with an error and status 1.
void write_out(std::string_view text);
void write_err(std::string_view text);
// Nothing but text and errors from now on: warn() and note() write nothing, load() shows nothing.
void be_quiet();
// Whether the terminal knows no escape sequences (TERM=dumb).
bool terminal_is_dumb();
// "sluice: ..." on stderr.
void note(const std::string& text);
// "sluice: warning: ..." on stderr for each.
void warn(const std::vector<std::string>& notes);
bool stdout_is_terminal();

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);
// What a token stands for, in quotes: what can't be seen and bytes that are no text as escapes. A
// control token, which stands for no text, by its name.
std::string readable(const Tokenizer& tokenizer, TokenId id);
// Breaks a text into lines of at most `width` bytes between words (a longer word stands alone).
std::vector<std::string> wrapped(const std::string& text, size_t width);

// --- signals -------------------------------------------------------------------------------------

// SIGINT and SIGTERM end the program at once with 128 + their number...
void install_signal_handlers();
// ...until this is called: then the first one only makes interrupted_by() nonzero.
void defer_signals();
int interrupted_by();

// --- the model -----------------------------------------------------------------------------------

// The file to use: `given`, or where that is empty the bundled model. bad_file says where it
// looked; where `may_be_prompt`, that a prompt alone is given in another way.
Result<std::string> find_model(const std::string& given, bool may_be_prompt = false);
// invalid_argument if SLUICE_KERNELS names a table that this machine hasn't.
Status check_kernels();
// Engine::open, with a percentage on stderr meanwhile where that is a terminal.
Result<std::unique_ptr<Engine>> load(const std::string& path, LoadOptions options);
// The error with the file's name in front, where it is about a file's contents.
Error with_file_name(const std::string& path, Error error);

// --- the prompt ----------------------------------------------------------------------------------

struct Prompt {
  std::optional<std::string> text;             // PROMPT or -p
  std::optional<std::string> file;             // -f; "-" is standard input
  std::optional<std::vector<TokenId>> tokens;  // --tokens
  std::string source;                          // which of them was given; "": none
};
// The text that was given, the file's bytes as they are, or where nothing was given what is piped
// in; none where that is empty, too. bad_file where it can't be read.
Result<std::optional<std::string>> prompt_text(const Prompt& prompt);
// Puts what a prompt gets in front of a text's ids (BOS), unless the text itself begins with it.
void add_prefix(const Tokenizer& tokenizer, std::vector<TokenId>& ids);

}  // namespace sluice::cli
