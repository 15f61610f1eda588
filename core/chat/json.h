// Reads what a chat template works on from JSON.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice {

// The order of an object's members stays as in the text; the last of several members with one name
// counts. A whole number that doesn't fit into 64 bits becomes a float. All is input: texts, names
// of members among them, are fields that are counted on from `fields` in the order of the JSON.
// Fails with invalid_argument: the text is no JSON, nests deeper than 64 levels or has more than a
// million values and names.
Result<jinja::Value> value_from_json(std::string_view json, uint32_t& fields);
inline Result<jinja::Value> value_from_json(std::string_view json) {
  uint32_t fields = 0;
  return value_from_json(json, fields);
}

}  // namespace sluice
