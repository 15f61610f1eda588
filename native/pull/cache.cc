#include "pull/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/format.h"
#include "pull/block_file.h"
#include "pull/lock.h"
#include "pull/packed_copy.h"

namespace sluice::pull {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeyDigits = 32;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<Journal> load(const std::string& path) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) return fail(Code::download_failed, "without a journal");
  return read_journal({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

// True if any file of the entry is left.
bool is_there(const EntryPaths& paths) {
  std::error_code error;
  return std::ranges::any_of(paths.removed(),
                             [&](const std::string& path) { return fs::exists(path, error); });
}

// `has_holders`: of its lock, see locks_with_holders().
Cached describe(const std::string& directory, const std::string& key, bool has_holders = true) {
  const EntryPaths paths(directory, key);
  Cached entry;
  entry.key = key;
  entry.packed = packed_bytes(paths);
  std::error_code missing;
  entry.path = fs::exists(paths.data, missing) ? paths.data : paths.part;
  entry.in_use = Lock::is_held(paths.lock, has_holders);
  const auto journal = load(paths.journal);
  if (!journal) {
    entry.unreadable = journal.error().message;
  } else if (journal->newer) {
    entry.unreadable = "written by a newer version of Sluice";
  } else if (!journal->header || key_of(journal->header->meta.address) != key) {
    entry.unreadable = "damaged";
  } else {
    entry.meta = journal->header->meta;
    const Meta& meta = entry.meta;
    const auto& table = journal->table;
    const auto there = static_cast<uint64_t>(
        std::ranges::count_if(table, [](uint64_t hash) { return hash != 0; }));
    entry.stored = there * meta.block_bytes;
    if (!table.empty() && table.back() != 0)
      entry.stored -= meta.n_blocks() * meta.block_bytes - meta.total_bytes;
    std::error_code error;
    const bool whole = fs::file_size(paths.data, error) == meta.total_bytes && !error;
    entry.packed_fits = is_copy_of(paths, table, meta.total_bytes);
    entry.complete = meta.total_bytes > 0 && there == table.size() && whole;
  }
  return entry;
}

// Whether a download was ended between making its journal and writing into it.
bool never_begun(const EntryPaths& paths) {
  std::error_code error;
  const bool empty = fs::file_size(paths.journal, error) == 0 && !error;
  if (!empty || fs::exists(paths.data, error)) return false;
  return !fs::exists(paths.part, error) || fs::file_size(paths.part, error) == 0;
}

// Removes an entry without a block, left by a download that ended before its first block.
bool remove_if_empty(const std::string& directory, const Cached& entry) {
  const EntryPaths paths(directory, entry.key);
  const bool begun = !never_begun(paths);
  if ((begun && !entry.unreadable.empty()) || entry.stored > 0 || entry.in_use) return false;
  auto lock = Lock::try_take(paths.lock, Hold::exclusive);
  if (!lock || !*lock) return false;
  if (begun) {
    const auto now = BlockFile::open_to_read(directory, entry.meta.address);
    if (!now || !*now || (*now)->stored() > 0) return false;
  } else if (!never_begun(paths)) {
    return false;  // it has begun meanwhile
  }
  for (const std::string& path : paths.removed()) ::unlink(path.c_str());
  (*lock)->remove_file();
  return true;
}

}  // namespace

bool is_key(const std::string& text) {
  return text.size() == kKeyDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> cache_directory() {
  const std::string named = environment("XDG_CACHE_HOME");
  if (named.starts_with('/')) return named + "/sluice";  // a relative path counts as none
  const std::string home = environment("HOME");
  if (!home.empty()) return home + "/.cache/sluice";
  return fail(Code::invalid_argument,
              "there is no place for the cache: neither XDG_CACHE_HOME nor HOME is set; set one");
}

Status make_cache_directory(const std::string& directory) {
  std::error_code error;
  if (fs::is_directory(directory, error)) return {};
  const fs::path parent = fs::path(directory).parent_path();
  fs::create_directories(parent, error);
  if (::mkdir(directory.c_str(), 0700) == 0) return {};
  const int why = errno;
  // Another process may have made it just now; else something else has its name.
  if (why == EEXIST && fs::is_directory(directory, error)) return {};
  if (why == ENOSPC || why == EDQUOT) return std::unexpected(no_room(parent.string(), 1 << 20));
  return fail(Code::download_failed, "can't make the directory of the cache, ",
              printable(directory, kMaxShownPath), ": ", std::strerror(why),
              "; name another one in XDG_CACHE_HOME");
}

Result<std::vector<Cached>> list_cache(const std::string& directory) {
  std::set<std::string> keys;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    const std::string kind = path.extension();
    if ((kind == ".journal" || kind == ".gguf" || kind == ".part") && is_key(path.stem().string()))
      keys.insert(path.stem().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(Code::download_failed, "can't list ", printable(directory, kMaxShownPath), ": ",
                error.message());
  }
  const auto held = locks_with_holders(directory);
  std::vector<Cached> entries;
  for (const std::string& key : keys) {
    Cached entry = describe(directory, key, held.contains(key + ".lock"));
    if (!remove_if_empty(directory, entry)) entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, [](const Cached& a, const Cached& b) {
    return a.meta.used != b.meta.used ? a.meta.used > b.meta.used : a.key < b.key;
  });
  return entries;
}

std::optional<std::string> find_named(const std::string& directory, const std::string& name) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() != ".journal" || !is_key(path.stem().string())) continue;
    const auto journal = load(path.string());
    if (!journal || journal->newer || !journal->header) continue;
    const Meta& meta = journal->header->meta;
    if (key_of(meta.address) != path.stem().string()) continue;
    if (std::ranges::find(meta.names, name) != meta.names.end())
      return meta.set.empty() ? meta.address : meta.set;
  }
  return std::nullopt;
}

std::string key_at(const std::string& directory, const std::string& path) {
  std::error_code error;
  fs::path file(path);
  // A link to a file that isn't there now.
  if (fs::is_symlink(file, error) && !fs::exists(file, error))
    file = file.parent_path() / fs::read_symlink(file, error);
  file = fs::weakly_canonical(fs::absolute(file, error), error);
  const bool inside = !error && file.parent_path() == fs::weakly_canonical(directory, error);
  const bool is_data = file.extension() == ".gguf" || file.extension() == ".part";
  return inside && is_data && is_key(file.stem().string()) ? file.stem().string() : "";
}

Result<std::optional<Meta>> meta_of(const std::string& directory, const std::string& key) {
  if (!is_there(EntryPaths(directory, key))) return std::nullopt;
  const Cached entry = describe(directory, key);
  if (entry.unreadable.empty()) return entry.meta;
  return fail(Code::bad_file, "its journal in the cache can't be used (", entry.unreadable,
              "), so the file may be incomplete; sluice cache delete ", key, " removes it");
}

Result<bool> remove_entry(const std::string& directory, const std::string& key) {
  const EntryPaths paths(directory, key);
  if (!is_there(paths)) return false;
  SLUICE_ASSIGN(std::optional<Lock> lock, Lock::try_take(paths.lock, Hold::exclusive));
  if (!lock) {
    return fail(Code::busy, "another process is using the model ", key,
                "; try again when it has ended");
  }
  for (const std::string& path : paths.removed()) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      return fail(Code::download_failed, "can't remove ", printable(path, kMaxShownPath), ": ",
                  std::strerror(errno));
    }
  }
  lock->remove_file();
  return true;
}

}  // namespace sluice::pull
