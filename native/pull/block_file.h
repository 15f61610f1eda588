// A cached file: KEY.gguf holds its bytes, KEY.journal says which blocks are stored. Until all are
// stored and checked, and while one is known to be damaged, it is named KEY.part, so that nothing
// takes it for a model. Caches of earlier versions have an unfinished KEY.gguf; a writer renames
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pull/journal.h"
#include "pull/sha256.h"

namespace sluice::pull {

// The first 32 hexadecimal digits of the SHA-256 of a canonical address.
std::string key_of(std::string_view address);

// The files of an entry: the last two are its packed copy (packed_copy.h).
struct EntryPaths {
  std::string data, part, journal, lock, packed, index;
  EntryPaths(const std::string& directory, const std::string& key);
  // All but the lock, in the order in which they are removed: without the journal the bytes count
  // as absent.
  std::vector<std::string> removed() const { return {journal, data, part, index, packed}; }
};

// Hashes a file during its download, as long as bytes arrive in the file's order.
class PassingSum {
 public:
  void add(uint64_t at, std::span<const uint8_t> bytes);
  uint64_t position() const { return position_; }  // the hash has the bytes up to here
  std::string hex() { return sum_.hex(); }         // once, at the end

 private:
  Sha256 sum_;
  uint64_t position_ = 0;
};

// Not for several threads. For writing, the caller holds the entry's lock exclusively; for reading,
// shared.
class BlockFile {
 public:
  // Opens the entry of an address. Makes it if there is none, or none that is valid.
  // Fails with storage_full, or with download_failed if files can't be opened or are of a newer
  // version (which is left alone).
  static Result<BlockFile> open_to_write(const std::string& directory, const std::string& address);
  // Nothing if there is no valid entry.
  static Result<std::optional<BlockFile>> open_to_read(const std::string& directory,
                                                       const std::string& address);
  BlockFile(BlockFile&& other) noexcept;
  BlockFile& operator=(BlockFile&& other) noexcept;
  ~BlockFile();

  const Meta& meta() const { return header_.meta; }
  const std::string& path() const { return path_; }      // of the bytes: KEY.gguf or KEY.part
  uint64_t total() const { return meta().total_bytes; }  // 0: unknown
  uint64_t block_bytes() const { return meta().block_bytes; }
  uint64_t n_blocks() const { return table_.size(); }
  // The journal's: the hash of each block, 0 without it.
  std::span<const uint64_t> table() const { return table_; }
  bool has(uint64_t block) const { return block < table_.size() && table_[block] != 0; }
  bool complete() const;                                     // all blocks are there
  bool finished() const { return finished_ && complete(); }  // and the file has its final name
  uint64_t stored() const;                                   // bytes of the blocks that are there

  // --- for the writer ----------------------------------------------------------------------------
  // Changes what is known of the file. The size of the file and of its blocks stays.
  Status note(const Meta& change);
  // Before the first byte: sets the sizes, and asks the disk for room. total 0: unknown. Fails with
  // storage_full.
  Status begin(const Meta& facts, uint64_t total);
  // Before a download is continued: storage_full if the rest has no room.
  Status check_room() const;
  // Sets the file's size, which was unknown, when the server has sent all of it.
  Status end_at(uint64_t total);
  // Forgets all blocks and what is known of the server's file.
  Status reset();
  // Writes bytes of a block; when it is whole, its hash.
  Status write(uint64_t at, std::span<const uint8_t> bytes);
  Status add_block(uint64_t block, uint64_t hash);

  // Gives the file, which is complete and checked, its final name.
  Status finish();
  // Makes it the entry of another address, moved.address, which has none; the caller holds both
  // locks. A program that ends meanwhile leaves an entry that counts as damaged.
  Status move_to(const Meta& moved);

  // Reads all blocks and compares their hashes, except those that this process has written or read
  // before. Returns the blocks that differ, and forgets them if `clear`. `sum`, unless null, hashes
  // all bytes that it hasn't had. Calls shown(bytes read) meanwhile.
  Result<std::vector<uint64_t>> check(bool clear, PassingSum* sum,
                                      const std::function<void(uint64_t)>& shown);
  // Reads one block into `out`. False: it isn't there or its hash differs.
  Result<bool> read(uint64_t block, std::vector<uint8_t>& out);

 private:
  BlockFile() = default;
  Status write_header();
  Status write_table(uint64_t block);
  Error disk_error(std::string_view what, int error) const;
  uint64_t size_of(uint64_t block) const;
  // Before a block is forgotten: names the file KEY.part again. A process that ends between the two
  // leaves a complete KEY.part, which is checked before it gets its final name.
  Status unfinish();
  Status rename(const std::string& to);

  std::string directory_, path_;
  bool finished_ = false;  // path_ is KEY.gguf
  int data_ = -1;
  int journal_ = -1;
  Header header_;
  std::vector<uint64_t> table_;
  std::vector<bool> seen_;  // blocks whose hash this process has verified
};

// "12.3 MB are needed in DIRECTORY, 1.2 MB are free ...": storage_full.
Error no_room(const std::string& directory, uint64_t needed);
// Removes packed copies if there isn't enough room. False: there still isn't.
bool make_room(const std::string& directory, uint64_t bytes);
int64_t now_ms();  // since 1970

}  // namespace sluice::pull
