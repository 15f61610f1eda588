// JSON of files that may be hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace sluice {

// Parses an object. Fails with bad_file, which names the file: it is no object of JSON, or nested
// deeper than any real one. The text's size must have been limited.
Result<nlohmann::json> parse_checked(std::string_view text, std::string_view file);

}  // namespace sluice
