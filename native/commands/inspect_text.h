// The output of sluice inspect as text, in 80 columns.
#pragma once  // inside

#include <string>

namespace sluice::cli {

// `json` is the result of inspect_json(), so that the text says the same as --json.
std::string inspect_text(const std::string& path, const std::string& json);

}  // namespace sluice::cli
