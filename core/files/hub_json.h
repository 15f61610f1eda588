// The small JSON files of a model's folder on a hub: config.json, tokenizer_config.json and others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/format.h"
#include "base/result.h"

namespace sluice {

// Its objects are maps, so that hostile ones with a million keys are read in time. nlohmann-json
// parses and frees any depth without recursion.
using HubJson = nlohmann::json;

inline constexpr size_t kMaxHubJson = 64u << 20;  // bytes; real ones have some hundred KB

// Reads a file that holds one object. `name`: of the file, for messages. Fails with bad_file.
inline Result<HubJson> read_hub_json(std::string_view name, std::string_view text) {
  if (text.size() > kMaxHubJson) {
    return fail(Code::bad_file, name, " has ", human_bytes(text.size()), "; at most ",
                human_bytes(kMaxHubJson), " are expected");
  }
  HubJson out = HubJson::parse(text.begin(), text.end(), nullptr, false);
  if (!out.is_object()) {
    return fail(Code::bad_file, name, out.is_discarded() ? " is no valid JSON" : " is no object",
                ". Download it again");
  }
  return out;
}

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
