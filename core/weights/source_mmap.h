// A file mapped into memory, to be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace sluice {

class MappedFile {
 public:
  // bad_file, with the system's reason, where the file can't be opened, is no regular file or is
  // empty.
  static Result<MappedFile> open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid while this object lives.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sluice
