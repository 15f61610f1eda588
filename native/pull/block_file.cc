#include "pull/block_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "pull/disk.h"
#include "pull/packed_copy.h"

namespace sluice::pull {
namespace {

constexpr uint64_t kMostJournal = kTableOffset + 8 * kMaxBlocks;

Result<Journal> load_journal(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    return fail(Code::download_failed, "can't read ", printable(path, kMaxShownPath), ": ",
                std::strerror(errno));
  }
  std::vector<uint8_t> bytes(
      std::min<uint64_t>(static_cast<uint64_t>(std::max<off_t>(info.st_size, 0)), kMostJournal));
  const ssize_t n = read_at(fd, 0, bytes);
  if (n < 0) {
    return fail(Code::download_failed, "can't read ", printable(path, kMaxShownPath), ": ",
                std::strerror(errno));
  }
  bytes.resize(static_cast<size_t>(n));
  Journal journal = read_journal(bytes);
  if (journal.newer) {
    return fail(Code::download_failed, printable(path, kMaxShownPath),
                " was written by a newer version of Sluice, so it is left alone; use that version, "
                "or remove the entry with sluice cache delete");
  }
  return journal;
}

}  // namespace

bool make_room(const std::string& directory, uint64_t bytes) {
  if (bytes <= free_bytes(directory)) return true;
  remove_copies(directory);
  return bytes <= free_bytes(directory);
}

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string key_of(std::string_view address) { return sha256_of(address).substr(0, 32); }

EntryPaths::EntryPaths(const std::string& directory, const std::string& key)
    : data(concat(directory, "/", key, ".gguf")),
      part(concat(directory, "/", key, ".part")),
      journal(concat(directory, "/", key, ".journal")),
      lock(concat(directory, "/", key, ".lock")),
      packed(concat(directory, "/", key, ".packed")),
      index(concat(directory, "/", key, ".index")) {}

void PassingSum::add(uint64_t at, std::span<const uint8_t> bytes) {
  if (at > position_ || at + bytes.size() <= position_) return;
  bytes = bytes.subspan(static_cast<size_t>(position_ - at));
  sum_.add(bytes);
  position_ += bytes.size();
}

Error no_room(const std::string& directory, uint64_t needed) {
  const uint64_t free = free_bytes(directory);
  Facts facts = {{"neededBytes", needed}, {"directory", printable(directory, kMaxShownPath)}};
  if (free != UINT64_MAX) facts.push_back({"availableBytes", free});
  return {Code::storage_full,
          concat("no room for the model: ", human_bytes(needed), " more are needed in ",
                 printable(directory, kMaxShownPath),
                 free == UINT64_MAX ? "" : concat(", ", human_bytes(free), " are free"),
                 "; make room (sluice cache list shows what is kept, sluice cache delete removes "
                 "it), or name another directory in XDG_CACHE_HOME"),
          std::move(facts)};
}

Error BlockFile::disk_error(std::string_view what, int error) const {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    return no_room(directory_, total() > stored() ? total() - stored() : block_bytes());
  return {Code::download_failed,
          concat("can't ", what, " ", printable(path_, kMaxShownPath), ": ", std::strerror(error))};
}

Result<BlockFile> BlockFile::open_to_write(const std::string& directory,
                                           const std::string& address) {
  const EntryPaths paths(directory, key_of(address));
  BlockFile file;
  file.directory_ = directory;
  file.path_ = paths.data;
  file.journal_ = ::open(paths.journal.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file.journal_ < 0) return std::unexpected(file.disk_error("open the journal of", errno));
  SLUICE_ASSIGN(Journal journal, load_journal(file.journal_, paths.journal));
  const bool known = journal.header && journal.header->meta.address == address;
  if (known) {
    file.header_ = std::move(*journal.header);
    file.table_ = std::move(journal.table);
    file.seen_.resize(file.table_.size());
  }
  file.finished_ = ::access(paths.data.c_str(), F_OK) == 0;
  if (!file.finished_) {
    file.path_ = paths.part;
  } else if (!file.complete()) {
    SLUICE_TRY(file.unfinish());
  } else {
    ::unlink(paths.part.c_str());  // of a program of an earlier version beside this one
  }
  file.data_ = ::open(file.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file.data_ < 0) return std::unexpected(file.disk_error("open", errno));
  if (known) return file;
  file.header_.meta.address = address;
  file.header_.meta.created = file.header_.meta.used = now_ms();
  SLUICE_TRY(file.reset());
  return file;
}

