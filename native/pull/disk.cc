#include "pull/disk.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/xxh64.h"

namespace sluice::pull {

int write_at(int fd, uint64_t at, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    at += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return 0;
}

ssize_t read_at(int fd, uint64_t at, std::span<uint8_t> out) {
  size_t got = 0;
  while (got < out.size()) {
    const ssize_t n = ::pread(fd, out.data() + got, out.size() - got, static_cast<off_t>(at + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(got);
}

uint64_t hash_of(std::span<const uint8_t> bytes) {
  const uint64_t hash = xxh64(bytes);
  return hash == 0 ? 1 : hash;
}

uint64_t free_bytes(const std::string& directory) {
  struct statvfs info;
  if (::statvfs(directory.c_str(), &info) != 0) return UINT64_MAX;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

}  // namespace sluice::pull
