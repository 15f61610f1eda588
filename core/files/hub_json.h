// The small JSON files of a model's folder on a hub: config.json, tokenizer_config.json and others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

// Its objects are maps, so that hostile ones with a million keys are read in time.
using HubJson = nlohmann::json;

// Reads a file that holds one object. `name`: of the file, for messages. Fails with bad_file if it
// is larger than 64 MB, no JSON, no object, nested deeper than any real one or has more parts.
Result<HubJson> read_hub_json(std::string_view name, std::string_view text);
// The same of a file that holds a list.
Result<HubJson> read_hub_list(std::string_view name, std::string_view text);

// The value at `key` of an object, or null if there is none or `object` is none. The same for those
// of one type.
inline const HubJson* member_of(const HubJson& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

inline const std::string* text_of_member(const HubJson& object, std::string_view key) {
  const HubJson* value = member_of(object, key);
  return value == nullptr ? nullptr : value->get_ptr<const std::string*>();
}

inline const bool* bool_of_member(const HubJson& object, std::string_view key) {
  const HubJson* value = member_of(object, key);
  return value == nullptr ? nullptr : value->get_ptr<const bool*>();
}

// An integer of at least 0.
inline const uint64_t* count_of_member(const HubJson& object, std::string_view key) {
  const HubJson* value = member_of(object, key);
  return value == nullptr ? nullptr : value->get_ptr<const uint64_t*>();
}

inline const HubJson::array_t* list_of_member(const HubJson& object, std::string_view key) {
  const HubJson* value = member_of(object, key);
  return value == nullptr ? nullptr : value->get_ptr<const HubJson::array_t*>();
}

}  // namespace sluice
