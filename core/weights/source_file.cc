#include "weights/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/format.h"

namespace sluice {
namespace {

constexpr size_t kPieceBytes = 128 * 1024;    // read at once by a worker: stays in its cache
constexpr size_t kMaxPath = 300;              // bytes of a path in a message
constexpr size_t kMaxRead = size_t{1} << 30;  // Linux reads 2 GB at most, macOS refuses more

}  // namespace

Result<File> File::open(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe waits for a writer.
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

uint64_t ModelFiles::size() const {
  uint64_t sum = 0;
  for (const File& file : files_) sum += file.size();
  return sum;
}

namespace {

// What read_weights() shares among the workers.
struct ReadJob {
  const ModelFiles& files;
  std::span<const FilePlace> places;  // of the files
  Weights& weights;
  const std::function<void()>& meanwhile;
  std::atomic<uint64_t>* bytes_read;
  std::vector<Want> pieces;           // in the file's order
  std::vector<Status> failures;       // the first failure of each worker
  std::vector<size_t> failed;         // its piece, or SIZE_MAX
  std::atomic<size_t> end{SIZE_MAX};  // pieces from here on aren't read any more

  // Item 0 is the call of meanwhile(), item i + 1 is piece i.
  void work(int worker, Share mine) {
    if (mine.begin == 0) meanwhile();
    read(worker, static_cast<size_t>(std::max<int64_t>(mine.begin, 1) - 1),
         static_cast<size_t>(std::max<int64_t>(mine.end, 1) - 1));
  }
  // No piece lies in two files, because no tensor does.
  Status read_from_file(const Want& piece) const {
    const auto after = std::ranges::upper_bound(places, piece.offset, {}, &FilePlace::begin);
    const auto index = static_cast<size_t>(after - places.begin()) - 1;
    return files.file(index).read(piece.offset - places[index].begin, piece.place);
  }
  void read(int worker, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      if (i >= end.load(std::memory_order_relaxed)) return;
      const Want& piece = pieces[i];
      Status status = read_from_file(piece);
      if (status && bytes_read != nullptr) {
        bytes_read->fetch_add(piece.place.size(), std::memory_order_relaxed);
      }
      if (status) status = weights.filled(piece.offset, piece.place.size());
      if (status) continue;
      const auto at = static_cast<size_t>(worker);
      if (i >= failed[at]) return;
      failed[at] = i;
      failures[at] = std::move(status);
      size_t known = end.load(std::memory_order_relaxed);
      while (known > i && !end.compare_exchange_weak(known, i)) {
      }
      return;
    }
  }
};

}  // namespace

Status read_weights(const ModelFiles& files, std::span<const FilePlace> places, Weights& weights,
                    Pool& pool, const std::function<void()>& meanwhile,
                    std::atomic<uint64_t>* bytes_read) {
  ReadJob job{files, places, weights, meanwhile, bytes_read, {}, {}, {}};
  for (const Want& want : weights.wants(UINT64_MAX)) {
    // A piece is whole strips, so that the worker that reads it packs it.
    const uint64_t size = std::max<uint64_t>(kPieceBytes / want.unit, 1) * want.unit;
    for (uint64_t at = 0; at < want.place.size(); at += size) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(size, want.place.size() - at));
      job.pieces.push_back(
          {want.offset + at, want.place.subspan(static_cast<size_t>(at), n), want.unit});
    }
  }
  std::ranges::sort(job.pieces, {}, &Want::offset);
  job.failures.resize(static_cast<size_t>(pool.size()));
  job.failed.resize(static_cast<size_t>(pool.size()), SIZE_MAX);
  ReadJob* const shared = &job;
  Pool* const workers = &pool;
  const auto n_items = static_cast<int64_t>(job.pieces.size()) + 1;
  workers->run([shared, workers, n_items](int worker) {
    workers->parallel_for(worker, n_items, [&](Share mine) { shared->work(worker, mine); });
  });
  const auto first = std::ranges::min_element(job.failed);
  return std::move(job.failures[static_cast<size_t>(first - job.failed.begin())]);
}

}  // namespace sluice
