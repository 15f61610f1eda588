// Lines of a terminal without line editing.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "app/descriptor_io.h"
#include "base/format.h"
#include "terminal/line_reader.h"
#include "terminal/signals.h"

namespace sluice::terminal {
namespace {

class PlainLines : public LineReader {
 public:
  explicit PlainLines(int descriptor) : descriptor_(descriptor) {}

  LineRead read(const std::string& prompt, const std::string& prefilled) override {
    // A line that can't be edited is shown instead.
    show(prefilled.empty() ? prompt : concat(safe_text(prefilled), "\n", prompt));
    while (true) {
      const size_t end = bytes_.find('\n');
      if (end != std::string::npos) {
        std::string line = bytes_.substr(0, end);
        bytes_.erase(0, end + 1);
        if (line.ends_with('\r')) line.pop_back();
        return {LineRead::Kind::line, std::move(line)};
      }
      if (ending() != 0) return {};
      if (take_interrupt()) {
        bytes_.clear();
        show("\n");
        return {LineRead::Kind::interrupted, ""};
      }
      if (wait_for_input(bytes_)) continue;
      if (bytes_.empty()) return {};
      return {LineRead::Kind::line, std::exchange(bytes_, "")};
    }
  }

  void remember(const std::string&) override {}

 private:
  void show(const std::string& text) const {
    if (descriptor_ >= 0) cli::write_to(descriptor_, text);
  }

  int descriptor_;
  std::string bytes_;  // typed, and not yet returned
};

}  // namespace

std::unique_ptr<LineReader> plain_lines(int descriptor) {
  return std::make_unique<PlainLines>(descriptor);
}

bool wait_for_input(std::string& bytes, int timeout_ms) {
  pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {wake_descriptor(), POLLIN, 0}};
  if (::poll(ready, 2, timeout_ms) < 0) return errno == EINTR;
  if (ready[1].revents != 0) drain_wake();
  if (ready[0].revents == 0) return true;
  char block[4096];
  const ssize_t n = ::read(STDIN_FILENO, block, sizeof block);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  bytes.append(block, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return n > 0;
}

}  // namespace sluice::terminal
