// A conversion while it is planned: a family (families.h) reads the config, sets the keys and says
// which tensors there are, of which shapes, and where each comes from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "files/convert/hf_config.h"
#include "files/convert/hf_weights.h"
#include "files/convert/pooling.h"
#include "files/convert/recipe.h"
#include "gguf/gguf.h"

namespace sluice {

// Sizes that nearly all families have.
struct ModelSizes {
  uint64_t layers = 0;
  uint64_t context = 0;
  uint64_t width = 0;  // of the residual stream
  uint64_t ff = 0;     // of the feed-forward part
  uint64_t heads = 0;
  uint64_t kv_heads = 0;
  uint64_t head_dim = 0;
  uint64_t vocab = 0;  // rows of the embedding

  uint64_t q_rows() const { return heads * head_dim; }
  uint64_t kv_rows() const { return kv_heads * head_dim; }
};

class Conversion {
 public:
  // The weights must outlive it. `starts`: what the names of the model's tensors may begin with;
  // the first one that fits is left out.
  Conversion(HfConfig given, const HfWeights& weights, std::string architecture,
             std::vector<std::string> starts);

  HfConfig config;
  const std::string architecture;
  Gguf gguf;
  std::vector<Recipe> recipes;         // of gguf.tensors
  std::vector<std::string> remarks;    // what a user should know of the result
  std::optional<Pooling> pooling;      // of the folder, if it makes one vector of a text
  std::optional<uint64_t> text_limit;  // of the folder: tokens at which texts are cut

  // --- keys ----------------------------------------------------------------------------------
  // "llama.block_count"
  std::string key(std::string_view name) const { return architecture + "." + std::string(name); }
  void set(std::string_view name, MetadataValue value);
  void set(std::string_view name, uint64_t value);  // u32
  // f32. Refuses what is below 0, or more than an f32 holds.
  void set(std::string_view name, double value);

  // --- tensors -------------------------------------------------------------------------------
  struct How {
    bool optional = false;    // nothing is added if there is no such tensor
    bool transposed = false;  // the source is [in, out]
    bool squeezed = false;    // the source is [out, 1, in]
    bool cut = false;         // the source may have more rows, which are left out
    ValueChange change = ValueChange::none;
    std::vector<uint32_t> row_order = {};
    std::vector<uint32_t> column_order = {};
  };
  // Whether the weights have a tensor of this name (without what names begin with).
  bool has(const std::string& name) const { return names_.contains(name); }
  // Adds a tensor. `shape`: {elements} or {rows, columns}, as the result has them; the source must
  // have it. False: it isn't there, which is an error unless it is optional.
  bool add(const std::string& to, const std::string& from, std::vector<uint64_t> shape, How how);
  bool add(const std::string& to, const std::string& from, std::vector<uint64_t> shape) {
    return add(to, from, std::move(shape), How());
  }
  // Adds a tensor of one matrix for each expert: the tensors `from`, each [rows, columns].
  void add_experts(const std::string& to, const std::vector<std::string>& from, uint64_t rows,
                   uint64_t columns);
  // The same, of a tensor [experts, source_rows, columns]: of each expert `rows` from `first` on.
  void add_experts(const std::string& to, const std::string& from, uint64_t experts,
                   uint64_t source_rows, uint64_t first, uint64_t rows, uint64_t columns);
  // Adds a tensor of these numbers.
  void add_values(const std::string& to, std::vector<float> values);
  // Leaves out the tensors whose names begin or end so. True: there were some.
  bool drop_starts(std::string_view start);
  bool drop_ends(std::string_view end);
  // Whether two tensors hold the same bytes.
  Result<bool> are_equal(const std::string& a, const std::string& b);

  // The config's status, then: bad_file or unsupported_model for tensors that nobody took.
  Status finish();

 private:
  struct Source {
    uint32_t tensor;
    bool taken = false;
  };
  const SafeTensor* take(const std::string& name, bool optional, Piece& piece);
  bool find_scale(const std::string& name, const SafeTensor& tensor, Recipe& recipe, Piece& piece);
  void push(const std::string& to, const std::vector<uint64_t>& dims, Recipe recipe);

  const HfWeights& weights_;
  std::map<std::string, Source, std::less<>> names_;
  std::vector<uint64_t> scale_block_;  // of quantization_config: rows, columns
};

}  // namespace sluice
