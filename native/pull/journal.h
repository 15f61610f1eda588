// The journal beside a cached file: its meta data, and a hash of each block that is stored.
//
// Little-endian. Two copies of a header of 8192 bytes, at 0 and 8192; a table from 16384 on.
//   header: 0 magic "SLUICEJ\n" | 8 u32 version | 12 u32 meta_bytes (at most 8160) | 16 u64
//   sequence
//           | 24 u64 XXH64 (seed 0) over bytes 0 to 23 and the meta bytes | 32 meta: JSON in UTF-8
//   table:  for each block the u64 XXH64 (seed 0) of its bytes; 0: not there (a hash of 0 is 1)
// Of two valid copies the one with the larger sequence counts; a change is written to the other.
// A block's bytes are written before its hash. The web library's cache has the same format.
#pragma once  // inside

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::pull {

constexpr uint32_t kJournalVersion = 1;
constexpr uint64_t kHeaderBytes = 8192;
constexpr uint64_t kTableOffset = 2 * kHeaderBytes;
constexpr uint64_t kMaxBlocks = 1 << 22;

// What is known of a cached file. No header of a request and no token is ever stored.
struct Meta {
  std::string address;             // canonical
  std::vector<std::string> names;  // that users typed for this address
  uint64_t block_bytes = 0;
  uint64_t total_bytes = 0;  // 0: unknown
  std::string etag, last_modified, commit;
  std::string sha256;     // "": unknown
  bool verified = false;  // the sha256 was computed over the whole file, and fits
  int64_t created = 0;    // ms since 1970
  int64_t used = 0;
  bool pinned = false;
  // What the files of a set have in common: of a split model the canonical address of its first
  // part, of a conversion's source the page of its commit.
  std::string set;
  int part = 1;
  int parts = 1;
  bool source = false;  // a file that a conversion reads (repository.h), not one of a model
  std::string other;    // JSON object: the fields that this version doesn't know

  // Blocks of the whole file; 0 while its size is unknown.
  uint64_t n_blocks() const { return total_bytes == 0 ? 0 : (total_bytes - 1) / block_bytes + 1; }
};

// The size of a new file's blocks. total 0: unknown.
uint64_t block_bytes_for(uint64_t total);

struct Header {
  uint64_t sequence = 0;
  Meta meta;
};

// One copy of a header. Drops the oldest names if there is no room. Fails with invalid_argument if
// it is too long without them.
Result<std::string> encode_header(const Header& header);
// Nothing if the copy isn't valid. An older version is migrated.
std::optional<Header> decode_header(std::span<const uint8_t> copy);
// The version of a copy with the right magic, valid or not; 0 without.
uint32_t header_version(std::span<const uint8_t> copy);

// The header and the table of a journal's bytes.
struct Journal {
  bool newer = false;            // a copy is of a newer version: leave the entry alone
  std::optional<Header> header;  // nothing: there is no valid copy
  std::vector<uint64_t> table;   // all blocks of the file, 0: not there
};
Journal read_journal(std::span<const uint8_t> bytes);

}  // namespace sluice::pull
