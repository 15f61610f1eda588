// Tests of native/pull/lock.h: who excludes whom, holders that are dead or of other machines, and
// names and files that aren't ours.
#include "pull/lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/format.h"

namespace sluice::pull {
namespace {

namespace fs = std::filesystem;

// Makes a process that ends at once. It is a zombie until its status is asked for.
pid_t ended_child() {
  const pid_t child = ::fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  return child;
}

// Without the rights of root, which may write everywhere.
class Nobody {
 public:
  Nobody() { EXPECT_TRUE(::geteuid() != 0 || ::seteuid(65534) == 0); }
  ~Nobody() { EXPECT_EQ(::seteuid(::getuid()), 0); }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;
};

class PullLock : public ::testing::Test {
 protected:
  enum Field { machine, boot, space, pid, start, kind, thread, random };
  using Fields = std::vector<std::string>;

  PullLock() {
    std::string pattern = (fs::temp_directory_path() / "sluice-lock-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
    path = directory + "/k.lock";
    const auto lock = taken(Hold::shared);
    EXPECT_TRUE(lock);
    const std::string name = holders().at(0);
    std::string field;
    for (const char c : name.substr(name.rfind('.') + 1) + "-") {
      if (c == '-') {
        ours.push_back(field);
        field.clear();
      } else {
        field += c;
      }
    }
    EXPECT_EQ(ours.size(), 8u);
    ours[kind] = "f";
    ours[random] = "0123456789abcdef";
  }
  ~PullLock() override { fs::remove_all(directory); }

  // All files but the one of flock.
  std::vector<std::string> holders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path() != path) names.push_back(entry.path().filename());
    }
    return names;
  }
  std::optional<Lock> taken(Hold hold) const {
    auto lock = Lock::try_take(path, hold);
    EXPECT_TRUE(lock) << lock.error().message;
    return lock ? std::move(*lock) : std::nullopt;
  }
  bool is_free(Hold hold) const { return taken(hold).has_value(); }

  std::string name_of(const Fields& fields) const {
    std::string name = path;
    for (size_t i = 0; i < fields.size(); ++i) name += (i == 0 ? "." : "-") + fields[i];
    return name;
  }
  // Makes the file of a holder, by default of one that lives: this process.
  std::string hold(const Fields& fields, off_t size, time_t age = 0) const {
    const std::string file = name_of(fields);
    std::ofstream(file).flush();
    EXPECT_EQ(::truncate(file.c_str(), size), 0);
    const timespec then = {::time(nullptr) - age, 0};
    const timespec times[2] = {then, then};
    EXPECT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
    return file;
  }
  Fields with(Field field, const std::string& text) const {
    Fields fields = ours;
    fields[field] = text;
    return fields;
  }
  void expect_dead(const Fields& fields, off_t size = 3, time_t age = 0) const {
    const std::string file = hold(fields, size, age);
    EXPECT_TRUE(is_free(Hold::exclusive)) << file;
    EXPECT_FALSE(fs::exists(file)) << file;
  }
  void expect_alive(const Fields& fields, off_t size = 3, time_t age = 0) const {
    const std::string file = hold(fields, size, age);
    EXPECT_FALSE(is_free(Hold::exclusive)) << file;
    EXPECT_TRUE(fs::remove(file)) << file;
  }

  std::string directory, path;
  Fields ours;  // of a holder of this process, but one without flock
};

constexpr time_t kDay = 24 * 3600;

TEST_F(PullLock, HasAFileForEachHolderAndLeavesNone) {
  {
    const auto one = taken(Hold::shared), two = taken(Hold::shared);
    ASSERT_EQ(holders().size(), 2u);
    EXPECT_EQ(fs::file_size(directory + "/" + holders()[0]), 2u);
    EXPECT_TRUE(Lock::is_held(path));
    EXPECT_FALSE(is_free(Hold::exclusive));
    EXPECT_EQ(holders().size(), 2u);
  }
  EXPECT_TRUE(holders().empty());
  EXPECT_FALSE(Lock::is_held(path));
  auto lock = taken(Hold::exclusive);
  ASSERT_EQ(holders().size(), 1u);
  EXPECT_EQ(fs::file_size(directory + "/" + holders()[0]), 3u);
  EXPECT_FALSE(is_free(Hold::shared));
  lock->share();
  EXPECT_TRUE(is_free(Hold::shared));
  EXPECT_FALSE(is_free(Hold::exclusive));
  lock.reset();
  EXPECT_TRUE(holders().empty());
}

