#include "app/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "app/exit_status.h"
#include "app/header_rewrite.h"
#include "app/private_file.h"
#include "base/format.h"
#include "engine/read_header.h"

namespace sluice::cli {

Result<DiskFile> DiskFile::open(const std::string& path, std::string_view expected) {
  SLUICE_ASSIGN(File file, File::open(path, expected));
  return DiskFile(std::move(file));
}

Status DiskFile::read(uint64_t at, std::span<uint8_t> out) {
  if (at > size() || out.size() > size() - at)
    return fail(Code::bad_file, "the file ends at byte ", size(), "; bytes ", at, " to ",
                at + out.size(), " were expected");
  return file_.read(at, out);
}

Result<DiskModel> DiskModel::open(const std::vector<std::string>& paths) {
  SLUICE_TRY(finish_rewrite(paths.front()));
  SLUICE_ASSIGN(ModelFiles files, ModelFiles::open(paths));
  SLUICE_ASSIGN(Gguf header, read_header(files));
  return DiskModel(std::move(files), std::move(header));
}

Status DiskModel::read(uint64_t at, std::span<uint8_t> out) {
  // The file that has the first byte: the last one that begins at or before it.
  const auto after = std::ranges::upper_bound(header_.files, at, {}, &FilePlace::begin);
  for (auto place = after - 1; !out.empty(); ++place) {
    if (place == header_.files.end()) return fail(Code::bad_file, "the model ends at byte ", at);
    const auto n =
        static_cast<size_t>(std::min<uint64_t>(out.size(), place->begin + place->bytes - at));
    SLUICE_TRY(files_.file(static_cast<size_t>(place - header_.files.begin()))
                   .read(at - place->begin, out.first(n)));
    at += n;
    out = out.subspan(n);
  }
  return {};
}

namespace {

// The folder that the file will be in.
std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// What a file that is replaced hands on: who may read and write it.
constexpr mode_t kPermissions = 0777;

// A name beside the file. It is no longer than the file's own where that is as long as names may
// be.
std::string name_beside(const std::string& path, std::string_view ending) {
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string();
  const size_t kept = name.size() - std::min(name.size(), ending.size());
  const bool fits = name.size() + ending.size() <= NAME_MAX;
  return whole.parent_path() / concat(fits ? name : name.substr(0, kept), ending);
}

// A kind of files, by how they begin.
struct Kind {
  std::string_view magic;
  std::string_view name;
};

Kind kind_of(OutputFile::Replaces replaces) {
  switch (replaces) {
    case OutputFile::Replaces::npy:
      return {"\x93NUMPY", ".npy"};
    case OutputFile::Replaces::npz:
      return {"PK\x03\x04", ".npz"};
    case OutputFile::Replaces::sidecar:
      return {OutputFile::kSidecar, "JSON of sluice probe"};
    case OutputFile::Replaces::trace:
      return {R"({"event":"trace",)", "trace"};
    default:
      return {"GGUF", "GGUF"};
  }
}

// Whether the file, which isn't empty, begins so.
Result<bool> begins_with(const std::string& path, std::string_view magic) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return fail(Code::invalid_argument, std::strerror(errno));
  std::string start(magic.size(), '\0');
  const ssize_t n = ::pread(file.fd, start.data(), start.size(), 0);
  if (n < 0) return fail(Code::invalid_argument, std::strerror(errno));
  return std::string_view(start.data(), static_cast<size_t>(n)) == magic;
}

// Why what is there, with this status, isn't to be replaced, or "".
std::string why_kept(const std::string& target, const struct stat& found,
                     OutputFile::Replaces replaces) {
  if (S_ISDIR(found.st_mode)) return "it is a folder; name a file in it";
  if (!S_ISREG(found.st_mode)) return "it is no regular file";
  if (replaces == OutputFile::Replaces::any || found.st_size == 0) return "";
  const Kind kind = kind_of(replaces);
  const auto same = begins_with(target, kind.magic);
  if (!same)
    return concat("a file is there that can't be read (", same.error().message,
                  "); name another file or remove it");
  return *same ? ""
               : concat("a file of another kind is there, no ", kind.name,
                        "; name another file or remove it");
}

// Why no file can be made in the folder, by the system's reason.
std::string why_not_made(const std::string& folder, int error) {
  struct stat found = {};
  if (error == ENOENT && ::stat(folder.c_str(), &found) == 0)  // as /proc, which takes no files
    return concat("no file can be made in ", printable(folder, kMaxShownPath), ": ",
                  std::strerror(error));
  if (error == ENOENT)
    return concat("the folder ", printable(folder, kMaxShownPath), " isn't there; make it first");
  if (error == ENOTDIR) return concat(printable(folder, kMaxShownPath), " is no folder");
  return std::strerror(error);
}

}  // namespace

