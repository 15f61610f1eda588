// Translates command lines of llama.cpp and ollama to this program's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::cli {

// True of an option of other programs: -hf, -ngl.
bool is_habit(std::string_view option);
// The translated arguments: `rm NAME` becomes `cache delete NAME`, `-hf OWNER/REPO` becomes
// `-m hf:OWNER/REPO`. Options that change no text and have no equivalent, like -ngl, are left out
// with a note. Values of options stay unchanged. Fails with invalid_argument, which tells what to
// write instead.
Result<std::vector<std::string>> read_habits(const CLI::App& program,
                                             const std::vector<std::string>& arguments);

}  // namespace sluice::cli
