// The directory of the cache: lists and removes its entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pull/journal.h"

namespace sluice::pull {

// $XDG_CACHE_HOME/sluice or ~/.cache/sluice. Fails with invalid_argument if neither is known.
Result<std::string> cache_directory();
// Makes the directory, for this user alone. Fails with download_failed or storage_full.
Status make_cache_directory(const std::string& directory);

struct Cached {
  std::string key;
  std::string path;          // of the file with its bytes
  Meta meta;                 // of an entry that can't be read: empty
  uint64_t stored = 0;       // bytes that are there
  uint64_t packed = 0;       // bytes of its packed copy
  bool packed_fits = false;  // the copy is of this file
  bool complete = false;     // and checked
  bool in_use = false;       // another process reads or writes it
  std::string unreadable;    // why, or ""
};
// All entries, the last used first. Of a split model each part is one. An entry without any
// block is removed.
Result<std::vector<Cached>> list_cache(const std::string& directory);
// The canonical address of the entry (of a split model's first part, or the page of a conversion's
// source) that was downloaded by this name.
std::optional<std::string> find_named(const std::string& directory, const std::string& name);

// True of a KEY, which all files of an entry have as their name.
bool is_key(const std::string& text);
// The key of the entry whose file a path names, links resolved; "" if it names no file of the
// cache. The file need not exist.
std::string key_at(const std::string& directory, const std::string& path);
// What the journal of an entry says; nothing if there is no such entry. Fails with bad_file if it
// can't be read.
Result<std::optional<Meta>> meta_of(const std::string& directory, const std::string& key);
// Removes an entry with its packed copy: true, or false if there is none. Fails with busy if a
// process uses it.
Result<bool> remove_entry(const std::string& directory, const std::string& key);

}  // namespace sluice::pull
