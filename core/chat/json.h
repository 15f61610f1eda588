// Reads what a chat template works on from JSON.
#pragma once

#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice {

// The order of an object's members stays as in the text; the last of several members with one name
// counts. A whole number that doesn't fit into 64 bits becomes a float. Fails with
// invalid_argument: the text is no JSON, nests deeper than 64 levels or has more than 4 million
// values.
Result<jinja::Value> value_from_json(std::string_view json);

}  // namespace sluice
