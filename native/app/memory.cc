#include "app/memory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace sluice::cli {
namespace {

// A sixteenth of the available memory isn't used, at most this.
constexpr uint64_t kMostMargin = uint64_t{1} << 30;
constexpr uint64_t kMarginShare = 16;

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" is none
}

// The number after `name` in lines like "MemAvailable:   1234 kB" or "inactive_file 1234".
uint64_t number_named(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t value = 0;
    if (words >> word >> value && word == name) return value;
  }
  return 0;
}

// The files of a control group that tell its limit and usage, and the fields of its memory.stat
// that count the page cache, which can be reclaimed.
struct GroupFiles {
  const char *limit, *usage, *active_cache, *inactive_cache;
};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "active_file", "inactive_file"};
constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_active_file", "total_inactive_file"};

// What the limits of a group and of its parents leave.
uint64_t left_in_groups(const std::string& mount, std::string group, const GroupFiles& names) {
  uint64_t least = UINT64_MAX;
  while (true) {
    const std::string folder = mount + group + "/";
    const auto limit = number_in(folder + names.limit);
    const auto usage = number_in(folder + names.usage);
    if (limit && usage) {
      const std::string stat = folder + "memory.stat";
      const uint64_t cache =
          number_named(stat, names.active_cache) + number_named(stat, names.inactive_cache);
      const uint64_t used = *usage - std::min(*usage, cache);
      least = std::min(least, *limit - std::min(*limit, used));
    }
    if (group.empty()) return least;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

// /proc/self/cgroup has lines like "0::/user.slice" (version 2) and "4:memory:/docker/1234".
uint64_t left_by_groups(const std::string& root) {
  uint64_t least = UINT64_MAX;
  std::ifstream file(root + "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers == ",,") {
      least = std::min(least, left_in_groups(root + "sys/fs/cgroup", group, kVersion2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, left_in_groups(root + "sys/fs/cgroup/memory", group, kVersion1));
    }
  }
  return least;
}

}  // namespace

uint64_t available_memory(const std::string& root) {
  const uint64_t available = 1024 * number_named(root + "proc/meminfo", "MemAvailable:");
  if (available == 0) return 0;
  return std::min(available, left_by_groups(root));
}

uint64_t default_budget(uint64_t available) {
  return available - std::min(available / kMarginShare, kMostMargin);
}

}  // namespace sluice::cli
