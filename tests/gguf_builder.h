// Writes GGUF files for tests: valid ones, and ones that are wrong in exactly one place. Nothing is
// checked here; every field can be given any value.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"
#include "quant/quant.h"

namespace sluice {

// The little-endian bytes of numbers.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::string bytes_of(T value) {
  return bytes_of(std::vector<T>{value});
}

// A string as it stands in a file: 64-bit length, then its bytes.
std::string gguf_string(std::string_view text);

inline std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class GgufBuilder {
 public:
  struct Entry {
    std::string key;
    uint32_t type;
    std::string value;                   // all bytes after the type
    std::optional<uint64_t> key_length;  // written in place of the key's own
  };
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> dims;
    std::string data;
    std::optional<uint64_t> offset;       // written in place of where the data is put
    std::optional<uint64_t> name_length;  // written in place of the name's own
    std::optional<uint32_t> n_dims;       // written in place of dims.size()
  };

  // What the header says, where it differs from what is there.
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> n_tensors;
  std::optional<uint64_t> n_kv;
  // How the data is laid out; kv_u32("general.alignment", ..) announces another one than 32.
  uint64_t alignment = 32;

  std::vector<Entry> entries;
  std::vector<Tensor> tensors;

  // Metadata. A key that is there already gets the new value, in its old place.
  GgufBuilder& kv_raw(std::string_view key, uint32_t type, std::string value);
  GgufBuilder& kv_u32(std::string_view key, uint32_t value);
  GgufBuilder& kv_i32(std::string_view key, int32_t value);
  GgufBuilder& kv_u64(std::string_view key, uint64_t value);
  GgufBuilder& kv_f32(std::string_view key, float value);
  GgufBuilder& kv_bool(std::string_view key, bool value);
  GgufBuilder& kv_string(std::string_view key, std::string_view value);
  GgufBuilder& kv_strings(std::string_view key, const std::vector<std::string>& values);
  template <typename T>
  GgufBuilder& kv_array(std::string_view key, ValueType element, const std::vector<T>& values) {
    return kv_array_raw(key, static_cast<uint32_t>(element), values.size(), bytes_of(values));
  }
  // An array whose header says `count` elements of type `element`, whatever `bytes` hold.
  GgufBuilder& kv_array_raw(std::string_view key, uint32_t element, uint64_t count,
                            std::string_view bytes);
  GgufBuilder& remove(std::string_view key);

  // Tensors; their data is laid out in this order, each at a multiple of `alignment`. dims[0] is
  // the row length. A name that is there already gets the new contents, in its old place.
  GgufBuilder& tensor(std::string_view name, uint32_t type, std::vector<uint64_t> dims,
                      std::string data);
  GgufBuilder& tensor(std::string_view name, Type type, std::vector<uint64_t> dims,
                      std::string data) {
    return tensor(name, static_cast<uint32_t>(type), std::move(dims), std::move(data));
  }
  GgufBuilder& remove_tensor(std::string_view name);
  // The tensor of this name, to be made wrong; it must be there.
  Tensor& find_tensor(std::string_view name);

  // The header alone, with its padding; and the whole file.
  std::string header() const;
  std::string build() const;
};

// A valid model: llama, 1 layer, 32 wide, 2 heads of 16, 64 in the feed-forward part, all F32, a
// SentencePiece vocabulary of 300 tokens (<unk>, <s>, </s>, 256 bytes, "▁", a to z, 14 pieces).
GgufBuilder tiny_model();
inline constexpr uint32_t kTinyVocab = 300;
std::vector<std::string> tiny_tokens();
// As many tokens for a byte-level BPE (`gpt2`): the 256 bytes, "th", "he", "the" and fillers.
std::vector<std::string> tiny_bpe_tokens();

// n numbers between -1 and 1, the same on every machine.
std::vector<float> test_values(size_t n, uint32_t seed);

// A file's bytes; none where it can't be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace sluice
