// Reads what a chat template works on from JSON.
#pragma once

#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice {

// The order of an object's members stays as in the text; the last of several members with one name
// counts. A whole number that doesn't fit into 64 bits becomes a float.
Result<jinja::Value> value_from_json(std::string_view json);

}  // namespace sluice
