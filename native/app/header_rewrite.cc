#include "app/header_rewrite.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "app/descriptor_io.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/file_bytes.h"
#include "app/private_file.h"
#include "base/format.h"
#include "gguf/gguf.h"

namespace sluice::cli {
namespace {

constexpr std::string_view kJournalMagic = "sluice edit 1\n";
constexpr size_t kJournalHead = kJournalMagic.size() + 16;
constexpr size_t kMostJournal = size_t{1} << 30;  // two headers of the most that is read

std::span<const uint8_t> as_span(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::unexpected<Error> cannot_edit(const std::string& path, Code code, std::string_view why) {
  return fail(code, "can't edit ", printable(path, kMaxShownPath), ": ", why);
}

// What the system doesn't let be written.
std::unexpected<Error> cannot_write(const std::string& path, std::string_view why) {
  return unwritable(cannot_edit(path, Code::invalid_argument, why).error(),
                    std::filesystem::path(target_of(path)).parent_path().string());
}

struct Journal {
  uint64_t file_size = 0;
  std::string before, after;  // of the same size
};

std::string journal_bytes(const Journal& journal) {
  std::string out(kJournalMagic);
  for (const uint64_t number : {journal.file_size, uint64_t{journal.before.size()}})
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  return out + journal.before + journal.after;
}

// Nothing: it is no journal, or one that somebody else could have put there: whoever may write in
// the folder can't change a file of `owner` otherwise.
std::optional<Journal> read_journal(const std::string& path, uid_t owner) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
  struct stat found = {};
  if (file.fd < 0 || ::fstat(file.fd, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  if (found.st_uid != owner && found.st_uid != ::geteuid() && found.st_uid != 0)
    return std::nullopt;
  std::string bytes;
  if (read_from(file.fd, kMostJournal, bytes) != 0 || bytes.size() < kJournalHead ||
      !bytes.starts_with(kJournalMagic))
    return std::nullopt;
  uint64_t numbers[2];
  std::memcpy(numbers, bytes.data() + kJournalMagic.size(), sizeof numbers);
  const size_t both = bytes.size() - kJournalHead;
  if (numbers[1] > kMostJournal || both != 2 * numbers[1]) return std::nullopt;
  return Journal{numbers[0], bytes.substr(kJournalHead, both / 2),
                 bytes.substr(kJournalHead + both / 2)};
}

// An open file of which no other program rewrites the header.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) : file_(open(path, write_error_)) {}

  // Returns 0 or an errno; EWOULDBLOCK: another program has it.
  int lock() {
    if (file_.fd < 0) return write_error_;
    if (::flock(file_.fd, LOCK_EX | LOCK_NB) != 0) return errno;
    struct stat found = {};
    if (::fstat(file_.fd, &found) != 0) return errno;
    if (!S_ISREG(found.st_mode)) return EINVAL;
    size_ = static_cast<uint64_t>(found.st_size);
    owner_ = found.st_uid;
    return 0;
  }
  uid_t owner() const { return owner_; }
  uint64_t size() const { return size_; }
  // 0, or the errno that tells why it can only be read.
  int write_error() const { return write_error_; }
  // The first `n` bytes, or fewer if it has no more. Nothing: errno tells why.
  std::optional<std::string> begin(size_t n) const {
    std::string out(n, '\0');
    size_t done = 0;
    while (done < n) {
      const ssize_t got = ::pread(file_.fd, out.data() + done, n - done, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::nullopt;
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    out.resize(done);
    return out;
  }
  // Writes the file's first bytes and waits until they are on the disk. Returns 0 or an errno.
  int write(std::string_view bytes) const {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n =
          ::pwrite(file_.fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      done += static_cast<size_t>(n);
    }
    return ::fsync(file_.fd) == 0 ? 0 : errno;
  }

 private:
  static int open(const std::string& path, int& write_error) {
    const int both = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    write_error = both < 0 ? errno : 0;
    return both >= 0 ? both : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  }

  int write_error_ = 0;  // set before file_
  const Descriptor file_;
  uint64_t size_ = 0;
  uid_t owner_ = 0;
};

// Each byte is the old or the new one, and the new header is one of a file of this size.
bool is_of(const Journal& journal, std::string_view header, uint64_t file_size) {
  if (journal.file_size != file_size || header.size() != journal.after.size()) return false;
  for (size_t i = 0; i < header.size(); ++i)
    if (header[i] != journal.before[i] && header[i] != journal.after[i]) return false;
  return parse_gguf(as_span(journal.after), file_size).has_value();
}

void remove_journal(const std::string& journal) {
  ::unlink(journal.c_str());
  const std::string folder = std::filesystem::path(journal).parent_path().string();
  const Descriptor descriptor{
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.fd >= 0) ::fsync(descriptor.fd);
}

constexpr std::string_view kOtherEdits = "another program is editing it; try again";

}  // namespace

Status rewrite_header(const std::string& path, std::string_view before, std::string_view after) {
  SLUICE_TRY(finish_rewrite(path));
  const std::string target = target_of(path);
  LockedFile file(target);
  const int locked = file.lock();
  if (locked == EWOULDBLOCK) return cannot_edit(path, Code::busy, kOtherEdits);
  if (const int error = locked != 0 ? locked : file.write_error(); error != 0)
    return cannot_write(path, std::strerror(error));
  if (file.begin(before.size()) != before)
    return cannot_edit(path, Code::busy, "another program has changed it; try again");
  const std::string journal = target + ".edit";
  if (::access(journal.c_str(), F_OK) == 0 && !read_journal(journal, file.owner())) {
    return cannot_edit(path, Code::invalid_argument,
                       concat("it keeps its old header in ", printable(journal, kMaxShownPath),
                              ", which is another file; rename that"));
  }
  SLUICE_ASSIGN(OutputFile kept, OutputFile::create(journal, OutputFile::Replaces::any));
  SLUICE_TRY(
      kept.append(as_span(journal_bytes({file.size(), std::string(before), std::string(after)}))));
  SLUICE_TRY(kept.commit());
  if (const int error = file.write(after); error != 0) {
    return cannot_write(path, concat(std::strerror(error), ". The next command that opens it will ",
                                     "try to finish that"));
  }
  remove_journal(journal);
  return {};
}

Status finish_rewrite(const std::string& path) {
  const std::string target = target_of(path), journal = target + ".edit";
  if (::access(journal.c_str(), F_OK) != 0) return {};
  const std::string name = printable(path, kMaxShownPath);
  LockedFile file(target);
  const int locked = file.lock();
  if (locked == EWOULDBLOCK) return fail(Code::busy, name, ": ", kOtherEdits);
  if (locked != 0) return {};  // whoever opens it will tell why
  // Under the lock a journal is one of a rewrite that was broken off.
  const auto kept = read_journal(journal, file.owner());
  if (!kept) return {};
  const auto header = file.begin(kept->after.size());
  if (!header || !is_of(*kept, *header, file.size())) return {};
  if (*header != kept->after) {
    if (file.write_error() != 0 && *header == kept->before) return {};  // it can be used as it was
    const int error = file.write_error() != 0 ? file.write_error() : file.write(kept->after);
    if (error != 0) {
      return fail(Code::bad_file, name, ": an edit of it was broken off, and can't be finished ",
                  "here: ", std::strerror(error),
                  ". Run any command with it where it can be written");
    }
    note(concat(name, ": an edit of it that was broken off is finished"));
  }
  remove_journal(journal);
  return {};
}

}  // namespace sluice::cli