Result<std::optional<BlockFile>> BlockFile::open_to_read(const std::string& directory,
                                                         const std::string& address) {
  const EntryPaths paths(directory, key_of(address));
  BlockFile file;
  file.directory_ = directory;
  file.path_ = paths.data;
  // For note(), where it is allowed.
  file.journal_ = ::open(paths.journal.c_str(), O_RDWR | O_CLOEXEC);
  if (file.journal_ < 0) file.journal_ = ::open(paths.journal.c_str(), O_RDONLY | O_CLOEXEC);
  file.data_ = ::open(paths.data.c_str(), O_RDONLY | O_CLOEXEC);
  file.finished_ = file.data_ >= 0;
  if (!file.finished_) {
    file.path_ = paths.part;
    file.data_ = ::open(paths.part.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (file.journal_ < 0) return std::nullopt;
  SLUICE_ASSIGN(Journal journal, load_journal(file.journal_, paths.journal));
  if (file.data_ < 0 || !journal.header || journal.header->meta.address != address)
    return std::nullopt;
  file.header_ = std::move(*journal.header);
  file.table_ = std::move(journal.table);
  file.seen_.resize(file.table_.size());
  return file;
}

BlockFile::BlockFile(BlockFile&& other) noexcept { *this = std::move(other); }

BlockFile& BlockFile::operator=(BlockFile&& other) noexcept {
  std::swap(directory_, other.directory_);
  std::swap(path_, other.path_);
  std::swap(finished_, other.finished_);
  std::swap(data_, other.data_);
  std::swap(journal_, other.journal_);
  std::swap(header_, other.header_);
  std::swap(table_, other.table_);
  std::swap(seen_, other.seen_);
  return *this;
}

BlockFile::~BlockFile() {
  if (data_ >= 0) ::close(data_);
  if (journal_ >= 0) ::close(journal_);
}

bool BlockFile::complete() const {
  return total() > 0 && std::ranges::none_of(table_, [](uint64_t hash) { return hash == 0; });
}

uint64_t BlockFile::size_of(uint64_t block) const {
  if (total() == 0) return block_bytes();
  return std::min(block_bytes(), total() - block * block_bytes());
}

uint64_t BlockFile::stored() const {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < n_blocks(); ++i) bytes += has(i) ? size_of(i) : 0;
  return bytes;
}

Status BlockFile::write_header() {
  // Writes the older copy of the header, so that a torn write leaves the newer one.
  ++header_.sequence;
  SLUICE_ASSIGN(const std::string copy, encode_header(header_));
  const int error = write_at(journal_, header_.sequence % 2 * kHeaderBytes,
                             {reinterpret_cast<const uint8_t*>(copy.data()), copy.size()});
  if (error != 0) return std::unexpected(disk_error("write the journal of", error));
  return {};
}

Status BlockFile::write_table(uint64_t block) {
  const int error = write_at(journal_, kTableOffset + 8 * block,
                             {reinterpret_cast<const uint8_t*>(&table_[block]), 8});
  if (error != 0) return std::unexpected(disk_error("write the journal of", error));
  return {};
}

Status BlockFile::rename(const std::string& to) {
  if (std::rename(path_.c_str(), to.c_str()) != 0)
    return std::unexpected(disk_error("rename", errno));
  path_ = to;
  return {};
}

Status BlockFile::finish() {
  if (finished_) return {};
  SLUICE_TRY(rename(EntryPaths(directory_, key_of(meta().address)).data));
  finished_ = true;
  return {};
}

Status BlockFile::move_to(const Meta& moved) {
  const EntryPaths from(directory_, key_of(meta().address)), to(directory_, key_of(moved.address));
  SLUICE_TRY(rename(finished_ ? to.data : to.part));
  if (std::rename(from.journal.c_str(), to.journal.c_str()) != 0)
    return std::unexpected(disk_error("rename the journal of", errno));
  return note(moved);
}

Status BlockFile::unfinish() {
  if (!finished_) return {};
  SLUICE_TRY(rename(path_.substr(0, path_.rfind('.')) + ".part"));
  finished_ = false;
  return {};
}

Status BlockFile::note(const Meta& change) {
  const uint64_t block_bytes = meta().block_bytes, total = meta().total_bytes;
  header_.meta = change;
  header_.meta.block_bytes = block_bytes;
  header_.meta.total_bytes = total;
  return write_header();
}

Status BlockFile::begin(const Meta& facts, uint64_t total) {
  if (!make_room(directory_, total)) return std::unexpected(no_room(directory_, total));
  header_.meta = facts;
  header_.meta.total_bytes = total;
  header_.meta.block_bytes = block_bytes_for(total);
  if (meta().n_blocks() > kMaxBlocks) {
    return fail(Code::download_failed, "a file of ", human_bytes(total),
                " is larger than the cache can hold");
  }
  SLUICE_TRY(unfinish());
  table_.assign(meta().n_blocks(), 0);
  seen_.assign(table_.size(), false);
  // Clears the table first: its hashes are of blocks of another size.
  if (::ftruncate(journal_, static_cast<off_t>(kTableOffset)) != 0 || ::ftruncate(data_, 0) != 0 ||
      ::ftruncate(data_, static_cast<off_t>(total)) != 0) {
    return std::unexpected(disk_error("write", errno));
  }
  return write_header();
}

Status BlockFile::check_room() const {
  const uint64_t missing = total() > stored() ? total() - stored() : 0;
  if (!make_room(directory_, missing)) return std::unexpected(no_room(directory_, missing));
  return {};
}

Status BlockFile::end_at(uint64_t total) {
  // The size is written last: with it the entry is complete.
  header_.meta.total_bytes = total;
  table_.resize(meta().n_blocks(), 0);
  seen_.resize(table_.size(), false);
  return write_header();
}

Status BlockFile::reset() {
  Meta fresh = meta();
  fresh.etag = fresh.last_modified = fresh.commit = fresh.sha256 = "";
  fresh.verified = false;
  return begin(fresh, 0);
}

Status BlockFile::write(uint64_t at, std::span<const uint8_t> bytes) {
  const int error = write_at(data_, at, bytes);
  if (error != 0) return std::unexpected(disk_error("write", error));
  return {};
}

Status BlockFile::add_block(uint64_t block, uint64_t hash) {
  if (block >= table_.size()) {  // the file's size is unknown
    table_.resize(block + 1, 0);
    seen_.resize(block + 1, false);
  }
  table_[block] = hash == 0 ? 1 : hash;
  seen_[block] = true;
  return write_table(block);
}

Result<bool> BlockFile::read(uint64_t block, std::vector<uint8_t>& out) {
  out.resize(size_of(block));
  const ssize_t n = read_at(data_, block * block_bytes(), out);
  // A disk that can't read a block has a damaged block.
  if (n < 0 && errno != EIO) return std::unexpected(disk_error("read", errno));
  const bool good =
      has(block) && n == static_cast<ssize_t>(out.size()) && hash_of(out) == table_[block];
  if (good) seen_[block] = true;
  return good;
}

Result<std::vector<uint64_t>> BlockFile::check(bool clear, PassingSum* sum,
                                               const std::function<void(uint64_t)>& shown) {
  std::vector<uint64_t> damaged;
  std::vector<uint8_t> bytes;
  for (uint64_t i = 0; i < n_blocks(); ++i) {
    const uint64_t begin = i * block_bytes();
    const bool summed = sum == nullptr || sum->position() >= begin + size_of(i);
    if (has(i) && !(seen_[i] && summed)) {
      SLUICE_ASSIGN(const bool good, read(i, bytes));
      if (good && sum != nullptr) sum->add(begin, bytes);
      if (!good) {
        damaged.push_back(i);
        seen_[i] = false;
        if (clear) {
          SLUICE_TRY(unfinish());
          table_[i] = 0;
          SLUICE_TRY(write_table(i));
        }
      }
    }
    shown(begin + size_of(i));
  }
  return damaged;
}

}  // namespace sluice::pull
