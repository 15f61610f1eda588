#include "pull/packed_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <vector>

#include "base/xxh64.h"
#include "pull/cache.h"
#include "pull/disk.h"
#include "quant/packed_layout.h"

namespace sluice::pull {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPackedMagic = "SLUICEP\n";
constexpr uint64_t kMostChunk = uint64_t{1} << 30;
constexpr size_t kPiece = 1 << 20;  // that is read at a time
// An index with more records isn't one of ours.
constexpr uint64_t kMostRecords = 1 << 20;
constexpr uint64_t kMostIndex = kIndexHeaderBytes + kMostRecords * kIndexRecordBytes;

static_assert(std::endian::native == std::endian::little, "indexes are little-endian");

using Record = std::array<uint64_t, 3>;  // begin, end, hash
static_assert(sizeof(Record) == kIndexRecordBytes);

std::span<const uint8_t> bytes_of(const Record& record) {
  return {reinterpret_cast<const uint8_t*>(record.data()), sizeof record};
}

// The size of a regular file; nothing of anything else.
std::optional<uint64_t> size_of(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0) return std::nullopt;
  return static_cast<uint64_t>(info.st_size);
}

using IndexHeader = std::array<uint8_t, kIndexHeaderBytes>;

IndexHeader header_of(std::span<const uint64_t> table, uint64_t total) {
  IndexHeader header;
  const auto put = [&](size_t at, auto value) {
    std::memcpy(header.data() + at, &value, sizeof value);
  };
  std::memcpy(header.data(), kPackedMagic.data(), kPackedMagic.size());
  put(8, kPackedVersion);
  put(12, kPackedLayout);
  put(16, total);
  put(24, xxh64({reinterpret_cast<const uint8_t*>(table.data()), table.size_bytes()}));
  put(32, xxh64(std::span(header).first(32)));
  return header;
}

bool is_room_error(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

bool any_missing(std::span<const uint64_t> table) {
  return table.empty() || std::ranges::find(table, uint64_t{0}) != table.end();
}

void remove_files(const EntryPaths& paths) {
  ::unlink(paths.packed.c_str());
  ::unlink(paths.index.c_str());
}

}  // namespace

PackedFile::PackedFile(const std::string& directory, const std::string& key,
                       std::span<const uint64_t> table, uint64_t total, uint64_t expected)
    : directory_(directory),
      paths_(directory, key),
      total_(total),
      expected_(expected),
      header_(header_of(table, total)) {
  std::error_code error;
  if (!fs::exists(paths_.index, error) && !fs::exists(paths_.packed, error)) return;
  try {
    keeps_ = attach();
  } catch (const std::bad_alloc&) {
    keeps_ = false;
    chunks_.clear();
  }
}

PackedFile::~PackedFile() {
  if (index_ >= 0) ::close(index_);
  if (data_ >= 0) ::close(data_);
}

// Takes the lock and reads what is there. False: it can't be used.
bool PackedFile::attach() {
  auto lock = Lock::try_take(paths_.index, Hold::exclusive);
  if (!lock || !*lock) return false;
  lock_ = std::move(**lock);
  index_ = ::open(paths_.index.c_str(), O_RDWR | O_CLOEXEC);
  if (index_ < 0 || !size_of(index_)) return false;
  data_ = ::open(paths_.packed.c_str(), O_RDWR | O_CLOEXEC);
  valid_ = data_ >= 0 && size_of(data_) && load();
  if (valid_) return true;
  // A copy of another file is removed at once.
  const bool emptied =
      ::ftruncate(index_, 0) == 0 && (data_ < 0 || !size_of(data_) || ::ftruncate(data_, 0) == 0);
  return emptied;
}

