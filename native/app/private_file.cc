#include "app/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "app/descriptor_io.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

// A file that is removed at the end, also when the memory has ended, unless it was kept.
struct Temporary {
  std::string path;
  bool kept = false;
  ~Temporary() {
    if (!kept) ::unlink(path.c_str());
  }
};

std::unexpected<Error> cannot(Code code, std::string_view what, const std::string& path,
                              std::string_view why) {
  return fail(code, "can't ", what, " ", printable(path, kMaxShownPath), ": ", why);
}

std::unexpected<Error> cannot_write(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return cannot(full ? Code::storage_full : Code::invalid_argument, "write", path,
                std::strerror(error));
}

}  // namespace

std::string target_of(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

int replace_file(const std::string& path, const std::function<int(int)>& write) {
  const std::string target = target_of(path);
  std::string name = target + ".XXXXXX";
  const Descriptor file{::mkostemp(name.data(), O_CLOEXEC)};
  if (file.fd < 0) return errno;
  Temporary temporary{std::move(name)};
  if (const int error = write(file.fd); error != 0) return error;
  if (::fsync(file.fd) != 0) return errno;
  if (::rename(temporary.path.c_str(), target.c_str()) != 0) return errno;
  temporary.kept = true;
  return 0;
}

Result<std::string> read_whole_file(const std::string& path, size_t max_bytes) {
  // A pipe without a writer would block.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat found = {};
  if (file.fd < 0 || ::fstat(file.fd, &found) != 0)
    return cannot(Code::bad_file, "open", path, std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return cannot(Code::bad_file, "read", path, "it is no regular file");
  std::string text;
  if (const int error = read_from(file.fd, max_bytes, text); error != 0)
    return cannot(Code::bad_file, "read", path, std::strerror(error));
  if (text.size() > max_bytes)
    return cannot(Code::bad_file, "read", path,
                  concat("it has more than ", human_bytes(max_bytes)));
  return text;
}

Status write_private_file(const std::string& path, std::string_view text) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
    return cannot(Code::invalid_argument, "write", path, "it is no regular file");
  const int error = replace_file(path, [text](int fd) { return write_to(fd, text); });
  if (error != 0) return cannot_write(path, error);
  return {};
}

bool make_private_folder(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) == 0) return S_ISDIR(found.st_mode);
  const std::string above = std::filesystem::path(path).parent_path().string();
  if (above.empty() || above == path || !make_private_folder(above)) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace sluice::cli
