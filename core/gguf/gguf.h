// GGUF v2 and v3 headers (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), parsed
// incrementally: bytes come in pieces of any size.
//
//   "GGUF" | u32 version | u64 n_tensors | u64 n_kv | n_kv x (string key, u32 type, value)
//   | n_tensors x (string name, u32 n_dims, u64 dim[n_dims], u32 type, u64 offset)
//   | padding to alignment | data
// string = u64 length + bytes; array = u32 element type, u64 count, elements. Little-endian.
//
// All input is hostile: every count is checked against limits before it is used, nothing is
// allocated for bytes that have not come, and each refusal is bad_file with what was found.
#pragma once

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

// One metadata value. Scalars and strings stand in `bytes` as in the file (without the length);
// an array of scalars too; an array of strings has its texts in `bytes` end to end and `ends[i]`,
// where text i ends.
struct Value {
  ValueType type = ValueType::u8;
  ValueType element = ValueType::u8;  // of an array
  uint64_t count = 1;                 // of an array's elements; 1 for others
  std::string bytes;
  std::vector<uint32_t> ends;

  bool is_array() const { return type == ValueType::array; }
  std::string_view text(uint64_t i = 0) const;           // strings: the i-th
  std::optional<uint64_t> as_u64(uint64_t i = 0) const;  // any integer or bool >= 0, exactly
  std::optional<int64_t> as_i64(uint64_t i = 0) const;
  std::optional<double> as_f64(uint64_t i = 0) const;  // any number
  std::optional<bool> as_bool(uint64_t i = 0) const;
};

struct TensorInfo {
  std::string name;
  uint32_t type = 0;  // ggml's number; file_type() in quant/quant.h names it
  uint32_t n_dims = 0;
  uint64_t dims[4] = {1, 1, 1, 1};  // dims[0] is the row length
  uint64_t offset = 0;              // from the start of the data
  uint64_t bytes = 0;               // checked: no overflow
};

struct Gguf {
  uint32_t version = 0;
  uint64_t alignment = 32;
  uint64_t data_offset = 0;  // where the data starts in the file, aligned; without tensors: the
                             // header's end
  uint64_t data_bytes = 0;   // up to the end of the last tensor
  std::vector<std::pair<std::string, Value>> metadata;  // in the file's order, keys unique
  std::vector<TensorInfo> tensors;                      // in the file's order, names unique

  const Value* find(std::string_view key) const;
  const TensorInfo* find_tensor(std::string_view name) const;
  // Typed reads: nothing if the key is absent, bad_file if it is there with another type (an
  // integer of any width counts where it fits).
  Result<std::optional<uint64_t>> get_u64(std::string_view key) const;
  Result<std::optional<double>> get_f64(std::string_view key) const;
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  Result<std::optional<std::string_view>> get_string(std::string_view key) const;

  // File size that the header promises: data_offset + data_bytes.
  uint64_t file_bytes() const { return data_offset + data_bytes; }
};

class GgufParser {
 public:
  GgufParser();
  ~GgufParser();
  GgufParser(GgufParser&&) noexcept;
  GgufParser& operator=(GgufParser&&) noexcept;

  // Takes the next bytes of the file; returns how many of them belong to the header (fewer than
  // given only when the header is complete; padding before the data counts as header).
  // `file_size`, where known (0 = unknown), bounds every count and the tensors' places.
  Result<size_t> push(std::span<const uint8_t> bytes);
  bool done() const;
  void set_file_size(uint64_t bytes);
  // The file ended: bad_file, saying where, unless done().
  Status finish() const;
  // The header, once done(). Moves it out.
  Gguf take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A whole header at once (file_size as above; bytes may go beyond the header).
Result<Gguf> parse_gguf(std::span<const uint8_t> bytes, uint64_t file_size = 0);

}  // namespace sluice
