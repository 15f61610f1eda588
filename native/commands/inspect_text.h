// The output of sluice inspect as text, in 80 columns.
#pragma once  // inside

#include <string>

namespace sluice::cli {

// `json` is the result of inspect_json(), so that the text says the same as --json.
// `all`: no layers are grouped, and arrays and texts are whole; then lines may be longer.
std::string inspect_text(const std::string& path, const std::string& json, bool all);

}  // namespace sluice::cli
