// Reads and checks the keys of one architecture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/gguf.h"
#include "pass/config.h"

namespace sluice {

// Fails with bad_file if a number is missing or absurd. n_vocab comes from the embedding tensor.
Result<Config> read_config(const Gguf& gguf, std::string_view architecture);

// Wider than any known model. A product of three such widths still fits 64 bits.
inline constexpr int64_t kMaxWidth = 1 << 20;
inline constexpr int64_t kMaxContext = int64_t{1} << 32;  // tokens

// Reads the keys of one architecture; names are given without its prefix. The first value that is
// missing, of another type or out of bounds becomes the error of status(), which names the key. A
// number that can't be read is returned as 1.
class ConfigReader {
 public:
  ConfigReader(const Gguf& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(concat(architecture, ".")) {}

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  const MetadataValue* find(std::string_view name) const { return gguf_.find(key(name)); }

  // An integer in min..max. If the key is missing, `fallback`; the key is required if that is < 0.
  int64_t integer(std::string_view name, int64_t fallback, int64_t max, int64_t min = 1);
  // An integer in 0..max; `fallback` if the key is missing.
  int64_t integer_or_0(std::string_view name, int64_t fallback, int64_t max);
  // An integer from 0 on; 0 if the key is missing.
  uint64_t count(std::string_view name);
  // A finite number; `fallback` if the key is missing.
  double number(std::string_view name, double fallback);
  // A norm's epsilon, from 0 to below 1. Required.
  float epsilon(std::string_view name);
  // An integer in min..max for every layer: an array with one entry a layer, or one number for all.
  // If the key is missing, `fallback`; it is required if that is < 0.
  std::vector<int64_t> per_layer(std::string_view name, int64_t n_layers, int64_t fallback,
                                 int64_t max, int64_t min = 1);
  // A text; "" if the key is missing.
  std::string_view text(std::string_view name);

  Status status() const { return status_; }  // bad_file

 private:
  int64_t checked(std::string_view name, uint64_t value, int64_t max, int64_t min = 1);
  void refuse(std::string_view name, std::string problem);
  template <typename T>
  std::optional<T> kept(Result<std::optional<T>> found);

  const Gguf& gguf_;
  std::string prefix_;
  Status status_;
};

}  // namespace sluice
