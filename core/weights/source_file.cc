#include "weights/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxRead = size_t{1} << 30;  // Linux reads 2 GB at most, macOS refuses more

}  // namespace

Result<File> File::open(const std::string& path, std::string_view expected) {
  // Without O_NONBLOCK, opening a named pipe waits for a writer.
  File file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor_ < 0) {
    return fail(Code::bad_file, "can't open ", printable(path, kMaxShownPath), ": ",
                std::strerror(errno));
  }
  const auto refuse = [&](std::string_view problem) {
    return fail(Code::bad_file, "can't use ", printable(path, kMaxShownPath), ": ", problem);
  };
  struct stat info;
  if (::fstat(file.descriptor_, &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return refuse(concat("it is no regular file; ", expected, " is expected"));
  if (info.st_size == 0) return refuse(concat("it is empty; ", expected, " is expected"));
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

Status File::read(uint64_t at, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n =
        ::pread(descriptor_, out.data(), std::min(out.size(), kMaxRead), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail(Code::bad_file, "can't read ", printable(path_, kMaxShownPath), " at byte ", at,
                  ": ", std::strerror(errno));
    }
    if (n == 0) {
      struct stat info;
      const bool known = ::fstat(descriptor_, &info) == 0 && info.st_size >= 0;
      const uint64_t now = known ? std::min(at, static_cast<uint64_t>(info.st_size)) : at;
      return fail(Code::bad_file, printable(path_, kMaxShownPath), " has ", now,
                  " bytes; expected ", size_,
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

namespace {

// Five digits from text[at] on as a number; -1 if they are none.
int five_digits(std::string_view text, size_t at) {
  int number = 0;
  for (const char c : text.substr(at, 5)) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

}  // namespace

std::vector<std::string> model_paths(const std::string& path) {
  constexpr std::string_view kEnding = "-00001-of-00001.gguf";
  if (path.size() < kEnding.size()) return {path};
  const std::string_view ending = std::string_view(path).substr(path.size() - kEnding.size());
  const int number = five_digits(ending, 1);
  const int n_files = five_digits(ending, 10);
  const bool split = ending[0] == '-' && ending.substr(6, 4) == "-of-" &&
                     ending.substr(15) == ".gguf" && number >= 1 && number <= n_files &&
                     n_files <= 999;
  if (!split) return {path};
  std::vector<std::string> paths;
  for (int i = 1; i <= n_files; ++i) {
    const std::string digits = std::to_string(i);
    std::string& one = paths.emplace_back(path);
    one.replace(path.size() - ending.size() + 1, 5, std::string(5 - digits.size(), '0') + digits);
  }
  return paths;
}

Result<ModelFiles> ModelFiles::open(const std::string& path) { return open(model_paths(path)); }

Result<ModelFiles> ModelFiles::open(const std::vector<std::string>& paths) {
  std::vector<File> files;
  for (size_t i = 0; i < paths.size(); ++i) {
    auto file = File::open(paths[i]);
    if (!file && paths.size() > 1) {
      return fail(file.error().code, file.error().message, " (the model is split into ",
                  paths.size(), " files; all of them are needed, in one folder)");
    }
    if (!file) return std::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return ModelFiles(std::move(files));
}

std::vector<uint64_t> ModelFiles::sizes() const {
  std::vector<uint64_t> sizes;
  for (const File& file : files_) sizes.push_back(file.size());
  return sizes;
}

void ModelFiles::make_copies(uint64_t bytes) {
  if (!copy_maker_) return;
  for (size_t i = 0; i < files_.size(); ++i) copies_.push_back(copy_maker_(i, bytes));
}

uint64_t ModelFiles::size() const {
  uint64_t sum = 0;
  for (const File& file : files_) sum += file.size();
  return sum;
}

}  // namespace sluice
