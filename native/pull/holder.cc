#include "pull/holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/format.h"
#include "pull/sha256.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kPatience = milliseconds(300);
constexpr time_t kOldExclusive = 24 * 3600;
constexpr time_t kOldShared = 7 * kOldExclusive;
constexpr size_t kShortHash = 12;

// Sizes of a holder's file.
constexpr off_t kTriesExclusive = 0, kTriesShared = 1, kShared = 2, kExclusive = 3;

bool excludes(off_t size, Hold hold) {
  return hold == Hold::exclusive || size == kTriesExclusive || size >= kExclusive;
}

// --- who a holder is -----------------------------------------------------------------------------

// What a holder's name says of it. The texts are of that name.
struct Identity {
  std::string_view machine, boot, space, pid, start, kind;
};

// The first bytes of a small file of the system; "" if it can't be read.
std::string first_bytes(const std::string& path) {
  std::array<char, 1024> bytes;
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<size_t>(in.gcount())};
}

struct Process {
  bool ended = false;       // and waits for its parent to ask for its status
  std::string start = "0";  // 0: unknown
};

// Of a process that exists.
Process process_of(std::string_view pid) {
  const std::string stat = first_bytes(concat("/proc/", pid, "/stat"));
  Process process;
  // Behind the program's name, which may contain anything: field 3, the state, and more.
  size_t at = stat.rfind(')');
  if (at == std::string::npos) return process;
  std::string_view state, threads;
  for (int field = 2; at < stat.size() && field < 22; ++field) {
    const size_t begin = at + (field == 2 ? 2 : 1);
    at = std::min(stat.find(' ', begin), stat.size());
    if (begin > at) return process;
    const std::string_view text = std::string_view(stat).substr(begin, at - begin);
    if (field + 1 == 3) state = text;
    if (field + 1 == 20) threads = text;
    if (field + 1 == 22) process.start = text;
  }
  // While it has threads they may still write.
  process.ended = state == "X" || (state == "Z" && (threads == "0" || threads == "1"));
  return process;
}

std::string digits_of(std::string_view text, std::string_view digits, size_t most) {
  std::string found;
  for (const char c : text) {
    if (found.size() < most && digits.find(c) != std::string_view::npos) found += c;
  }
  return found.empty() ? "0" : found;
}

constexpr std::string_view kDecimal = "0123456789";
constexpr std::string_view kHexadecimal = "0123456789abcdef";

std::string machine() {
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {};
  const std::string id = first_bytes("/etc/machine-id");
  return sha256_of(concat(host.data(), "\n", trimmed(id))).substr(0, kShortHash);
}

std::string space() {
  std::array<char, 64> link = {};
  const ssize_t n = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  return digits_of({link.data(), static_cast<size_t>(std::max<ssize_t>(n, 0))}, kDecimal, 20);
}

// Everything in this process's names but the random digits.
struct Own {
  std::string machine, boot, space, pid, start;
};

const Own& own() {
  static const Own own = [] {
    const std::string pid = std::to_string(::getpid());
    return Own{pull::machine(),
               digits_of(first_bytes("/proc/sys/kernel/random/boot_id"), kHexadecimal, kShortHash),
               pull::space(), pid, process_of(pid).start};
  }();
  return own;
}

std::string random_digits() {
  static std::atomic<uint64_t> calls = 0;
  uint64_t bits = 0;
  if (::getentropy(&bits, sizeof bits) != 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    bits = static_cast<uint64_t>(now) + ++calls;
  }
  std::string text;
  for (int i = 0; i < 16; ++i, bits >>= 4) text += kHexadecimal[bits % 16];
  return text;
}

std::string new_name(std::string_view lock) {
  const Own& self = own();
  return concat(lock, ".", self.machine, "-", self.boot, "-", self.space, "-", self.pid, "-",
                self.start, "-n-0-", random_digits());
}

bool is_made_of(std::string_view text, std::string_view digits, size_t most) {
  return !text.empty() && text.size() <= most &&
         text.find_first_not_of(digits) == std::string_view::npos;
}

// Reads a file's name; `lock` is then the name of the lock. Nothing if it is no holder's.
std::optional<Identity> identity_of(std::string_view name, std::string_view& lock) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  std::array<std::string_view, 8> fields;
  std::string_view rest = name.substr(dot + 1);
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t end = i + 1 < fields.size() ? rest.find('-') : rest.size();
    if (end == std::string_view::npos) return std::nullopt;
    fields[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto [machine, boot, space, pid, start, kind, thread, random] = fields;
  const bool valid =
      machine.size() == kShortHash && is_made_of(machine, kHexadecimal, kShortHash) &&
      is_made_of(boot, kHexadecimal, kShortHash) && is_made_of(space, kDecimal, 20) &&
      is_made_of(pid, kDecimal, 9) && is_made_of(start, kDecimal, 20) &&
      (kind == "n" || kind == "f") && is_made_of(thread, kDecimal, 10) && random.size() == 16 &&
      is_made_of(random, kHexadecimal, 16);
  if (!valid) return std::nullopt;
  lock = name.substr(0, dot);
  return Identity{machine, boot, space, pid, start, kind};
}

