#include "app/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "app/descriptor_io.h"
#include "base/format.h"

namespace sluice::cli {

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

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

bool terminal_is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

bool outputs_meet() {
  struct stat out = {}, err = {};
  if (::fstat(STDOUT_FILENO, &out) != 0 || ::fstat(STDERR_FILENO, &err) != 0) return false;
  const bool same = out.st_dev == err.st_dev && out.st_ino == err.st_ino;
  return same || (S_ISFIFO(out.st_mode) && isatty(STDERR_FILENO) == 1);
}

size_t terminal_columns(int descriptor) {
  winsize window = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return known ? window.ws_col : 80;
}

size_t terminal_rows(int descriptor) {
  winsize window = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_row > 0;
  return known ? window.ws_row : 24;
}

}  // namespace sluice::cli
