// Reads and writes at an offset of a file, for the files of the cache.
#pragma once  // inside

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

namespace sluice::pull {

// Writes all; 0 or an errno.
int write_at(int fd, uint64_t at, std::span<const uint8_t> bytes);
// Reads up to the end of the file: the number of bytes, or -1 with errno.
ssize_t read_at(int fd, uint64_t at, std::span<uint8_t> out);
// XXH64 (seed 0); 1 instead of 0, which means that there are no bytes.
uint64_t hash_of(std::span<const uint8_t> bytes);
// Free in the directory's file system; UINT64_MAX: unknown.
uint64_t free_bytes(const std::string& directory);

}  // namespace sluice::pull