namespace {

std::unexpected<Error> refused(const std::string& path, std::string_view why) {
  return fail(Code::invalid_argument, "can't write ", printable(path, kMaxShownPath), ": ", why);
}

// By an errno: no file can be made for `target`.
std::unexpected<Error> not_made(const std::string& path, const std::string& target, int error) {
  const std::string folder = folder_of(target);
  return unwritable(refused(path, why_not_made(folder, error)).error(), folder);
}

// The status of the file that an output replaces; none: there is no file. Fails if it isn't
// replaced.
Result<std::optional<struct stat>> replaced_file(const std::string& path, const std::string& target,
                                                 OutputFile::Replaces replaces) {
  if (path.empty()) return fail(Code::invalid_argument, "can't write a file: its name is empty");
  if (path == "-") return refused(path, "standard output can't take it; name a file");
  struct stat found = {};
  if (::stat(target.c_str(), &found) != 0) {
    if (errno != ENOENT) return not_made(path, target, errno);
    return std::nullopt;
  }
  if (const std::string why = why_kept(target, found, replaces); !why.empty())
    return refused(path, why);
  return found;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, Replaces replaces) {
  const std::string target = target_of(path);
  SLUICE_ASSIGN(const std::optional<struct stat> found, replaced_file(path, target, replaces));
  const std::string folder = folder_of(target);
#ifdef O_TMPFILE
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (nameless >= 0) {
    if (found) ::fchmod(nameless, found->st_mode & kPermissions);
    return OutputFile(target, "", nameless);
  }
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)
    return not_made(path, target, errno);
#endif
  std::string temporary = name_beside(target, ".XXXXXX");
  const int named = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (named < 0) return not_made(path, target, errno);
  // As a file that is opened gets them.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(named, found ? found->st_mode & kPermissions : 0666 & ~mask);
  return OutputFile(target, std::move(temporary), named);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::unexpected<Error> OutputFile::failed(int error) const {
  const bool full = error == ENOSPC || error == EDQUOT;
  const std::unexpected<Error> failure =
      fail(full ? Code::storage_full : Code::invalid_argument, "can't write ",
           printable(path_, kMaxShownPath), ": ", std::strerror(error),
           full ? concat(" after ", human_bytes(written_),
                         ". Nothing of it was kept: make room and try again")
                : std::string());
  return unwritable(failure.error(), folder_of(path_));
}

Status OutputFile::append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n =
        ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    written_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status OutputFile::commit() {
  if (::fsync(descriptor_) != 0) return failed(errno);
  if (temporary_.empty()) {
    // A file without a name gets one that doesn't exist yet: its own, or if there is a file of that
    // name, another, because only a file with a name can replace one.
    const std::string self = concat("/proc/self/fd/", descriptor_);
    std::string name = path_;
    for (int i = 0;
         ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0; ++i) {
      if (errno != EEXIST) return failed(errno);
      name = name_beside(path_, concat(".", ::getpid(), "-", i));
    }
    if (name != path_) temporary_ = std::move(name);
  }
  if (!temporary_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  // The name is on the disk when the folder is. Not every file system can do that.
  const Descriptor folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) ::fsync(folder.fd);
  return {};
}

Result<GrowingFile> GrowingFile::create(const std::string& path, OutputFile::Replaces replaces) {
  const std::string target = target_of(path);
  SLUICE_TRY(replaced_file(path, target, replaces));
  const int descriptor = ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return not_made(path, target, errno);
  return GrowingFile(target, descriptor);
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

GrowingFile::~GrowingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status GrowingFile::append(std::string_view text) {
  const int error = write_to(descriptor_, text);
  if (error == 0) return {};
  const bool full = error == ENOSPC || error == EDQUOT;
  const std::unexpected<Error> failure =
      fail(full ? Code::storage_full : Code::invalid_argument, "can't write ",
           printable(path_, kMaxShownPath), ": ", std::strerror(error),
           ". What was written before stays");
  return unwritable(failure.error(), folder_of(path_));
}

}  // namespace sluice::cli
