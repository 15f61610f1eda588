#include "models/config.h"

#include <algorithm>
#include <cmath>

#include "models/registry.h"

namespace sluice {
namespace {

// Wider than any model known, small enough that products of a few of them fit 64 bits.
constexpr int64_t kMaxLayers = 512;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxHeadDim = 1024;

class Reader {
 public:
  Reader(const Gguf& gguf, std::string_view architecture)
      : gguf_(gguf), prefix_(concat(architecture, ".")) {}

  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  const Value* find(std::string_view name) const { return gguf_.find(key(name)); }

  // An integer in 1..max; `fallback` < 0 means that it must be there.
  Result<int64_t> integer(std::string_view name, int64_t fallback, int64_t max) const {
    SLUICE_ASSIGN(const auto found, gguf_.get_u64(key(name)));
    if (!found.has_value()) {
      if (fallback >= 0) return fallback;
      return fail(Code::bad_file, "the header has no ", key(name),
                  ", which its architecture needs; the file is incomplete");
    }
    return checked(name, *found, max);
  }

  Result<double> number(std::string_view name, double fallback) const {
    SLUICE_ASSIGN(const auto found, gguf_.get_f64(key(name)));
    const double value = found.value_or(fallback);
    if (!std::isfinite(value)) {
      return fail(Code::bad_file, key(name), " is no finite number; the file is damaged");
    }
    return value;
  }

  // One entry a layer; a single number counts for all.
  Result<std::vector<int64_t>> per_layer(std::string_view name, int64_t n_layers, int64_t fallback,
                                         int64_t max) const {
    const Value* value = find(name);
    if (value == nullptr || !value->is_array()) {
      SLUICE_ASSIGN(const int64_t all, integer(name, fallback, max));
      return std::vector<int64_t>(static_cast<size_t>(n_layers), all);
    }
    if (value->count != static_cast<uint64_t>(n_layers)) {
      return fail(Code::bad_file, key(name), " has ", value->count, " entries, but the model has ",
                  n_layers, " layers");
    }
    std::vector<int64_t> out;
    for (uint64_t i = 0; i < value->count; ++i) {
      const auto entry = value->as_u64(i);
      if (!entry.has_value()) return fail(Code::bad_file, key(name), " is no array of integers");
      SLUICE_ASSIGN(const int64_t good, checked(name, *entry, max));
      out.push_back(good);
    }
    return out;
  }

 private:
  Result<int64_t> checked(std::string_view name, uint64_t value, int64_t max) const {
    if (value < 1 || value > static_cast<uint64_t>(max)) {
      return fail(Code::bad_file, key(name), " is ", value, "; expected 1 to ", max);
    }
    return static_cast<int64_t>(value);
  }

