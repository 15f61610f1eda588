// The packed copy beside a cached file: weights as the core packs them (quant/matrix.h), so that a
// model which is read again for each token is packed only once.
//
// KEY.packed holds packed chunks, each at the offset that it has in KEY.gguf, and nothing between
// them. KEY.index says which are there. Little-endian:
//    0 magic "SLUICEP\n" | 8 u32 version | 12 u32 layout number of the packing
//   16 u64 bytes of KEY.gguf | 24 u64 XXH64 (seed 0) of the journal's whole table
//   32 u64 XXH64 of bytes 0 to 31
//   40 records of three u64: begin, end (offsets in the file), XXH64 of the chunk's bytes (0 is 1)
// Of records with the same begin the last one counts. A chunk's bytes are written before its
// record. The index is the lock of both files. The web library's cache has the same format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pull/block_file.h"
#include "pull/lock.h"
#include "weights/packed_copy.h"

namespace sluice::pull {

constexpr uint32_t kPackedVersion = 1;
constexpr uint64_t kIndexHeaderBytes = 40;
constexpr uint64_t kIndexRecordBytes = 24;

// What verify finds in a copy.
struct CopyCheck {
  uint64_t bytes = 0;    // of its good chunks
  uint64_t damaged = 0;  // chunks that were forgotten
  bool removed = false;  // its files, because they were no copy of this file
};

// What a run did to a copy: nothing new, made it, or found no room for it.
enum class CopyNews { none, made, no_room };

class PackedFile final : public PackedCopy {
 public:
  // Of a complete entry: `table` is its journal's, `total` the size of its file. `expected`: about
  // as many bytes are going to be kept. No file is made before keep(). Without the lock, without
  // room and after a write that fails it does nothing.
  PackedFile(const std::string& directory, const std::string& key, std::span<const uint64_t> table,
             uint64_t total, uint64_t expected);
  ~PackedFile() override;
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  bool read(uint64_t offset, std::span<uint8_t> place) override;
  void keep(uint64_t offset, std::span<const uint8_t> bytes) override;
  CopyNews news();
  uint64_t expected() const { return expected_; }
  // Compares the hashes of all chunks and forgets those that differ; removes the files if none is
  // left. Nothing if another process has the copy. Nothing else may be called afterwards.
  std::optional<CopyCheck> check();

 private:
  struct Chunk {
    uint64_t end = 0;
    uint64_t hash = 0;
    bool checked = false;  // its bytes had this hash in this process
  };
  using Header = std::array<uint8_t, kIndexHeaderBytes>;

  bool attach();
  bool load();
  void insert(uint64_t begin, const Chunk& chunk);
  bool is_good(uint64_t begin, const Chunk& chunk) const;
  bool write_index();
  bool begin();
  bool empty();

  const std::string directory_;
  const EntryPaths paths_;
  const uint64_t total_;
  const uint64_t expected_;
  Header header_;

  std::mutex mutex_;  // for all below; the data is read and written without it
  std::optional<Lock> lock_;
  int index_ = -1;
  int data_ = -1;
  bool valid_ = false;  // the index on the disk is of this file
  bool begun_ = false;  // keep() has all it needs
  bool keeps_ = true;
  bool made_ = false;
  bool no_room_ = false;
  uint64_t index_end_ = 0;            // offset of the next record
  std::map<uint64_t, Chunk> chunks_;  // by begin
};

// Bytes that the copy of an entry takes on the disk; 0: there is none.
uint64_t packed_bytes(const EntryPaths& paths);
// True if the index is of a file with this table and size. While blocks of it are missing, only its
// size is compared: they may be downloaded again.
bool is_copy_of(const EntryPaths& paths, std::span<const uint64_t> table, uint64_t total);
// PackedFile::check() of an entry's copy. Nothing also if there is none, or if blocks of the file
// are missing, so that its copy can't be used now.
std::optional<CopyCheck> check_copy(const std::string& directory, const std::string& key,
                                    std::span<const uint64_t> table, uint64_t total);
// Removes all copies in the directory that no process uses: there must be room for a model.
void remove_copies(const std::string& directory);

}  // namespace sluice::pull
