#include "models/config.h"

#include <cmath>

namespace sluice {
namespace {

constexpr int64_t kMaxLayers = 512;
constexpr int64_t kMaxVocab = 1 << 24;

}  // namespace

Result<int64_t> ConfigReader::checked(std::string_view name, uint64_t value, int64_t max) const {
  if (value < 1 || value > static_cast<uint64_t>(max)) {
    return fail(Code::bad_file, key(name), " is ", value, "; expected 1 to ", max);
  }
  return static_cast<int64_t>(value);
}

Result<int64_t> ConfigReader::integer(std::string_view name, int64_t fallback, int64_t max) const {
  SLUICE_ASSIGN(const auto found, gguf_.get_u64(key(name)));
  if (!found.has_value()) {
    if (fallback >= 0) return fallback;
    return fail(Code::bad_file, "the header has no ", key(name),
                ", which its architecture needs; the file is incomplete");
  }
  return checked(name, *found, max);
}

Result<uint64_t> ConfigReader::count(std::string_view name) const {
  SLUICE_ASSIGN(const auto found, gguf_.get_u64(key(name)));
  return found.value_or(0);
}

Result<double> ConfigReader::number(std::string_view name, double fallback) const {
  SLUICE_ASSIGN(const auto found, gguf_.get_f64(key(name)));
  const double value = found.value_or(fallback);
  if (!std::isfinite(value)) {
    return fail(Code::bad_file, key(name), " is no finite number; the file is damaged");
  }
  return value;
}

Result<float> ConfigReader::epsilon(std::string_view name) const {
  SLUICE_ASSIGN(const double value, number(name, -1.0));
  if (!(value >= 0 && value < 1)) {
    return fail(Code::bad_file, key(name), " is ", value, "; a small number from 0 on is expected");
  }
  return static_cast<float>(value);
}

Result<std::vector<int64_t>> ConfigReader::per_layer(std::string_view name, int64_t n_layers,
                                                     int64_t fallback, int64_t max) const {
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

Result<std::string_view> ConfigReader::text(std::string_view name) const {
  SLUICE_ASSIGN(const auto found, gguf_.get_string(key(name)));
  return found.value_or("");
}

Result<Config> read_config(const Gguf& gguf, std::string_view architecture) {
  Config config;
  config.architecture = architecture;
  SLUICE_ASSIGN(const auto name, gguf.get_string("general.name"));
  config.name = name.value_or("");
  const ConfigReader reader(gguf, architecture);
  SLUICE_ASSIGN(config.n_layers, reader.integer("block_count", -1, kMaxLayers));
  SLUICE_ASSIGN(config.n_embd, reader.integer("embedding_length", -1, kMaxWidth));
  SLUICE_ASSIGN(config.context_length, reader.integer("context_length", -1, int64_t{1} << 32));
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
  // The key vocab_size says nothing new, and in files whose vocabulary was extended the wrong
  // thing.
  config.n_vocab = static_cast<int64_t>(embedding->dims[1]);
  return config;
}

}  // namespace sluice