  const Gguf& gguf_;
  std::string prefix_;
};

Status read_rope(const Reader& reader, const Gguf& gguf, Config& config) {
  SLUICE_ASSIGN(config.rope_dims,
                reader.integer("rope.dimension_count", config.head_dim, config.head_dim));
  if (config.rope_dims % 2 != 0) {
    return fail(Code::bad_file, reader.key("rope.dimension_count"), " is ", config.rope_dims,
                "; an even number is expected");
  }
  SLUICE_ASSIGN(config.rope_freq_base, reader.number("rope.freq_base", 10000.0));
  if (!(config.rope_freq_base > 0)) {
    return fail(Code::bad_file, reader.key("rope.freq_base"), " is ", config.rope_freq_base,
                "; a number above 0 is expected");
  }
  SLUICE_ASSIGN(const auto scaling, gguf.get_string(reader.key("rope.scaling.type")));
  if (scaling.has_value() && *scaling != "none" && *scaling != "linear") {
    return fail(Code::unsupported_model, "the model's positions are scaled by the method \"",
                printable(*scaling), "\", which Sluice doesn't compute; expected none or linear");
  }
  if (scaling.value_or("") == "none") return {};
  // Old files have rope.scale_linear alone.
  SLUICE_ASSIGN(const double old_factor, reader.number("rope.scale_linear", 1.0));
  SLUICE_ASSIGN(const double factor, reader.number("rope.scaling.factor", old_factor));
  if (!(factor >= 0)) {
    return fail(Code::bad_file, reader.key("rope.scaling.factor"), " is ", factor,
                "; a positive number is expected");
  }
  config.rope_scale_linear = factor == 0 ? 1.0 : factor;
  return {};
}

Status read_heads(const Reader& reader, Config& config) {
  SLUICE_ASSIGN(config.n_heads,
                reader.per_layer("attention.head_count", config.n_layers, -1, kMaxWidth));
  if (reader.find("attention.head_count_kv") == nullptr) {
    config.n_kv_heads = config.n_heads;
  } else {
    SLUICE_ASSIGN(config.n_kv_heads,
                  reader.per_layer("attention.head_count_kv", config.n_layers, -1, kMaxWidth));
  }
  for (size_t i = 0; i < config.n_heads.size(); ++i) {
    if (config.n_heads[i] % config.n_kv_heads[i] != 0) {
      return fail(Code::bad_file, "layer ", i, " has ", config.n_heads[i], " query heads over ",
                  config.n_kv_heads[i], " key heads; the first must be a multiple of the second");
    }
  }
  int64_t head_dim = 0;
  if (reader.find("attention.key_length") != nullptr) {
    SLUICE_ASSIGN(head_dim, reader.integer("attention.key_length", -1, kMaxHeadDim));
  } else {
    if (config.n_embd % config.n_heads[0] != 0) {
      return fail(Code::bad_file, "the width ", config.n_embd, " is no multiple of the ",
                  config.n_heads[0], " heads");
    }
    head_dim = config.n_embd / config.n_heads[0];
  }
  SLUICE_ASSIGN(const int64_t value_dim,
                reader.integer("attention.value_length", head_dim, kMaxHeadDim));
  if (value_dim != head_dim) {
    return fail(Code::unsupported_model, "keys have ", head_dim, " elements a head and values ",
                value_dim, "; Sluice computes only models where both are the same");
  }
  if (head_dim > kMaxHeadDim || head_dim % 2 != 0) {
    return fail(Code::bad_file, "a head has ", head_dim, " elements; an even number up to ",
                kMaxHeadDim, " is expected");
  }
  for (size_t i = 0; i < config.n_heads.size(); ++i) {
    if (config.n_heads[i] * head_dim > kMaxWidth) {
      return fail(Code::bad_file, config.n_heads[i], " heads of ", head_dim,
                  " elements are wider than ", kMaxWidth);
    }
  }
  config.head_dim = head_dim;
  return {};
}

}  // namespace

int64_t Config::max_heads() const { return *std::max_element(n_heads.begin(), n_heads.end()); }
int64_t Config::max_kv_heads() const {
  return *std::max_element(n_kv_heads.begin(), n_kv_heads.end());
}
int64_t Config::max_ff() const { return *std::max_element(n_ff.begin(), n_ff.end()); }

Result<Config> read_config(const Gguf& gguf) {
  Config config;
  SLUICE_ASSIGN(const auto architecture, gguf.get_string("general.architecture"));
  if (!architecture.has_value()) {
    return fail(Code::bad_file,
                "the header has no general.architecture; this is no language model's file");
  }
  const Family* family = find_family(*architecture);
  if (family == nullptr) {
    return fail(Code::unsupported_model, "the model's architecture is \"", printable(*architecture),
                "\"; Sluice computes ", family_names());
  }
  config.architecture = *architecture;
  SLUICE_ASSIGN(const auto name, gguf.get_string("general.name"));
  config.name = name.value_or("");
  config.rope_pairs = family->rope_pairs;
  config.qk_norm = family->qk_norm;

  const Reader reader(gguf, *architecture);
  SLUICE_ASSIGN(const auto experts, gguf.get_u64(reader.key("expert_count")));
  if (experts.value_or(0) > 0) {
    return fail(Code::unsupported_model, "the model is a mixture of ", *experts,
                " experts, which Sluice doesn't compute");
  }
  SLUICE_ASSIGN(config.n_layers, reader.integer("block_count", -1, kMaxLayers));
  SLUICE_ASSIGN(config.n_embd, reader.integer("embedding_length", -1, kMaxWidth));
  SLUICE_ASSIGN(config.context_length, reader.integer("context_length", -1, int64_t{1} << 32));
  SLUICE_ASSIGN(config.n_ff,
                reader.per_layer("feed_forward_length", config.n_layers, -1, kMaxWidth));
  SLUICE_TRY(read_heads(reader, config));
  SLUICE_TRY(read_rope(reader, gguf, config));
  SLUICE_ASSIGN(const double eps, reader.number("attention.layer_norm_rms_epsilon", -1.0));
  if (!(eps >= 0 && eps < 1)) {
    return fail(Code::bad_file, reader.key("attention.layer_norm_rms_epsilon"), " is ", eps,
                "; a small number from 0 on is expected");
  }
  config.rms_eps = static_cast<float>(eps);

  const TensorInfo* embedding = gguf.find_tensor("token_embd.weight");
  if (embedding == nullptr) {
    return fail(
        Code::bad_file,
        "the file has no tensor token_embd.weight; it holds a vocabulary alone or is incomplete");
  }
  if (embedding->dims[1] > static_cast<uint64_t>(kMaxVocab)) {
    return fail(Code::bad_file, "token_embd.weight has ", embedding->dims[1], " rows; at most ",
                kMaxVocab, " are expected");
  }
  config.n_vocab = static_cast<int64_t>(embedding->dims[1]);
  // The key vocab_size says nothing new, and in files whose vocabulary was extended the wrong
  // thing.
  config.qkv_bias = gguf.find_tensor("blk.0.attn_q.bias") != nullptr;
  return config;
}

}  // namespace sluice