// Reads the index. False: it is of another file or another layout.
bool PackedFile::load() {
  const uint64_t size = size_of(index_).value_or(0);
  if (size < kIndexHeaderBytes || size > kMostIndex) return false;
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (read_at(index_, 0, bytes) != static_cast<ssize_t>(bytes.size())) return false;
  if (!std::equal(header_.begin(), header_.end(), bytes.begin())) return false;
  // A record that is cut short is overwritten by the next one.
  const uint64_t n = (size - kIndexHeaderBytes) / kIndexRecordBytes;
  index_end_ = kIndexHeaderBytes + n * kIndexRecordBytes;
  for (uint64_t i = 0; i < n; ++i) {
    Record record;
    std::memcpy(record.data(), bytes.data() + kIndexHeaderBytes + i * kIndexRecordBytes,
                kIndexRecordBytes);
    const auto [begin, end, hash] = record;
    if (end <= begin || end > total_ || end - begin > kMostChunk || hash == 0) continue;
    insert(begin, {end, hash});
  }
  return true;
}

// Removes the chunks that this one overlaps: it has replaced their bytes.
void PackedFile::insert(uint64_t begin, const Chunk& chunk) {
  auto at = chunks_.lower_bound(begin);
  if (at != chunks_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != chunks_.end() && at->first < chunk.end) at = chunks_.erase(at);
  chunks_.emplace_hint(at, begin, chunk);
}

bool PackedFile::read(uint64_t offset, std::span<uint8_t> place) {
  Chunk chunk;
  {
    const std::lock_guard lock(mutex_);
    const auto found = chunks_.find(offset);
    if (found == chunks_.end() || found->second.end - offset != place.size()) return false;
    chunk = found->second;
  }
  const bool good = read_at(data_, offset, place) == static_cast<ssize_t>(place.size()) &&
                    (chunk.checked || hash_of(place) == chunk.hash);
  if (good && chunk.checked) return true;
  const std::lock_guard lock(mutex_);
  const auto found = chunks_.find(offset);
  if (found != chunks_.end() && found->second.hash == chunk.hash) {
    if (good) {
      found->second.checked = true;
    } else {
      chunks_.erase(found);
    }
  }
  return good;
}

void PackedFile::keep(uint64_t offset, std::span<const uint8_t> bytes) {
  if (bytes.empty() || bytes.size() > kMostChunk || offset > total_ ||
      bytes.size() > total_ - offset) {
    return;
  }
  const uint64_t end = offset + bytes.size();
  {
    const std::lock_guard lock(mutex_);
    if (!keeps_) return;
    const auto same = chunks_.find(offset);
    if (same != chunks_.end() && same->second.end == end) return;
    if (!begun_) keeps_ = begun_ = begin();
    if (!keeps_) return;
    // The bytes of overwritten chunks no longer have their hash.
    std::erase_if(chunks_,
                  [&](const auto& each) { return each.first < end && each.second.end > offset; });
  }
  const uint64_t hash = hash_of(bytes);
  const int failure = write_at(data_, offset, bytes);
  const std::lock_guard lock(mutex_);
  no_room_ = no_room_ || is_room_error(failure);
  keeps_ = keeps_ && failure == 0 && index_end_ + kIndexRecordBytes <= kMostIndex &&
           write_at(index_, index_end_, bytes_of({offset, end, hash})) == 0;
  if (!keeps_) return;
  index_end_ += kIndexRecordBytes;
  try {
    chunks_.insert_or_assign(offset, Chunk{end, hash, true});
  } catch (const std::bad_alloc&) {
    keeps_ = false;
  }
}

