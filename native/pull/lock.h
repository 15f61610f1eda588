// A lock on a cached file, held by flock until it is destroyed or the process ends.
#pragma once  // inside

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace sluice::pull {

// exclusive: to write the file; shared: to read it.
enum class Hold { shared, exclusive };

class Lock {
 public:
  // Takes the lock if it is free, or nothing. Fails with download_failed and the system's reason.
  // Where the directory can't be written to, a shared lock that needs no file is returned.
  static Result<std::optional<Lock>> try_take(const std::string& path, Hold hold);
  // Waits until it is free. Calls `waiting` about ten times a second meanwhile.
  static Result<Lock> take(const std::string& path, Hold hold,
                           const std::function<void()>& waiting);
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();
  // From exclusive to shared.
  void share();
  // Removes the lock's file. Only while it is held exclusively.
  void remove_file();

 private:
  Lock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace sluice::pull
