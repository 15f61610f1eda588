#include "app/common.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/json.h"
#include "base/format.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

constexpr size_t kMaxQuoted = 80;
constexpr int kPipeWaitMs = 2000;  // after this a note says that the program waits for a pipe
constexpr char kEraseLine[] = "\r\033[K";
constexpr size_t kMaxPromptBytes = size_t{256} << 20;

// Signals may come to any thread, so what their handler shares with others is atomic.
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<int> signals_deferred = 0;
std::atomic<int> caught_signal = 0;
// A line of progress is on stderr, to be erased. Threads change it and write to stderr under
// `status_mutex`, so that none writes behind another's line; the handler only reads it.
std::atomic<int> line_shown = 0;
std::mutex status_mutex;
bool quieted = false;  // set before there are other threads

// The handler prints the one that `farewell` names while the other one is written.
constexpr size_t kMaxFarewell = 300;
char farewells[2][kMaxFarewell];
size_t farewell_sizes[2] = {};
std::atomic<int> farewell = 0;

void on_signal(int signal) {
  // SIGHUP doesn't count as the second one: it often comes twice, or along with another.
  const bool first = caught_signal == 0 || caught_signal == SIGHUP;
  if (signals_deferred == 0 || (!first && signal != SIGHUP)) {
    if (line_shown != 0) {
      [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kEraseLine, sizeof kEraseLine - 1);
    }
    const int which = farewell;
    [[maybe_unused]] const ssize_t n =
        ::write(STDERR_FILENO, farewells[which], farewell_sizes[which]);
    _exit(128 + signal);
  }
  if (first) caught_signal = signal;
}

void handle(int signal) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// After a failed read() or write(): true if it should be tried again. Waits until a non-blocking
// descriptor is ready.
bool try_again(int fd, short direction) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    pollfd ready = {fd, direction, 0};
    ::poll(&ready, 1, -1);
    return true;
  }
  return errno == EINTR;
}

// "sluice: ..." on stderr, in the place of a line of progress.
void write_line(const std::string& text) {
  const std::lock_guard lock(status_mutex);
  write_err(concat(line_shown != 0 ? kEraseLine : "", "sluice: ", safe_text(text), "\n"));
}

// One line of at most so many bytes, so of no more columns. Its end shows that it was cut.
std::string fitted(const std::string& text, size_t columns) {
  if (text.size() <= columns) return printable(text, columns);
  constexpr size_t kDots = 3;
  return columns > kDots ? printable(text, columns - kDots) : std::string(columns, '.');
}

}  // namespace

int write_to(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && try_again(descriptor, POLLOUT)) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

int exit_status(Code code) {
  switch (code) {
    case Code::bad_file:
    case Code::unsupported_model:
    case Code::unsupported_type:
    case Code::download_corrupt:
      return kBadFile;
    case Code::out_of_memory:
    case Code::budget_too_small:
      return kNoMemory;
    case Code::invalid_argument:
    case Code::not_found:
      return kUsage;
    case Code::context_full:
    case Code::busy:
    case Code::aborted:
    case Code::download_failed:
    case Code::offline:
    case Code::storage_full:
      return kFailed;
  }
  return kFailed;
}

int report(const Error& error, bool json) {
  write_line(concat("error: ", error.message));
  if (json) write_json(error_json(error) + "\n");
  return exit_status(error.code);
}

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond "ulimit -f": the write fails instead
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened for the other direction, so that using it still fails.
    [[maybe_unused]] const int taken = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

void write_out(std::string_view text) {
  Output output;
  output.write(text);
  if (output.gone()) _exit(output.status());
}

void Output::write(std::string_view text) {
  if (gone()) return;
  const int error = write_to(STDOUT_FILENO, text);
  if (error == 0) return;
  // A reader that has gone, or a terminal that was closed, is no failure.
  struct stat found = {};
  const bool closed = error == EIO && ::fstat(STDOUT_FILENO, &found) == 0 && S_ISCHR(found.st_mode);
  status_ = error == EPIPE || closed ? kDone : kFailed;
  if (*status_ == kDone) return;
  write_err(concat("sluice: error: can't write to standard output: ", std::strerror(error), "\n"));
}

void write_shown(std::string_view text) { write_out(safe_text(text)); }

void write_content(std::string_view text) {
  if (stdout_is_terminal()) return write_shown(text);
  write_out(text);
}

void write_json(std::string_view json) { write_out(safe_json(json)); }

void write_err(std::string_view text) { write_to(STDERR_FILENO, text); }

void be_quiet() { quieted = true; }

bool terminal_is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

void note(const std::string& text) {
  if (!quieted) write_line(text);
}

bool can_show_status() { return !quieted && isatty(STDERR_FILENO) == 1 && !terminal_is_dumb(); }

