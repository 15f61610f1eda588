#include "pass/config_reader.h"

#include <cmath>

#include "base/format.h"

namespace sluice {
namespace {

constexpr int64_t kMaxLayers = 512;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr uint64_t kRanks = 4;  // a pooling_type

}  // namespace

void ConfigReader::refuse(std::string_view name, std::string problem) {
  if (status_.has_value()) status_ = fail(Code::bad_file, key(name), problem);
}

template <typename T>
std::optional<T> ConfigReader::kept(Result<std::optional<T>> found) {
  if (found.has_value()) return *found;
  if (status_.has_value()) status_ = std::unexpected(std::move(found).error());
  return T{1};
}

int64_t ConfigReader::checked(std::string_view name, uint64_t value, int64_t max, int64_t min) {
  if (value >= static_cast<uint64_t>(min) && value <= static_cast<uint64_t>(max))
    return static_cast<int64_t>(value);
  refuse(name, concat(" is ", value, "; expected ", min, " to ", max));
  return 1;
}

int64_t ConfigReader::integer(std::string_view name, int64_t fallback, int64_t max, int64_t min) {
  const auto found = kept(gguf_.get_u64(key(name)));
  if (found.has_value()) return checked(name, *found, max, min);
  if (fallback >= 0) return fallback;
  if (status_.has_value()) {
    status_ = fail(Code::bad_file, "the header has no ", key(name),
                   ", which its architecture needs; the file is incomplete");
  }
  return 1;
}

int64_t ConfigReader::integer_or_0(std::string_view name, int64_t fallback, int64_t max) {
  const auto found = kept(gguf_.get_u64(key(name)));
  return found.has_value() ? checked(name, *found, max, 0) : fallback;
}

uint64_t ConfigReader::count(std::string_view name) {
  return kept(gguf_.get_u64(key(name))).value_or(0);
}

double ConfigReader::number(std::string_view name, double fallback) {
  const double value = kept(gguf_.get_f64(key(name))).value_or(fallback);
  if (std::isfinite(value)) return value;
  refuse(name, " is not a finite number; the file is damaged");
  return 1;
}

float ConfigReader::epsilon(std::string_view name) {
  if (find(name) == nullptr) {
    refuse(name, " is missing; expected 0 to below 1");
    return 1;
  }
  const double value = number(name, 1.0);
  if (!(value >= 0 && value < 1)) {
    refuse(name, concat(" is ", value, "; expected 0 to below 1"));
  }
  return static_cast<float>(value);
}

std::vector<int64_t> ConfigReader::per_layer(std::string_view name, int64_t n_layers,
                                             int64_t fallback, int64_t max, int64_t min) {
  std::vector<int64_t> all(static_cast<size_t>(n_layers), 1);
  const MetadataValue* value = find(name);
  if (value == nullptr || !value->is_array()) {
    all.assign(all.size(), integer(name, fallback, max, min));
  } else if (value->count != all.size()) {
    refuse(name,
           concat(" has ", value->count, " entries, but the model has ", n_layers, " layers"));
  } else {
    for (size_t i = 0; i < all.size(); ++i) {
      const auto entry = value->as_u64(i);
      if (!entry.has_value()) refuse(name, " is not an array of integers");
      all[i] = checked(name, entry.value_or(1), max, min);
    }
  }
  return all;
}

std::string_view ConfigReader::text(std::string_view name) {
  const auto found = gguf_.get_string(key(name));
  if (found.has_value()) return found->value_or("");
  if (status_.has_value()) status_ = std::unexpected(found.error());
  return "";
}

Result<Config> read_config(const Gguf& gguf, std::string_view architecture) {
  Config config;
  config.architecture = architecture;
  SLUICE_ASSIGN(const auto name, gguf.get_string("general.name"));
  config.name = name.value_or("");
  ConfigReader reader(gguf, architecture);
  config.n_blocks = reader.integer("block_count", -1, kMaxLayers);
  config.n_layers =
      config.n_blocks - reader.integer_or_0("nextn_predict_layers", 0, config.n_blocks - 1);
  config.n_embd = reader.integer("embedding_length", -1, kMaxWidth);
  config.context_length = reader.integer("context_length", -1, kMaxContext);
  const uint64_t pooling = reader.count("pooling_type");
  SLUICE_TRY(reader.status());
  if (pooling == kRanks) {
    return with_facts(fail(Code::unsupported_model, reader.key("pooling_type"), " is ", pooling,
                           ": the model ranks texts (a reranker), which Sluice doesn't compute; "
                           "take a model that makes vectors"),
                      {{"key", reader.key("pooling_type")}, {"value", pooling}});
  }
  if (pooling > kRanks) {
    return fail(Code::bad_file, reader.key("pooling_type"), " is ", pooling,
                "; expected 0 to 3: none, mean, the first token or the last");
  }
  config.pooling = static_cast<Pooling>(pooling);
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
  // The key vocab_size is not read: it is wrong in files whose vocabulary was extended.
  config.n_vocab = static_cast<int64_t>(embedding->dims[1]);
  return config;
}

}  // namespace sluice
