#include "app/session_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "app/private_file.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

bool is_at(int descriptor, const std::string& path) {
  struct stat held = {}, there = {};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

std::unexpected<Error> in_use(const std::string& session, pid_t process) {
  const std::string file =
      concat("the session's file ", printable(session, kMaxShownPath), " is in use by ");
  // The process may be one of another machine or container.
  if (process <= 0) {
    return fail(Code::busy, file,
                "another process, which can't be seen from here; end that one first, or name "
                "another file");
  }
  return fail(Code::busy, file, "process ", process, "; end that one first (\"kill ", process,
              "\" has it save the session), or name another file");
}

}  // namespace

Result<SessionLock> SessionLock::take(const std::string& session) {
  const std::string path = target_of(session) + ".lock";
  while (true) {
    SessionLock lock;
    const int descriptor =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    // Locks of fcntl() know who has them, and work on network drives.
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const bool locked = descriptor >= 0 && ::fcntl(descriptor, F_SETLK, &whole) == 0;
    if (!locked && descriptor >= 0 && (errno == EAGAIN || errno == EACCES)) {
      const bool told = ::fcntl(descriptor, F_GETLK, &whole) == 0;
      ::close(descriptor);
      if (told && whole.l_type == F_UNLCK) continue;  // it has just ended
      return in_use(session, told ? whole.l_pid : 0);
    }
    if (!locked) lock.trouble_ = std::strerror(errno);
    lock.descriptor_ = descriptor;
    lock.path_ = path;
    // The process that held it before may have removed the file: then this lock is of no use.
    if (!locked || is_at(descriptor, path)) return lock;
  }
}

SessionLock::SessionLock(SessionLock&& other) noexcept { *this = std::move(other); }

SessionLock& SessionLock::operator=(SessionLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(trouble_, other.trouble_);
  return *this;
}

SessionLock::~SessionLock() {
  if (descriptor_ < 0) return;
  struct stat found = {};
  const bool ours = ::fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode) &&
                    found.st_size == 0 && is_at(descriptor_, path_);
  if (ours) ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace sluice::cli
