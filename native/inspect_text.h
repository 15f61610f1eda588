// A header for people, in 80 columns.
#pragma once

#include <string>

namespace sluice::cli {

// `json` is inspect_json()'s, so that both forms say the same.
std::string inspect_text(const std::string& path, const std::string& json);

}  // namespace sluice::cli
