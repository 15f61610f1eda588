// Writes GGUF files for tests, valid ones and ones that are wrong in one place. It checks nothing:
// every field can have any value.
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

// A string as in a file: its length in 64 bits, then its bytes.
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
    std::optional<uint64_t> offset;       // written in place of the data's real offset
    std::optional<uint64_t> name_length;  // written in place of the name's own
    std::optional<uint32_t> n_dims;       // written in place of dims.size()
  };

  // What the header says. The optional ones are written in place of the real counts.
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> n_tensors;
  std::optional<uint64_t> n_kv;
  // The alignment of the data. If it is not 32, kv_u32("general.alignment", ..) must say so.
  uint64_t alignment = 32;

  std::vector<Entry> entries;
  std::vector<Tensor> tensors;

  // These set metadata. A key that exists already keeps its place and gets the new value.
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
  // An array whose header says `count` elements of type `element`, no matter what `bytes` are.
  GgufBuilder& kv_array_raw(std::string_view key, uint32_t element, uint64_t count,
                            std::string_view bytes);
  GgufBuilder& remove(std::string_view key);

  // These add tensors. Their data follow in this order, each at a multiple of `alignment`. dims[0]
  // is the row length. A name that exists already keeps its place and gets the new contents.
  GgufBuilder& tensor(std::string_view name, uint32_t type, std::vector<uint64_t> dims,
                      std::string data);
  GgufBuilder& tensor(std::string_view name, Type type, std::vector<uint64_t> dims,
                      std::string data) {
    return tensor(name, static_cast<uint32_t>(type), std::move(dims), std::move(data));
  }
  GgufBuilder& remove_tensor(std::string_view name);
  // The tensor of this name, for changes. It must exist.
  Tensor& find_tensor(std::string_view name);

  // The header with its padding, and the whole file.
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

// A file's bytes; empty if it can't be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace sluice
