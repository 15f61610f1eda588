// Models at addresses: taken from the cache, or downloaded into it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "pull/address.h"
#include "pull/http.h"
#include "pull/hub.h"
#include "pull/lock.h"

namespace sluice::pull {

// How far a download is.
struct Progress {
  std::string name;  // of the file
  int part = 1;      // of a split model
  int parts = 1;
  bool checking = false;  // blocks on the disk are read and compared; `loaded` of them
  uint64_t loaded = 0;
  uint64_t total = 0;   // 0: unknown
  uint64_t kept = 0;    // bytes that are stored if the program ends now
  double rate = 0;      // bytes a second in the last seconds; 0: unknown
  std::string waiting;  // what it waits for, or ""
};

struct Settings {
  Client client;
  std::string directory;                          // of the cache
  std::function<void(const Progress&)> progress;  // about ten times a second; may be empty
  std::function<void(const std::string&)> note;   // a sentence for the user; may be empty
};

struct Wish {
  std::vector<std::string> sha256;  // of each file that is expected, or none
  bool refresh = false;             // ask the server whether the cached file is current
  bool check = true;                // compare the hashes of all blocks that were there before
  bool force = false;               // download it whatever its header says
  // For a model in one file: gets the header before the rest is downloaded. Its error ends the
  // download, and nothing is kept. May be empty.
  std::function<Status(const Gguf&)> accept;
};

struct PulledFile {
  std::string path;
  uint64_t bytes = 0;
  std::string sha256;  // "" unknown
  std::string address;
};

struct Pulled {
  std::vector<PulledFile> files;  // of a split model in their order
  std::vector<Lock> locks;        // shared: keeps the files from being removed
};

// The files that an address means.
struct Located {
  Address address;
  std::string name;               // for the journal: as it was typed; "" if that is the address
  std::vector<std::string> urls;  // canonical; several of a split model
  std::vector<HubFile> list;      // the hub's, if it was read
  HubFile chosen;                 // of the list
  bool kept_only = false;         // from the cache alone: what it lacks isn't downloaded
  // Of files that a conversion reads (repository.h): the page of their commit. "" of a model.
  std::string page;
  int files = 0;  // that belong to the page; at least urls.size()
};

// Finds the files of an address. Asks the hub's list only if it must choose and the cache doesn't
// know the name, or with `refresh`.
Result<Located> locate(const Settings& settings, std::string_view text, bool refresh);
// All pages of the hub's list of a repository's files. Fails with download_failed or offline;
// `status` is then the HTTP status, 0 without an answer.
Result<std::vector<HubFile>> fetch_list(const Client& client, const Address& address,
                                        long* status = nullptr);
// True if the cache has all of it.
bool is_cached(const Settings& settings, const Located& model);
// Makes sure that all files are in the cache and valid. Uses no network if they are.
// Fails with download_failed, download_corrupt, bad_file (no GGUF file; nothing of it is kept; or
// kept_only and not whole), offline, storage_full or invalid_argument.
Result<Pulled> obtain(const Settings& settings, Located model, const Wish& wish);

// Calls `take` with the bytes of one of the files, from offset 0 on, until it returns false. They
// are from the cache if that has the file, else from the network, and aren't stored. Returns the
// file's size, 0 if unknown.
Result<uint64_t> read_beginning(const Settings& settings, const Located& model, size_t index,
                                const std::function<bool(std::span<const uint8_t>)>& take);

}  // namespace sluice::pull
