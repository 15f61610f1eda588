// File descriptors, and reading and writing whole texts with them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::cli {

// It is closed at the end; -1: none.
struct Descriptor {
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int fd;
};

// Both go on after a signal, and wait for a descriptor that doesn't block.
// Writes all of the text. Returns 0 or an errno.
int write_to(int descriptor, std::string_view text);
// Appends what can be read to `text`, until its end or until `text` has more than `max_bytes`.
// Returns 0 or an errno.
int read_from(int descriptor, size_t max_bytes, std::string& text);

}  // namespace sluice::cli
