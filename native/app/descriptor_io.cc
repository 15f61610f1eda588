#include "app/descriptor_io.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace sluice::cli {
namespace {

// After a failed read() or write(): true if it should be tried again.
bool try_again(int fd, short direction) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    pollfd ready = {fd, direction, 0};
    ::poll(&ready, 1, -1);
    return true;
  }
  return errno == EINTR;
}

}  // namespace

int write_to(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && try_again(descriptor, POLLOUT)) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

int read_from(int descriptor, size_t max_bytes, std::string& text) {
  char block[64 << 10];
  while (text.size() <= max_bytes) {
    const ssize_t n = ::read(descriptor, block, sizeof block);
    if (n < 0 && try_again(descriptor, POLLIN)) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    text.append(block, static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace sluice::cli
