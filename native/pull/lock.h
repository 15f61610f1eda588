// A lock on a cached file, held until it is destroyed or the process ends. It excludes other
// processes and other locks of this one. It is held by flock on its file and by a holder's file
// beside that (holder.h): by flock against programs of earlier versions, which know nothing else,
// and by the holder's file against Node, which has no flock. Those two don't exclude each other.
#pragma once  // inside

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "pull/holder.h"

namespace sluice::pull {

class Lock {
 public:
  // Takes the lock if it is free, or nothing. Fails with download_failed and the system's reason,
  // also if something else than a file has its name. Where the directory can't be written to, a
  // shared lock that needs no file is returned: writers of another user don't see all of it.
  static Result<std::optional<Lock>> try_take(const std::string& path, Hold hold);
  // Waits until it is free. Calls `waiting` about ten times a second meanwhile.
  static Result<Lock> take(const std::string& path, Hold hold,
                           const std::function<void()>& waiting);
  // Calls `waiting`, and returns after the time between two tries of take().
  static void pause(const std::function<void()>& waiting);
  // Whether another process or lock holds it in any way. `has_holders`: see locks_with_holders().
  static bool is_held(const std::string& path, bool has_holders = true);
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();
  // From exclusive to shared.
  void share();
  // Removes the file of flock, which else stays. Only while the lock is held exclusively.
  void remove_file();

 private:
  Lock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
  std::optional<Holder> holder_;
};

}  // namespace sluice::pull
