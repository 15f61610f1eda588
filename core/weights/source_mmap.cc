#include "weights/source_mmap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return fail(Code::bad_file, "can't open ", printable(path, 300), ": ", std::strerror(errno));
  }
  MappedFile mapped;
  struct stat info;
  std::string problem;
  if (::fstat(file, &info) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(info.st_mode)) {
    problem = "it is no regular file; a GGUF file is expected";
  } else if (info.st_size == 0) {
    problem = "it is empty; a GGUF file is expected";
  } else {
    const auto size = static_cast<size_t>(info.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      problem = std::strerror(errno);
    } else {
      mapped.data_ = static_cast<uint8_t*>(data);
      mapped.size_ = size;
    }
  }
  ::close(file);
  if (!problem.empty()) {
    return fail(Code::bad_file, "can't use ", printable(path, 300), ": ", problem);
  }
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace sluice
