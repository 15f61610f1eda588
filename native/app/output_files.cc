#include "app/output_files.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "app/private_file.h"
#include "app/text.h"
#include "base/format.h"
#include "weights/source_file.h"

namespace sluice::cli {

Result<std::vector<std::string>> split_output_paths(const std::string& path, size_t n_files) {
  const std::vector<std::string> named = model_paths(path);
  if (named.size() == n_files) return named;
  if (named.size() > 1) {
    return fail(Code::invalid_argument, printable(path, kMaxShownPath),
                " is the name of a file of a model that is split into ", named.size(),
                "; this one would have ", counted(n_files, "file"), ". Choose another name");
  }
  constexpr std::string_view kEnding = ".gguf";
  const std::string stem =
      path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
  std::vector<std::string> paths;
  for (size_t i = 0; i < n_files; ++i)
    paths.push_back(concat(stem, format("-%05zu-of-%05zu.gguf", i + 1, n_files)));
  return paths;
}

Status check_other_files(const std::vector<std::string>& written,
                         const std::vector<std::string>& read) {
  for (const std::string& path : written) {
    struct stat target = {};
    if (::stat(path.c_str(), &target) != 0) continue;
    for (const std::string& source : read) {
      struct stat found = {};
      if (::stat(source.c_str(), &found) != 0) continue;
      if (found.st_dev == target.st_dev && found.st_ino == target.st_ino)
        return fail(Code::invalid_argument, printable(path, kMaxShownPath),
                    " is the file that is read; name another for the output");
    }
  }
  return {};
}

Status check_room(const std::string& path, uint64_t bytes) {
  const std::filesystem::path parent = std::filesystem::path(target_of(path)).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  struct statvfs info = {};
  if (::statvfs(folder.c_str(), &info) != 0) return {};  // creating the file tells why
  if (info.f_blocks == 0) return {};  // one without a size, as /proc or a tmpfs without a limit
  const uint64_t free = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  if (bytes <= free) return {};
  return with_facts(
      fail(Code::storage_full, "there is no room: ", printable(path, kMaxShownPath), " takes ",
           human_bytes(bytes, true), ", and ", printable(folder, kMaxShownPath), " has ",
           human_bytes(free), " free. Make room, or choose another folder"),
      {{"neededBytes", bytes}, {"availableBytes", free}, {"directory", folder}});
}

}  // namespace sluice::cli
