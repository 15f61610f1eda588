#include "weights/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kMaxPath = 300;              // bytes of a path in a message
constexpr size_t kMaxRead = size_t{1} << 30;  // Linux reads 2 GB at most, macOS refuses more

}  // namespace

Result<File> File::open(const std::string& path) {
  // Without O_NONBLOCK the opening of a named pipe waits for someone who writes.
  File file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor_ < 0) {
    return fail(Code::bad_file, "can't open ", printable(path, kMaxPath), ": ",
                std::strerror(errno));
  }
  const auto refuse = [&](std::string_view problem) {
    return fail(Code::bad_file, "can't use ", printable(path, kMaxPath), ": ", problem);
  };
  struct stat info;
  if (::fstat(file.descriptor_, &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return refuse("it is no regular file; a GGUF file is expected");
  if (info.st_size == 0) return refuse("it is empty; a GGUF file is expected");
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Status File::read(uint64_t at, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n =
        ::pread(descriptor_, out.data(), std::min(out.size(), kMaxRead), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail(Code::bad_file, "can't read ", printable(path_, kMaxPath), " at byte ", at, ": ",
                  std::strerror(errno));
    }
    if (n == 0) {
      struct stat info;
      const bool known = ::fstat(descriptor_, &info) == 0 && info.st_size >= 0;
      const uint64_t now = known ? std::min(at, static_cast<uint64_t>(info.st_size)) : at;
      return fail(Code::bad_file, printable(path_, kMaxPath), " has ", now, " bytes; expected ",
                  size_,
                  ", as when it was opened. It was cut short while it was read: get it again");
    }
    at += static_cast<uint64_t>(n);
    out = out.subspan(static_cast<size_t>(n));
  }
  return {};
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace sluice