TEST_F(PullLock, YieldsToAHolderWithoutFlock) {
  const std::string file = hold(ours, 3);
  EXPECT_FALSE(is_free(Hold::shared));
  EXPECT_FALSE(is_free(Hold::exclusive));
  EXPECT_TRUE(Lock::is_held(path));
  EXPECT_EQ(::truncate(file.c_str(), 2), 0);
  EXPECT_TRUE(is_free(Hold::shared));
  EXPECT_FALSE(is_free(Hold::exclusive));
  EXPECT_TRUE(Lock::is_held(path));
  // One that tries and never decides.
  EXPECT_EQ(::truncate(file.c_str(), 1), 0);
  EXPECT_TRUE(is_free(Hold::shared));
  EXPECT_FALSE(is_free(Hold::exclusive));
  EXPECT_EQ(::truncate(file.c_str(), 0), 0);
  EXPECT_FALSE(is_free(Hold::shared));
  // A file of any size is one of a holder.
  EXPECT_EQ(::truncate(file.c_str(), off_t{1} << 40), 0);
  EXPECT_FALSE(is_free(Hold::shared));
  EXPECT_EQ(holders().size(), 1u);
}

TEST_F(PullLock, YieldsToAnEarlierVersion) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(fd, LOCK_SH | LOCK_NB), 0);
  EXPECT_FALSE(is_free(Hold::exclusive));
  EXPECT_TRUE(Lock::is_held(path));
  ::close(fd);
  const auto lock = taken(Hold::shared);
  const int other = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_NE(::flock(other, LOCK_EX | LOCK_NB), 0);
  ::close(other);
}

TEST_F(PullLock, TakesTheLocksOfTheDead) {
  const pid_t zombie = ended_child();
  Fields of_zombie = with(pid, std::to_string(zombie));
  of_zombie[start] = "0";
  expect_dead(of_zombie);
  ASSERT_EQ(::waitpid(zombie, nullptr, 0), zombie);
  expect_dead(of_zombie);
  expect_dead(of_zombie, 0);
  expect_dead(of_zombie, 2);
  expect_dead(with(pid, "0"));
  expect_dead(with(start, "1"));
  expect_dead(with(boot, "0123456789ab"));
  EXPECT_TRUE(holders().empty());
  // Also where nobody asks for the lock that they held.
  const std::string other = hold(of_zombie, 3);
  const std::string elsewhere = directory + "/other.lock" + other.substr(path.size());
  fs::rename(other, elsewhere);
  EXPECT_TRUE(is_free(Hold::shared));
  EXPECT_FALSE(fs::exists(elsewhere));
}

TEST_F(PullLock, TakesOthersForAliveAsLongAsTheyMayBe) {
  expect_alive(ours);
  expect_alive(with(start, "0"));
  const Fields machine_of_others = with(machine, "0123456789ab");
  expect_alive(machine_of_others, 3, kDay - 100);
  expect_dead(machine_of_others, 3, kDay + 100);
  expect_alive(machine_of_others, 2, 7 * kDay - 100);
  expect_dead(machine_of_others, 2, 7 * kDay + 100);
  // Of another container, whose processes can't be seen.
  Fields container = with(space, "1");
  expect_alive(container, 3, kDay - 100);
  expect_dead(container, 3, kDay + 100);
  // If it had flock, that is free by now.
  container[kind] = "n";
  expect_dead(container);
  expect_dead(container, 2);
  hold(container, 2);
  EXPECT_TRUE(is_free(Hold::shared));
  EXPECT_EQ(holders().size(), 1u);
}

