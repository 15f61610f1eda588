// Keeps two programs from using one session's file: the last to end would erase what the others
// have added.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::cli {

// A lock on FILE.lock, because FILE itself is replaced by renaming. The system releases it when
// the program ends in any way: a FILE.lock that is left over locks nothing.
class SessionLock {
 public:
  SessionLock() = default;
  // Fails with busy, which names the process that holds the lock. Where locks don't work, it holds
  // none, and trouble() tells why.
  static Result<SessionLock> take(const std::string& session);
  SessionLock(SessionLock&& other) noexcept;
  SessionLock& operator=(SessionLock&& other) noexcept;
  // Releases it, and removes FILE.lock if that is empty, as take() makes it.
  ~SessionLock();
  const std::string& trouble() const { return trouble_; }

 private:
  int descriptor_ = -1;
  std::string path_;
  std::string trouble_;
};

}  // namespace sluice::cli
