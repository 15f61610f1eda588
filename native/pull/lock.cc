#include "pull/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/format.h"

namespace sluice::pull {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(100);
// A name may be that of a link or a pipe.
constexpr int kOpened = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

bool is_refused(int error) { return error == EACCES || error == EROFS || error == EPERM; }

}  // namespace

Result<std::optional<Lock>> Lock::try_take(const std::string& path, Hold hold) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::download_failed, "can't lock ", printable(path, kMaxShownPath), ": ", why);
  };
  const auto without_file = [&](Lock lock) -> std::optional<Lock> {
    const bool has_flock = lock.descriptor_ >= 0;
    if (pull::is_held(path, Hold::shared, has_flock)) return std::nullopt;
    return lock;
  };
  while (true) {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | kOpened, 0600);
    if (fd < 0 && hold == Hold::shared && is_refused(errno)) {
      fd = ::open(path.c_str(), O_RDONLY | kOpened);
      if (fd < 0) return without_file(Lock(path, -1));
    }
    if (fd < 0) return refuse(std::strerror(errno));
    Lock lock(path, fd);
    struct stat held, there;
    if (::fstat(fd, &held) != 0) return refuse(std::strerror(errno));
    if (!S_ISREG(held.st_mode)) return refuse("it is no file");
    if (::flock(fd, (hold == Hold::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return std::nullopt;
      return refuse(std::strerror(errno));
    }
    // Whoever held it before may have removed the file; then the lock is one of nothing.
    if (::lstat(path.c_str(), &there) != 0 || held.st_ino != there.st_ino ||
        held.st_dev != there.st_dev) {
      continue;
    }
    auto holder = Holder::try_take(path, hold);
    if (!holder && hold == Hold::shared && is_refused(holder.error()))
      return without_file(std::move(lock));
    if (!holder) return refuse(std::strerror(holder.error()));
    if (!*holder) return std::nullopt;
    lock.holder_ = std::move(*holder);
    return lock;
  }
}

Result<Lock> Lock::take(const std::string& path, Hold hold, const std::function<void()>& waiting) {
  while (true) {
    SLUICE_ASSIGN(std::optional<Lock> lock, try_take(path, hold));
    if (lock) return std::move(*lock);
    pause(waiting);
  }
}

void Lock::pause(const std::function<void()>& waiting) {
  waiting();
  std::this_thread::sleep_for(kBetweenTries);
}

bool Lock::is_held(const std::string& path, bool has_holders) {
  const int fd = ::open(path.c_str(), O_RDONLY | kOpened);
  const bool has_flock = fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  const bool refused = fd >= 0 && !has_flock && errno == EWOULDBLOCK;
  const bool held = refused || (has_holders && pull::is_held(path, Hold::exclusive, has_flock));
  if (fd >= 0) ::close(fd);
  return held;
}

Lock::Lock(Lock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      holder_(std::exchange(other.holder_, std::nullopt)) {}

Lock& Lock::operator=(Lock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(holder_, other.holder_);
  return *this;
}

Lock::~Lock() {
  // While its file is there, flock is held as well.
  holder_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Lock::share() {
  if (holder_) holder_->share();
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_SH);
}

void Lock::remove_file() { ::unlink(path_.c_str()); }

}  // namespace sluice::pull