void show_status(const std::string& text) {
  winsize window = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  const std::lock_guard lock(status_mutex);
  line_shown = 1;
  // A line that wraps can't be erased.
  write_err(kEraseLine + fitted(text, known ? window.ws_col - 1u : 79u));
}

void erase_status() {
  const std::lock_guard lock(status_mutex);
  if (line_shown != 0) write_err(kEraseLine);
  line_shown = 0;
}

void warn(const std::string& text) { note("warning: " + text); }

void warn(const Notes& notes) {
  for (const Note& each : notes) warn(each.message);
}

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

bool outputs_meet() {
  struct stat out = {}, err = {};
  if (::fstat(STDOUT_FILENO, &out) != 0 || ::fstat(STDERR_FILENO, &err) != 0) return false;
  const bool same = out.st_dev == err.st_dev && out.st_ino == err.st_ino;
  return same || (S_ISFIFO(out.st_mode) && isatty(STDERR_FILENO) == 1);
}

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char* text = nullptr;
  const int size = vasprintf(&text, pattern, arguments);
  va_end(arguments);
  if (size < 0) return {};
  std::string out(text, static_cast<size_t>(size));
  std::free(text);
  return out;
}

namespace {

std::string quoted(std::string_view text) {
  using nlohmann::json;
  std::string_view shown = text.substr(0, kMaxQuoted);
  if (shown.size() < text.size()) {
    while (!shown.empty() && (text[shown.size()] & 0xc0) == 0x80) shown.remove_suffix(1);
  }
  std::string out;
  try {
    out = safe_json(json(shown).dump());
    // No-break spaces look like spaces.
    for (size_t at = 0; (at = out.find("\u00a0", at)) != std::string::npos;)
      out.replace(at, 2, "\\u00a0");
  } catch (const json::exception&) {  // not UTF-8
    out = "\"";
    for (const char c : shown) {
      const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
      out += plain ? std::string(1, c) : format("\\x%02x", static_cast<unsigned char>(c));
    }
    out += "\"";
  }
  return shown.size() < text.size() ? out + "..." : out;
}

}  // namespace

std::string readable(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view piece = tokenizer.piece(id);
  return piece.empty() ? printable(tokenizer.raw_token(id)) : quoted(piece);
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines = {""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

void install_signal_handlers() {
  handle(SIGINT);
  handle(SIGTERM);
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void set_farewell(std::string_view text) {
  const int other = 1 - farewell;
  farewell_sizes[other] = text.copy(farewells[other], kMaxFarewell);
  farewell = other;
}

void defer_signals() {
  signals_deferred = 1;
  for (const int signal : {SIGHUP, SIGQUIT})
    if (!is_ignored(signal)) handle(signal);
}

int interrupted_by() { return caught_signal; }

namespace {

// True if standard input is a pipe or a file. At a terminal the program doesn't wait for input, nor
// at a socket: a program that starts this one may have left that open by mistake.
bool has_piped_input() {
  struct stat status;
  return ::fstat(STDIN_FILENO, &status) == 0 &&
         (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode));
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::string_view what) {
  const bool from_stdin = path == "-";
  const std::string name = from_stdin ? std::string("standard input")
                                      : concat("the ", what, " ", printable(path, kMaxShownPath));
  const int fd = from_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return fail(Code::bad_file, "can't open ", name, ": ", std::strerror(errno));
  }
  std::string text;
  char block[64 << 10];
  int error = 0;
  while (text.size() <= kMaxPromptBytes) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n < 0 && try_again(fd, POLLIN)) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    text.append(block, static_cast<size_t>(n));
  }
  if (!from_stdin) ::close(fd);
  if (error != 0) {
    return fail(Code::bad_file, "can't read ", name, ": ", std::strerror(error));
  }
  if (text.size() > kMaxPromptBytes) {
    return fail(Code::bad_file, name, " is longer than ", human_bytes(kMaxPromptBytes),
                ", the most that it may have");
  }
  return text;
}

Result<std::optional<std::string>> prompt_text(const Prompt& prompt, bool of_lines) {
  if (prompt.tokens) return std::nullopt;
  if (prompt.text) return prompt.text;
  if (prompt.file) return read_text(*prompt.file, "prompt's file");
  if (!has_piped_input()) return std::nullopt;
  pollfd ready = {STDIN_FILENO, POLLIN, 0};
  if (::poll(&ready, 1, kPipeWaitMs) == 0) {
    note("reading the prompt from standard input, which is a pipe (</dev/null: no prompt)");
  }
  SLUICE_ASSIGN(std::string text, read_text("-", "prompt"));
  if (!of_lines && text.ends_with('\n')) text.pop_back();
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace sluice::cli
