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

}  // namespace

Result<std::optional<Lock>> Lock::try_take(const std::string& path, Hold hold) {
  const auto refuse = [&] {
    return fail(Code::download_failed, "can't lock ", printable(path, kMaxShownPath), ": ",
                std::strerror(errno));
  };
  while (true) {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 && hold == Hold::shared && (errno == EACCES || errno == EROFS || errno == EPERM)) {
      fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) return Lock(path, -1);
    }
    if (fd < 0) return refuse();
    Lock lock(path, fd);
    if (::flock(fd, (hold == Hold::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return std::nullopt;
      return refuse();
    }
    // Whoever held it before may have removed the file; then the lock is one of nothing.
    struct stat held, there;
    if (::fstat(fd, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
      return lock;
    }
  }
}

Result<Lock> Lock::take(const std::string& path, Hold hold, const std::function<void()>& waiting) {
  while (true) {
    SLUICE_ASSIGN(std::optional<Lock> lock, try_take(path, hold));
    if (lock) return std::move(*lock);
    waiting();
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Lock::Lock(Lock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Lock& Lock::operator=(Lock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Lock::share() {
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_SH);
}

void Lock::remove_file() { ::unlink(path_.c_str()); }

}  // namespace sluice::pull