// Before the first chunk: checks the free space and makes the files. False: nothing can be kept.
bool PackedFile::begin() {
  uint64_t kept = 0;
  for (const auto& [begin, chunk] : chunks_) kept += std::min(chunk.end - begin, total_ - kept);
  // As many bytes again stay free for others.
  const uint64_t missing = std::min(expected_, total_ - kept);
  no_room_ = free_bytes(directory_) / 2 < missing;
  if (no_room_) return false;
  try {
    if (!lock_ && !attach()) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return valid_ || empty();
}

// Empties both files, and writes the header.
bool PackedFile::empty() {
  if (data_ < 0) data_ = ::open(paths_.packed.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // The index is first: without it no chunk is valid.
  if (data_ < 0 || !size_of(data_) || ::ftruncate(index_, 0) != 0 || ::ftruncate(data_, 0) != 0)
    return false;
  index_end_ = kIndexHeaderBytes;
  const int failure = write_at(index_, 0, header_);
  no_room_ = is_room_error(failure);
  made_ = valid_ = failure == 0;
  return valid_;
}

CopyNews PackedFile::news() {
  const std::lock_guard lock(mutex_);
  if (no_room_) return CopyNews::no_room;
  return made_ && !chunks_.empty() ? CopyNews::made : CopyNews::none;
}

bool PackedFile::is_good(uint64_t begin, const Chunk& chunk) const {
  std::vector<uint8_t> piece(kPiece);
  Xxh64 found;
  for (uint64_t at = begin; at < chunk.end;) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(piece.size(), chunk.end - at));
    const std::span bytes(piece.data(), n);
    if (read_at(data_, at, bytes) != static_cast<ssize_t>(n)) return false;
    found.update(bytes);
    at += n;
  }
  const uint64_t hash = found.value();
  return (hash == 0 ? 1 : hash) == chunk.hash;
}

// Writes the index anew.
bool PackedFile::write_index() {
  std::vector<uint8_t> bytes(header_.begin(), header_.end());
  for (const auto& [begin, chunk] : chunks_) {
    const Record record = {begin, chunk.end, chunk.hash};
    const auto more = bytes_of(record);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return ::ftruncate(index_, 0) == 0 && write_at(index_, 0, bytes) == 0;
}

std::optional<CopyCheck> PackedFile::check() {
  const std::lock_guard lock(mutex_);
  if (!lock_) return std::nullopt;
  CopyCheck found;
  found.removed = !valid_;
  found.damaged =
      std::erase_if(chunks_, [&](const auto& each) { return !is_good(each.first, each.second); });
  for (const auto& [begin, chunk] : chunks_) found.bytes += chunk.end - begin;
  if (chunks_.empty() || (found.damaged > 0 && !write_index())) remove_files(paths_);
  return found;
}

bool is_copy_of(const EntryPaths& paths, std::span<const uint64_t> table, uint64_t total) {
  const int fd = ::open(paths.index.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  IndexHeader there = {};
  const bool read = size_of(fd) && read_at(fd, 0, there) == static_cast<ssize_t>(there.size());
  ::close(fd);
  const IndexHeader expected = header_of(table, total);
  const size_t compared = any_missing(table) ? 24 : there.size();
  std::error_code error;
  return read &&
         std::equal(there.begin(), there.begin() + static_cast<ptrdiff_t>(compared),
                    expected.begin()) &&
         fs::is_regular_file(paths.packed, error);
}

std::optional<CopyCheck> check_copy(const std::string& directory, const std::string& key,
                                    std::span<const uint64_t> table, uint64_t total) {
  const EntryPaths paths(directory, key);
  std::error_code error;
  if (!fs::exists(paths.packed, error) && !fs::exists(paths.index, error)) return std::nullopt;
  if (any_missing(table) && is_copy_of(paths, table, total)) return std::nullopt;
  return PackedFile(directory, key, table, total, 0).check();
}

uint64_t packed_bytes(const EntryPaths& paths) {
  uint64_t bytes = 0;
  for (const std::string& path : {paths.packed, paths.index}) {
    struct stat info;
    // The file is sparse, so its size says nothing.
    if (::stat(path.c_str(), &info) == 0) bytes += static_cast<uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

void remove_copies(const std::string& directory) {
  std::vector<std::string> keys;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() == ".index" && is_key(path.stem().string()))
      keys.push_back(path.stem().string());
  }
  for (const std::string& key : keys) {
    const EntryPaths paths(directory, key);
    const auto lock = Lock::try_take(paths.index, Hold::exclusive);
    if (!lock || !*lock) continue;
    remove_files(paths);
  }
}

}  // namespace sluice::pull
