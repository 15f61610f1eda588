// What every family's header says, and the checked reader of the numbers that a family alone knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/gguf.h"

namespace sluice {

// How a model is cut where not all of it is to be in memory at once.
struct Cut {
  int head_parts = 1;        // pieces, of whole strips, that the matrix of logits comes in, at most
  bool single_rows = false;  // of the embedding single rows are held, not the table
};

struct Config {
  std::string architecture;  // general.architecture, also the prefix of its keys
  std::string name;          // general.name, may be empty
  int64_t n_layers = 0;
  int64_t n_embd = 0;  // width of the residual stream
  int64_t n_vocab = 0;
  int64_t context_length = 0;  // that the model was trained for
  Cut cut;                     // as it is asked for; all else is the header's
};

// bad_file for absurd or missing numbers. n_vocab comes from the embedding tensor.
Result<Config> read_config(const Gguf& gguf, std::string_view architecture);

// Wider than any model known, small enough that products of a few of them fit 64 bits.
inline constexpr int64_t kMaxWidth = 1 << 20;

// Reads the keys of one architecture: names are without its prefix. The first value that is
// missing, has another type or is out of bounds is kept as the error of status(), which names its
// key; what is returned in its place is 1.
class ConfigReader {
 public:
  ConfigReader(const Gguf& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(concat(architecture, ".")) {}

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  const Value* find(std::string_view name) const { return gguf_.find(key(name)); }

  // An integer in 1..max; `fallback` < 0 means that it must be there.
  int64_t integer(std::string_view name, int64_t fallback, int64_t max);
  // Any integer from 0 on; 0 where there is none.
  uint64_t count(std::string_view name);
  // A finite number.
  double number(std::string_view name, double fallback);
  // A norm's epsilon, which must be there: 0 up to 1.
  float epsilon(std::string_view name);
  // One entry a layer; a single number counts for all.
  std::vector<int64_t> per_layer(std::string_view name, int64_t n_layers, int64_t fallback,
                                 int64_t max);
  // A text, "" where there is none.
  std::string_view text(std::string_view name);

  Status status() const { return status_; }  // bad_file

 private:
  int64_t checked(std::string_view name, uint64_t value, int64_t max);
  void refuse(std::string_view name, std::string problem);
  template <typename T>
  std::optional<T> kept(Result<std::optional<T>> found);

  const Gguf& gguf_;
  std::string prefix_;
  Status status_;
};

}  // namespace sluice
