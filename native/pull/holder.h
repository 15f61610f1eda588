// The files by which processes hold a lock. They need no flock, which Node doesn't have: the web
// library's node/locks.ts follows the same rules.
//
// A lock is named by a path, for instance KEY.lock. Each holder makes a file beside it, in this
// form and with O_CREAT | O_EXCL:
//   PATH.MACHINE-BOOT-SPACE-PID-START-KIND-THREAD-RANDOM
//   MACHINE  first 12 digits of the SHA-256 of "HOSTNAME\nMACHINE_ID" (/etc/machine-id, trimmed)
//   BOOT     first 12 hexadecimal digits of /proc/sys/kernel/random/boot_id; 0: unknown
//   SPACE    number of the namespace of process ids (/proc/self/ns/pid); 0: unknown
//   PID      and START, field 22 of /proc/PID/stat; 0: unknown
//   KIND     n: its process holds flock on PATH, too; f: it has no flock
//   THREAD   Node's thread id, so that a worker's locks can be released for it; else 0
//   RANDOM   16 hexadecimal digits
// The file is empty or has arbitrary bytes. Its size says what its holder does:
//   0 tries to hold exclusively  1 tries to hold shared  2 holds shared  3 or more holds
//   exclusively
//
// To take a lock: make the file, set its size to what is tried, then look at the files of all
// others. Who finds nothing that conflicts has the lock, and sets the size to 2 or 3. Of two that
// make their files at the same time at least one sees the other, so nothing else guards this.
// Who finds a holder removes its own file. Who finds only others that try: if its name is the
// smallest (as bytes) it keeps its file and looks again, else it removes its file and tries again;
// after 300 ms it gives up. Exclusive becomes shared by the size alone. Shared becomes exclusive by
// trying with the same file.
// Who releases the lock removes its file.
//
// Files of dead holders count as absent, and who finds one removes it. RANDOM makes sure that this
// is never the file of another. A holder is dead if
//   - MACHINE is ours, and BOOT is another one;
//   - MACHINE, BOOT and SPACE are ours, and no process has this PID, or one with another START;
//   - KIND is n, MACHINE and BOOT are ours, and we hold flock in a way that excludes it;
//   - it can't be judged by its PID (another machine or SPACE, as of containers) and its file is
//     older than a day if it is exclusive, or seven days if it is shared.
// Only regular files count, and only those with such a name. Links aren't followed.
#pragma once  // inside

#include <expected>
#include <optional>
#include <set>
#include <string>

namespace sluice::pull {

// exclusive: to write the file; shared: to read it.
enum class Hold { shared, exclusive };

// Holds a lock by a file, until it is destroyed.
class Holder {
 public:
  // The caller holds flock on `path` in the same way. Nothing: another one has the lock. Else an
  // errno: the file can't be made, or the directory can't be read. Takes up to 300 ms.
  static std::expected<std::optional<Holder>, int> try_take(const std::string& path, Hold hold);
  Holder(Holder&& other) noexcept;
  Holder& operator=(Holder&& other) noexcept;
  ~Holder();
  // From exclusive to shared. It stays exclusive if the file's size can't be set.
  void share();

 private:
  Holder(std::string file, int descriptor) : file_(std::move(file)), descriptor_(descriptor) {}
  std::string file_;
  int descriptor_ = -1;
};

// Whether another one holds the lock in a way that excludes `hold`, or tries to. `has_flock`: the
// caller holds flock on `path` in this way. Makes no file. False if the directory can't be read.
bool is_held(const std::string& path, Hold hold, bool has_flock);
// The names of the locks in a directory that have a holder's file, be it of a dead one. For many
// locks, because is_held() reads the whole directory for each.
std::set<std::string> locks_with_holders(const std::string& directory);

}  // namespace sluice::pull
