#include "terminal/history.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "app/private_file.h"
#include "base/utf8.h"

namespace sluice::terminal {
namespace {

constexpr size_t kMaxHistoryBytes = size_t{16} << 20;
constexpr size_t kMaxEntryBytes = size_t{64} << 10;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Holds a lock on PATH.lock while it exists. Another file, because PATH is replaced by renaming.
class Locked {
 public:
  explicit Locked(const std::string& path)
      : fd_(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      ::close(fd_);
      fd_ = -1;
    }
  }
  ~Locked() {
    if (fd_ >= 0) ::close(fd_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// An entry is a line: its own line ends are written \n.
std::string line_of(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\\' || c == '\n') line += '\\';
    line += c == '\n' ? 'n' : c;
  }
  return line + "\n";
}

std::string entry_of(std::string_view line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    if (escape) ++i;
    entry += escape && line[i] == 'n' ? '\n' : line[i];
  }
  return utf8_sanitize(entry);
}

}  // namespace

std::string history_path() {
  const std::string state = variable("XDG_STATE_HOME"), home = variable("HOME");
  // A relative path is to be ignored, says the specification.
  if (state.starts_with('/')) return state + "/sluice/chat_history";
  return home.starts_with('/') ? home + "/.local/state/sluice/chat_history" : "";
}

std::vector<std::string> HistoryFile::load() const {
  std::vector<std::string> entries;
  if (path_.empty() ||
      !cli::make_private_folder(std::filesystem::path(path_).parent_path().string()))
    return entries;
  const Locked locked(path_);
  if (!locked) return entries;
  const auto text = cli::read_whole_file(path_, kMaxHistoryBytes);
  if (!text) return entries;
  ::chmod(path_.c_str(), 0600);
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    if (end > at) entries.push_back(entry_of(std::string_view(*text).substr(at, end - at)));
    at = end + 1;
  }
  if (entries.size() > kMostEntries) {
    entries.erase(entries.begin(), entries.end() - kMostEntries);
    std::string rest;
    for (const std::string& entry : entries) rest += line_of(entry);
    [[maybe_unused]] const Status written = cli::write_private_file(path_, rest);
  }
  return entries;
}

void HistoryFile::add(std::string_view entry) const {
  if (path_.empty() || entry.empty() || entry.size() > kMaxEntryBytes) return;
  const Locked locked(path_);
  if (!locked) return;
  const int fd =
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return;
  const std::string line = line_of(entry);
  [[maybe_unused]] const ssize_t n = ::write(fd, line.data(), line.size());
  ::close(fd);
}

}  // namespace sluice::terminal
