// Arrays of numbers in NumPy's formats: .npy, one array; .npz, several in a zip archive.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/files.h"
#include "weights/source_file.h"

namespace sluice::cli {

// The header (format 1.0) of an array of this shape of little-endian f32, the last index fastest.
// Behind it come the numbers.
std::string npy_header(std::span<const uint64_t> shape);
// The bytes of numbers, as they stand in such files.
std::span<const uint8_t> npy_bytes(std::span<const float> numbers);
std::span<const uint8_t> npy_bytes(std::string_view header);

// An array of a .npy file, which may be hostile: of little-endian f32 or f64, the last index
// fastest.
class NpyFile {
 public:
  // Reads the header. Fails with bad_file if the file can't be read, is no .npy file, has numbers
  // of another kind or order, or another length than its shape has.
  static Result<NpyFile> open(const std::string& path);
  const std::vector<uint64_t>& shape() const { return shape_; }
  std::string shape_text() const;  // "(3, 512)"
  // Reads the numbers from number `first` on, which must be there. Fails with bad_file if they
  // can't be read, or if one is NaN or infinite.
  Status read(uint64_t first, std::span<double> out) const;

 private:
  explicit NpyFile(File file) : file_(std::move(file)) {}
  Status read_header();
  std::unexpected<Error> refuse(std::string_view why) const;

  File file_;
  std::string name_;  // for messages
  std::vector<uint64_t> shape_;
  uint64_t begin_ = 0;  // of the numbers, in the file
  size_t size_ = 4;     // of one, in bytes
};

// An archive of arrays. Its entries are stored as they are, with the sizes of zip64, as NumPy
// writes them.
class NpzWriter {
 public:
  // Writes to `out`, which must outlive it.
  explicit NpzWriter(ByteSink& out) : out_(out) {}
  // Bytes that the archive has besides the .npy files in it: of an array with a name of so many
  // bytes, and at its end.
  static uint64_t entry_bytes(size_t name) { return 2 * name + 132; }
  static constexpr uint64_t kEndBytes = 98;
  // Adds the array `name`. Fails as `out` does.
  Status add(std::string_view name, std::span<const uint64_t> shape,
             std::span<const float> numbers);
  // Call it once, at the end.
  Status finish();

 private:
  Status append(std::span<const uint8_t> bytes);
  ByteSink& out_;
  uint64_t written_ = 0;
  uint64_t entries_ = 0;
  std::string directory_;  // the entries' second headers
};

}  // namespace sluice::cli
