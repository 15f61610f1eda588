#include "app/session_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <vector>

#include "app/descriptor_io.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/model.h"
#include "app/private_file.h"
#include "app/signals.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

constexpr size_t kSessionPiece = 1 << 20;
constexpr std::string_view kLongestEnding = ".chat.json.XXXXXX";  // of the names beside it

std::string session_name(const std::string& path) {
  return concat("the session's file ", printable(path, kMaxShownPath));
}

std::unexpected<Error> session_error(Code code, std::string_view what, const std::string& path,
                                     int error) {
  return fail(code, "can't ", what, " ", session_name(path), ": ", std::strerror(error));
}

std::unexpected<Error> write_error(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return session_error(full ? Code::storage_full : Code::invalid_argument, "write", path, error);
}

Status read_session(SessionReader& reader, int fd, const std::string& path) {
  std::vector<uint8_t> piece(kSessionPiece);
  while (true) {
    if (interrupted_by() != 0) return fail(Code::aborted, "interrupted");
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return session_error(Code::bad_file, "read", path, errno);
    if (n == 0) return {};
    SLUICE_TRY(reader.push(std::span(piece).first(static_cast<size_t>(n))));
  }
}

// Returns the errno of a failure, or 0.
int write_session(SessionWriter& writer, int fd) {
  std::vector<uint8_t> piece(kSessionPiece);
  while (const size_t n = writer.next(piece)) {
    const std::string_view bytes(reinterpret_cast<const char*>(piece.data()), n);
    if (const int error = write_to(fd, bytes); error != 0) return error;
  }
  return 0;
}

// Fails if the file exists and isn't a regular one or can't be read.
Status check_readable(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return session_error(Code::bad_file, "read", path, errno);
  }
  if (!S_ISREG(found.st_mode))
    return fail(Code::invalid_argument, session_name(path), " is no regular file");
  if (::access(path.c_str(), R_OK) != 0) return session_error(Code::bad_file, "read", path, errno);
  return {};
}

// Fails if the file's folder can't be written, or if the longest name beside it is too long.
Status check_folder(const std::string& path) {
  const std::filesystem::path target = target_of(path);
  if (target.filename().string().size() + kLongestEnding.size() > NAME_MAX)
    return write_error(path, ENAMETOOLONG);
  std::string folder = target.parent_path().string();
  if (folder.empty()) folder = ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return write_error(path, errno);
  return {};
}

}  // namespace

int check_session_path(const std::string& path, bool json) {
  if (const Status usable = check_readable(path); !usable) return report(usable.error(), json);
  if (const Status writable = check_folder(path); !writable) {
    report(writable.error(), json);
    return unsaved_status(writable.error());
  }
  if (const auto lock = SessionLock::take(path); !lock) return report(lock.error(), json);
  return kDone;
}

Result<SessionLock> lock_session(const std::string& path) {
  SLUICE_ASSIGN(SessionLock lock, SessionLock::take(path));
  if (!lock.trouble().empty()) {
    warn(concat(session_name(path), " can't be locked (", lock.trouble(),
                "): if another program uses it at the same time, the last to end erases what the "
                "other has added"));
  }
  return lock;
}

Result<std::unique_ptr<Session>> restore_session(Engine& engine, const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 && errno == ENOENT) return nullptr;
  struct stat found = {};
  if (file.fd < 0 || ::fstat(file.fd, &found) != 0)
    return session_error(Code::bad_file, "open", path, errno);
  SLUICE_ASSIGN(const bool identified, wait_identified(engine));
  if (!identified) return fail(Code::aborted, "interrupted");
  SessionReader reader(engine, static_cast<uint64_t>(found.st_size));
  const Status read = read_session(reader, file.fd, path);
  auto session = read ? reader.finish() : std::unexpected(read.error());
  if (session || session.error().code == Code::aborted) return session;
  return with_facts(fail(session.error().code, session_name(path), ": ", session.error().message,
                         session.error().code == Code::context_full ? " (-c N)" : ""),
                    session.error().facts);
}

Result<uint64_t> save_session(Engine& engine, const Session& session, const std::string& path) {
  SLUICE_ASSIGN(const bool identified, wait_identified(engine));
  if (!identified) return 0;
  SLUICE_ASSIGN(const auto writer, session.save());
  const int error =
      replace_file(path, [&](int descriptor) { return write_session(*writer, descriptor); });
  if (error != 0) return write_error(path, error);
  return writer->bytes();
}

int unsaved_status(const Error& error) {
  return exit_status(error.code) == kUsage ? kFailed : exit_status(error.code);
}

}  // namespace sluice::cli
