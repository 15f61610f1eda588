// Keeps two programs from using one session's file: the last to end would erase what the others
// have added.
#pragma once

#include <string>

#include "base/result.h"

namespace sluice::cli {

// A lock on FILE.lock, because FILE itself is replaced by renaming. The system gives it up when the
// program ends, however that is: a FILE.lock that was left locks nothing.
class SessionLock {
 public:
  SessionLock() = default;
  // Fails with busy, which names the process that has the file. Where there can be no lock, it
  // holds none, and trouble() says why.
  static Result<SessionLock> take(const std::string& session);
  SessionLock(SessionLock&& other) noexcept;
  SessionLock& operator=(SessionLock&& other) noexcept;
  // Gives it up, and removes FILE.lock if that is empty, as this makes it.
  ~SessionLock();
  const std::string& trouble() const { return trouble_; }

 private:
  int descriptor_ = -1;
  std::string path_;
  std::string trouble_;
};

}  // namespace sluice::cli