TEST_F(PullLock, IgnoresWhatIsNoHolder) {
  const std::string name = name_of(ours);
  fs::create_directory(name);
  EXPECT_TRUE(is_free(Hold::exclusive));
  fs::remove(name);
  fs::create_symlink("/etc/passwd", name);
  EXPECT_TRUE(is_free(Hold::exclusive));
  EXPECT_TRUE(fs::is_symlink(name));
  fs::remove(name);
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_TRUE(is_free(Hold::exclusive));
  fs::remove(name);
  std::vector<Fields> wrong = {with(machine, "0123456789a"),
                               with(machine, "0123456789aX"),
                               with(boot, ""),
                               with(space, "-1"),
                               with(pid, "12345678901"),
                               with(pid, "1 "),
                               with(kind, "x"),
                               with(thread, "a"),
                               with(random, "0123456789abcde")};
  wrong.push_back(ours);
  wrong.back().push_back("0");
  wrong.push_back({});
  wrong.push_back(Fields(8));
  for (const Fields& fields : wrong) {
    const std::string file = fields.empty() ? path + "." : hold(fields, 3);
    std::ofstream(file, std::ios::app).flush();
    EXPECT_TRUE(is_free(Hold::exclusive)) << file;
    EXPECT_TRUE(fs::exists(file)) << file;
  }
}

TEST_F(PullLock, RefusesALockThatIsNoFile) {
  const auto expect_refused = [&] {
    const auto lock = Lock::try_take(path, Hold::exclusive);
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, Code::download_failed);
    EXPECT_NE(lock.error().message.find("can't lock"), std::string::npos);
    EXPECT_TRUE(holders().empty());
  };
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_refused();
  EXPECT_FALSE(Lock::is_held(path));
  fs::remove(path);
  fs::create_symlink("nowhere", path);
  expect_refused();
  fs::remove(path);
  fs::create_directory(path);
  expect_refused();
}

TEST_F(PullLock, ReadsWhereNothingCanBeWritten) {
  const std::string writer = hold(ours, 3);
  // Who isn't its owner may read it.
  fs::permissions(directory, fs::perms(0555));
  bool busy = false;
  {
    const Nobody nobody;
    const auto lock = Lock::try_take(path, Hold::shared);
    busy = lock && !*lock;
  }
  fs::permissions(directory, fs::perms(0755));
  fs::remove(writer);
  fs::permissions(directory, fs::perms(0555));
  bool shared = false, exclusive = false;
  {
    const Nobody nobody;
    const auto reader = Lock::try_take(path, Hold::shared);
    shared = reader && *reader;
    exclusive = Lock::try_take(path, Hold::exclusive).has_value();
  }
  fs::permissions(directory, fs::perms(0755));
  EXPECT_TRUE(busy);
  EXPECT_TRUE(shared);
  EXPECT_FALSE(exclusive);
  EXPECT_TRUE(holders().empty());
}

TEST_F(PullLock, ExcludesThreads) {
  std::atomic<int> writers = 0, readers = 0, overlaps = 0, writes = 0;
  const auto fight = [&](unsigned seed) {
    for (int round = 0; round < 200; ++round) {
      seed = seed * 1664525 + 1013904223;
      const bool writes_now = (seed >> 30) == 0;
      auto lock = taken(writes_now ? Hold::exclusive : Hold::shared);
      if (!lock) continue;
      std::atomic<int>& count = writes_now ? writers : readers;
      const int before = count++;
      if (writes_now ? before > 0 || readers > 0 : writers > 0) ++overlaps;
      if (writes_now) ++writes;
      std::this_thread::yield();
      if (writes_now ? writers > 1 || readers > 0 : writers > 0) ++overlaps;
      --count;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < 4; ++i) threads.emplace_back(fight, i);
  }
  EXPECT_EQ(overlaps, 0);
  EXPECT_GT(writes, 0);
  EXPECT_TRUE(holders().empty());
}

}  // namespace
}  // namespace sluice::pull
