#include "engine/model_sampling.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "base/format.h"
#include "options/rows.h"

namespace sluice {
namespace {

// One of the two fields is null.
struct Key {
  std::string_view key;  // behind general.sampling.
  std::string_view option;
  float GenerateOptions::*number;
  int32_t GenerateOptions::*whole;
};
constexpr Key kKeys[] = {
    {"temp", "temperature", &GenerateOptions::temperature, nullptr},
    {"top_k", "topK", nullptr, &GenerateOptions::top_k},
    {"top_p", "topP", &GenerateOptions::top_p, nullptr},
    {"min_p", "minP", &GenerateOptions::min_p, nullptr},
    {"xtc_probability", "xtcProbability", &GenerateOptions::xtc_probability, nullptr},
    {"xtc_threshold", "xtcThreshold", &GenerateOptions::xtc_threshold, nullptr},
    {"penalty_last_n", "repeatLastN", nullptr, &GenerateOptions::repeat_last_n},
    {"penalty_repeat", "repeatPenalty", &GenerateOptions::repeat_penalty, nullptr},
};

const OptionRow& row_of(std::string_view option) {
  const OptionRow* row = kGenerateOptions;
  while (row->name != option) ++row;
  return *row;
}

// A number of a scalar, whatever its type.
std::optional<double> number_of(const MetadataValue& value) {
  if (value.is_array() || value.type == ValueType::string || value.type == ValueType::boolean)
    return std::nullopt;
  return value.as_f64(0);
}

}  // namespace

ModelSampling read_model_sampling(const Gguf& header) {
  ModelSampling out;
  for (const Key& each : kKeys) {
    const std::string key = concat("general.sampling.", each.key);
    const MetadataValue* value = header.find(key);
    if (value == nullptr) continue;
    const OptionRow& row = row_of(each.option);
    std::optional<double> number = number_of(*value);
    // As for the program's flag: other engines take -1 for all.
    if (each.option == "topK" && number == -1) number = 0;
    const bool fits = number && *number >= row.least && *number <= row.most &&  // NaN doesn't
                      (each.whole == nullptr || *number == std::floor(*number));
    if (!fits) {
      const std::string found = number ? concat(static_cast<float>(*number)) : "no number";
      out.notes.push_back({NoteCode::sampling_value_unusable,
                           concat(key, " is ", found, "; expected ", row.expected, ": left out"),
                           {{"key", key}, {"value", found}}});
      continue;
    }
    if (each.whole != nullptr) {
      out.defaults.*each.whole = static_cast<int32_t>(*number);
    } else {
      out.defaults.*each.number = static_cast<float>(*number);
    }
    out.given.emplace_back(each.option, static_cast<float>(*number));
  }
  return out;
}

}  // namespace sluice
