#include "engine/model_sampling.h"

#include <optional>
#include <type_traits>

#include "base/format.h"
#include "options/rows.h"

namespace sluice {
namespace {

struct Key {
  std::string_view key;  // behind general.sampling.
  std::string_view option;
};
constexpr Key kKeys[] = {
    {"temp", "temperature"},
    {"top_k", "topK"},
    {"top_p", "topP"},
    {"min_p", "minP"},
    {"xtc_probability", "xtcProbability"},
    {"xtc_threshold", "xtcThreshold"},
    {"penalty_last_n", "repeatLastN"},
    {"penalty_repeat", "repeatPenalty"},
};

template <typename Field>
constexpr bool kIsNumber = std::is_same_v<Field, float> || std::is_same_v<Field, int32_t>;

// A number of a scalar, whatever its type.
std::optional<double> number_of(const MetadataValue& value) {
  if (value.is_array() || value.type == ValueType::string || value.type == ValueType::boolean)
    return std::nullopt;
  return value.as_f64(0);
}

void take(const MetadataValue& value, const std::string& key, const OptionRow& row, auto& field,
          ModelSampling& out) {
  using Field = std::remove_cvref_t<decltype(field)>;
  std::optional<double> number = number_of(value);
  // As for the program's flag: other engines take -1 for all.
  if (row.name == "topK" && number == -1) number = 0;
  bool fits = number && *number >= row.least && *number <= row.most;  // NaN fits nowhere
  if constexpr (std::is_integral_v<Field>)
    fits = fits && *number == static_cast<double>(static_cast<Field>(*number));
  if (fits) {
    field = static_cast<Field>(*number);
    out.given.push_back(row.name);
    return;
  }
  const std::string found = number ? concat(static_cast<float>(*number)) : "no number";
  out.notes.push_back({NoteCode::sampling_value_unusable,
                       concat(key, " is ", found, "; expected ", row.expected, ": left out"),
                       {{"key", key}, {"value", found}}});
}

}  // namespace

ModelSampling read_model_sampling(const Gguf& header) {
  ModelSampling out;
  for (const Key& each : kKeys) {
    const std::string key = concat("general.sampling.", each.key);
    const MetadataValue* value = header.find(key);
    if (value == nullptr) continue;
    each_option(out.defaults, [&](const OptionRow& row, auto& field) {
      if constexpr (kIsNumber<std::remove_cvref_t<decltype(field)>>)
        if (row.name == each.option) take(*value, key, row, field, out);
    });
  }
  return out;
}

}  // namespace sluice