bool is_dead_process(const Identity& of) {
  pid_t pid = 0;
  std::from_chars(of.pid.data(), of.pid.data() + of.pid.size(), pid);
  if (pid <= 0) return true;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  const Process process = process_of(of.pid);
  return process.ended || (of.start != "0" && process.start != "0" && of.start != process.start);
}

// --- looking at the others -----------------------------------------------------------------------

struct View {
  std::string_view directory, lock;  // lock: its name without the directory
  std::string_view self;             // the name of our own file, "" if we have none
  Hold hold;
  bool has_flock;
};

bool is_dead(const Identity& of, const struct stat& file, bool flock_excludes) {
  const Own& self = own();
  const bool ours = of.machine == self.machine;
  const bool boots_known = of.boot != "0" && self.boot != "0";
  if (ours && boots_known && of.boot != self.boot) return true;
  if (ours && of.boot == self.boot && of.space == self.space) return is_dead_process(of);
  // In another container, for instance: the system releases flock when a process ends.
  if (ours && boots_known && flock_excludes && of.kind == "n") return true;
  const time_t age = ::time(nullptr) - file.st_mtime;
  return age > (excludes(file.st_size, Hold::shared) ? kOldExclusive : kOldShared);
}

// The size of a regular file, and when it was changed. Nothing of anything else.
std::optional<struct stat> look_at(int directory, const char* name) {
  struct stat info;
  // Opening it makes a network's file system ask for the size anew.
  const int fd =
      ::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  const bool known = fd >= 0 ? ::fstat(fd, &info) == 0
                             : ::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (fd >= 0) ::close(fd);
  if (!known || !S_ISREG(info.st_mode) || info.st_nlink == 0) return std::nullopt;
  return info;
}

struct Others {
  bool hold = false;     // one of them has the lock
  bool try_it = false;   // one of them tries to take it
  bool smaller = false;  // and its name is smaller than ours
};

// Removes the files of dead holders, also those of other locks. An errno if the directory can't be
// read.
std::expected<Others, int> look(const View& view) {
  DIR* const entries = ::opendir(std::string(view.directory).c_str());
  if (entries == nullptr) return std::unexpected(errno);
  const int directory = ::dirfd(entries);
  Others others;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(entries);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    std::string_view lock;
    if (name == view.self) continue;
    const auto identity = identity_of(name, lock);
    const auto file = identity ? look_at(directory, entry->d_name) : std::nullopt;
    if (!file) continue;
    const bool same = lock == view.lock;
    const bool flock_excludes = same && view.has_flock && excludes(file->st_size, view.hold);
    if (is_dead(*identity, *file, flock_excludes)) {
      ::unlinkat(directory, entry->d_name, 0);
      continue;
    }
    if (!same || !excludes(file->st_size, view.hold)) continue;
    if (file->st_size >= kShared) {
      others.hold = true;
    } else {
      others.try_it = true;
      others.smaller = others.smaller || name < view.self;
    }
  }
  const int failure = errno;
  ::closedir(entries);
  if (failure != 0) return std::unexpected(failure);
  return others;
}

// "DIRECTORY/NAME" in two; the directory is "." if there is none.
std::pair<std::string_view, std::string_view> place_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", path};
  return {path.substr(0, std::max<size_t>(slash, 1)), path.substr(slash + 1)};
}

}  // namespace

std::expected<std::optional<Holder>, int> Holder::try_take(const std::string& path, Hold hold) {
  const auto [directory, lock] = place_of(path);
  const bool shared = hold == Hold::shared;
  const auto end = Clock::now() + kPatience;
  while (true) {
    const std::string name = new_name(lock);
    const std::string file = concat(directory, "/", name);
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EINTR || errno == EEXIST)) continue;
    if (fd < 0) return std::unexpected(errno);
    Holder holder(file, fd);
    // A size that can't be set (a full disk) makes others wait longer, and does no harm else.
    [[maybe_unused]] int set = shared ? ::ftruncate(fd, kTriesShared) : 0;
    while (true) {
      const auto others = look({directory, lock, name, hold, true});
      if (!others) return std::unexpected(others.error());
      if (!others->hold && !others->try_it) {
        set = ::ftruncate(fd, shared ? kShared : kExclusive);
        return std::optional<Holder>(std::move(holder));
      }
      if (others->hold || Clock::now() > end) return std::nullopt;
      if (others->smaller) break;
      std::this_thread::sleep_for(milliseconds(1));
    }
    holder = Holder({}, -1);
    std::this_thread::sleep_for(milliseconds(2));
  }
}

Holder::Holder(Holder&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Holder& Holder::operator=(Holder&& other) noexcept {
  Holder old(std::move(*this));
  file_ = std::move(other.file_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

Holder::~Holder() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

void Holder::share() { [[maybe_unused]] const int set = ::ftruncate(descriptor_, kShared); }

bool is_held(const std::string& path, Hold hold, bool has_flock) {
  const auto [directory, lock] = place_of(path);
  const auto others = look({directory, lock, "", hold, has_flock});
  return others && (others->hold || others->try_it);
}

std::set<std::string> locks_with_holders(const std::string& directory) {
  std::set<std::string> locks;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    std::string_view lock;
    if (identity_of(name, lock)) locks.emplace(lock);
  }
  return locks;
}

}  // namespace sluice::pull
