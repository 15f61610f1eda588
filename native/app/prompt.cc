#include "app/prompt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/descriptor_io.h"
#include "app/diagnostics.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

constexpr int kPipeWaitMs = 2000;  // after this a note says that the program waits for a pipe
constexpr size_t kMaxPromptBytes = size_t{256} << 20;

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
  const int error = read_from(fd, kMaxPromptBytes, text);
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
