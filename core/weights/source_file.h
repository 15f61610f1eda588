// A file on disk, a source of weights: read piece by piece.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/threads.h"
#include "weights/weights.h"

namespace sluice {

class File {
 public:
  // bad_file, with the system's reason, where the file can't be opened, is no regular file or is
  // empty. Never waits: not for the writer of a pipe either.
  static Result<File> open(const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  uint64_t size() const { return size_; }  // in bytes, when it was opened
  // Fills `out` with the bytes from `at` on. bad_file, with the system's reason, where they can't
  // be read, and with both sizes where the file has become shorter. Several threads may call it at
  // once.
  Status read(uint64_t at, std::span<uint8_t> out) const;

 private:
  File(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;  // for messages
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// Brings all that the weights want now from `file`, in the file's order; all workers of the pool
// read and pack, but for the one that does `meanwhile` first. Fails as File::read and
// Weights::filled do; of several failures the first in the file counts. What has been read is added
// to `bytes_read`.
Status read_weights(const File& file, Weights& weights, Pool& pool,
                    const std::function<void()>& meanwhile,
                    std::atomic<uint64_t>* bytes_read = nullptr);

}  // namespace sluice
