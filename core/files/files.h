// Files of models without running them: written, quantized, converted, edited, compared. This is
// the room's public header. The program uses it; the modules that a page loads have nothing of it.
//
// All of it goes through files by pieces, never by whole tensors, and takes a Pool for its work.
#pragma once  // face

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// --- bytes in and out ----------------------------------------------------------------------------

// A file's bytes, read at any offset. Threads may read at the same time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;  // in bytes
  // Fills `out` with the bytes from `at` on. Fails with bad_file if they aren't there.
  virtual Status read(uint64_t at, std::span<uint8_t> out) = 0;
};

// A file that is written from its beginning to its end. Whoever made it decides what becomes of it.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Writes all of `bytes` behind those before. Fails with storage_full or invalid_argument.
  virtual Status append(std::span<const uint8_t> bytes) = 0;
};

// How far a work is: bytes of the output, or of what is read if there is none.
struct FileProgress {
  uint64_t done = 0;
  uint64_t total = 0;
  std::string_view tensor;  // the one that is worked on
};
// Called between pieces of work, on the thread that called the work. False ends it with `aborted`.
using OnFileProgress = std::function<bool(const FileProgress&)>;

}  // namespace sluice
