// GGUF v2 and v3 headers (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), parsed
// incrementally: bytes come in pieces of any size.
//
//   "GGUF" | u32 version | u64 n_tensors | u64 n_kv | n_kv x (string key, u32 type, value)
//   | n_tensors x (string name, u32 n_dims, u64 dim[n_dims], u32 type, u64 offset)
//   | padding to alignment | data
// string = u64 length + bytes; array = u32 element type, u64 count, elements. Little-endian.
//
// Any input may be hostile. Every count is checked against limits before it is used, and memory is
// allocated as bytes arrive. A wrong header gives bad_file, with what was found in it.
#pragma once  // face

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice {

enum class ValueType : uint32_t {
  u8 = 0,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};
std::string_view value_type_name(ValueType type);
// Bytes of one scalar in a file; 0 for strings and arrays.
uint32_t value_type_size(ValueType type);

// One metadata value. `bytes` holds a scalar, an array of scalars or a string (without its length)
// as in the file. Of an array of strings it holds the texts end to end; text i ends at ends[i].
struct MetadataValue {
  ValueType type = ValueType::u8;
  ValueType element = ValueType::u8;  // of an array
  uint64_t count = 1;                 // elements of an array; 1 for others
  std::string bytes;
  std::vector<uint32_t> ends;

  bool is_array() const { return type == ValueType::array; }
  std::string_view text(uint64_t i = 0) const;           // the i-th string
  std::optional<uint64_t> as_u64(uint64_t i = 0) const;  // any integer or bool >= 0, exactly
  std::optional<int64_t> as_i64(uint64_t i = 0) const;
  std::optional<double> as_f64(uint64_t i = 0) const;  // any number
  std::optional<bool> as_bool(uint64_t i = 0) const;
};

// A value in a message: "u32 1", "an array of 3 x i32".
std::string describe(const MetadataValue& value);

struct TensorInfo {
  std::string name;
  uint32_t type = 0;  // ggml's number; file_type() in quant/quant.h names it
  uint32_t n_dims = 0;
  uint64_t dims[4] = {1, 1, 1, 1};  // dims[0] is the row length
  uint64_t offset = 0;              // from the start of the data
  uint64_t bytes = 0;               // checked: no overflow
};

// One of the files of a model, which lie end to end (model_parser.h).
struct FilePlace {
  uint64_t begin = 0;
  uint64_t bytes = 0;  // up to the end of its last tensor; the file may be longer
};

struct Gguf {
  uint32_t version = 0;
  uint64_t alignment = 32;
  // Where the data starts in the file, aligned; the header's end if there are no tensors.
  uint64_t data_offset = 0;
  // Up to the end of the last tensor; of a split model, with the headers of the later files.
  uint64_t data_bytes = 0;
  std::vector<std::pair<std::string, MetadataValue>> metadata;  // in the file's order, keys unique
  std::vector<TensorInfo> tensors;                              // in the file's order, names unique
  std::vector<uint32_t> by_name;  // the indices of `tensors` in the order of names
  std::vector<FilePlace> files;   // more than one if the model is split
  uint64_t header_hash = 0;       // XXH64 of the headers' bytes, with the padding before the data

  const MetadataValue* find(std::string_view key) const;
  // Sets by_name, by which tensors are found. The parser does it; whoever changes the tensors'
  // names or number does it again.
  void index_tensors();
  // The tensor of this name, or null. Of several, which the parser refuses, the first of the file.
  const TensorInfo* find_tensor(std::string_view name) const;
  // Typed reads. Nothing if the key is missing; fails with bad_file if it has another type.
  // Integers may have any width.
  Result<std::optional<uint64_t>> get_u64(std::string_view key) const;
  Result<std::optional<double>> get_f64(std::string_view key) const;
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> get_string(std::string_view key) const;

  // File size that the header promises: data_offset + data_bytes. Of a split model, that of all its
  // files end to end.
  uint64_t file_bytes() const { return data_offset + data_bytes; }
};

class GgufParser {
 public:
  GgufParser();
  ~GgufParser();
  GgufParser(GgufParser&&) noexcept;
  GgufParser& operator=(GgufParser&&) noexcept;

  // Takes the next bytes of the file. Returns how many of them belong to the header; if not all
  // do, it is complete. The padding before the data is part of the header.
  Result<size_t> push(std::span<const uint8_t> bytes);
  bool done() const;
  // The file's size bounds every count and the tensors' places. 0: unknown. Call it before push().
  void set_file_size(uint64_t bytes);
  // Call this at the end of the file. Fails with bad_file, which says where it ended, unless
  // done().
  Status finish() const;
  // Moves the header out. Only once done().
  Gguf take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Parses a whole header. `bytes` may go beyond it; file_size as above.
Result<Gguf> parse_gguf(std::span<const uint8_t> bytes, uint64_t file_size = 0);

}  // namespace sluice
