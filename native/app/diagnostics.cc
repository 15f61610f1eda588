#include "app/diagnostics.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "api/json.h"
#include "app/exit_status.h"
#include "app/output.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

constexpr char kEraseLine[] = "\r\033[K";

// A status line is shown, to be erased. Threads change it and write to stderr under
// `status_mutex`, so that none writes behind another's line; the signal handler only reads it.
static_assert(std::atomic<int>::is_always_lock_free);
std::atomic<int> line_shown = 0;
std::mutex status_mutex;
bool quieted = false;  // set before there are other threads

// Writes "sluice: ..." over the status line.
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

int report(const Error& error, bool json) {
  write_line(concat("error: ", error.message));
  if (json) write_json(error_json(error) + "\n");
  return exit_status(error);
}

void note(const std::string& text) {
  if (!quieted) write_line(text);
}

void warn(const std::string& text) { note("warning: " + text); }

void warn(const Notes& notes) {
  for (const Note& each : notes) warn(each.message);
}

void be_quiet() { quieted = true; }

bool can_show_status() { return !quieted && isatty(STDERR_FILENO) == 1 && !terminal_is_dumb(); }

void show_status(const std::string& text) {
  const size_t columns = terminal_columns(STDERR_FILENO);
  const std::lock_guard lock(status_mutex);
  line_shown = 1;
  // A line that wraps can't be erased.
  write_err(kEraseLine + fitted(text, columns > 1 ? columns - 1 : 79));
}

void erase_status() {
  const std::lock_guard lock(status_mutex);
  if (line_shown != 0) write_err(kEraseLine);
  line_shown = 0;
}

void erase_status_in_signal() {
  if (line_shown == 0) return;
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kEraseLine, sizeof kEraseLine - 1);
}

}  // namespace sluice::cli
