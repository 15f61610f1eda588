// The memory that the program finds free: Linux's own figure and the limits of control groups.
#include "app/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

// A folder with these files, which is removed at the end.
class Root {
 public:
  explicit Root(const std::map<std::string, std::string>& files) {
    std::string pattern = testing::TempDir() + "sluice-root-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern + "/";
    for (const auto& [name, text] : files) {
      fs::create_directories(fs::path(path_ + name).parent_path());
      std::ofstream(path_ + name) << text;
    }
  }
  ~Root() { fs::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

uint64_t available(const std::map<std::string, std::string>& files) {
  return available_memory(Root(files).path());
}

constexpr char kMeminfo[] =
    "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   8000000 kB\n";
constexpr uint64_t kAvailable = uint64_t{8000000} * 1024;

TEST(AvailableMemory, IsWhatLinuxSays) {
  EXPECT_EQ(available({{"proc/meminfo", kMeminfo}}), kAvailable);
  EXPECT_EQ(available({{"proc/meminfo", kMeminfo}, {"proc/self/cgroup", "0::/\n"}}), kAvailable);
  EXPECT_GT(available_memory(), 0u);  // of this machine
}

TEST(AvailableMemory, IsUnknownWithoutFigures) {
  EXPECT_EQ(available({}), 0u);
  EXPECT_EQ(available({{"proc/meminfo", "MemAvailable: lots\n"}}), 0u);
  EXPECT_EQ(default_budget(0), 0u);
}

TEST(AvailableMemory, IsWhatControlGroupsLeave) {
  // Of 1000 MB 700 are used, 300 of them for files; the group around it has no limit.
  const std::map<std::string, std::string> version2 = {
      {"proc/meminfo", kMeminfo},
      {"proc/self/cgroup", "0::/outer/inner\n"},
      {"sys/fs/cgroup/outer/memory.max", "max\n"},
      {"sys/fs/cgroup/outer/memory.current", "900000000\n"},
      {"sys/fs/cgroup/outer/inner/memory.max", "1000000000\n"},
      {"sys/fs/cgroup/outer/inner/memory.current", "700000000\n"},
      {"sys/fs/cgroup/outer/inner/memory.stat",
       "anon 400000000\nactive_file 100000000\ninactive_file 200000000\n"}};
  EXPECT_EQ(available(version2), 600000000u);
  auto tighter = version2;
  tighter["sys/fs/cgroup/outer/memory.max"] = "1000000000\n";
  EXPECT_EQ(available(tighter), 100000000u);
  // Version 1, seen from inside a container: the group is the root of what is mounted.
  EXPECT_EQ(available({{"proc/meminfo", kMeminfo},
                       {"proc/self/cgroup", "5:cpu:/\n4:memory:/docker/1\n0::/\n"},
                       {"sys/fs/cgroup/memory/memory.limit_in_bytes", "500000000\n"},
                       {"sys/fs/cgroup/memory/memory.usage_in_bytes", "200000000\n"},
                       {"sys/fs/cgroup/memory/memory.stat", "total_inactive_file 50000000\n"}}),
            350000000u);
  // A limit above what is free changes nothing.
  auto loose = version2;
  loose["sys/fs/cgroup/outer/inner/memory.max"] = "9223372036854771712\n";
  EXPECT_EQ(available(loose), kAvailable);
}

TEST(AvailableMemory, SurvivesOddFiles) {
  for (const char* groups : {"", "x\n", "0:\n", "0::\n", "0::none\n", "::::\n", "0::/a//b/\n"}) {
    EXPECT_EQ(available({{"proc/meminfo", kMeminfo}, {"proc/self/cgroup", groups}}), kAvailable)
        << groups;
  }
}

TEST(DefaultBudget, LeavesSomethingForOthers) {
  EXPECT_EQ(default_budget(16000000000), 15000000000u);
  EXPECT_EQ(default_budget(uint64_t{1} << 40), (uint64_t{1} << 40) - (uint64_t{1} << 30));
}

}  // namespace
}  // namespace sluice::cli
