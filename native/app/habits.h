// Command lines as people know them from llama.cpp and ollama, read as this program's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::cli {

// True of an option that commands of others have: -hf, -ngl.
bool is_habit(std::string_view option);
// The arguments behind the program's name as this program has them: `rm NAME` is `cache delete
// NAME`, `-hf OWNER/REPO` is `-m hf:OWNER/REPO`. What changes no text and has no place here, like
// -ngl, is left out, and a note says so. Values of options stay as they are. Fails with
// invalid_argument, which tells how it is written here.
Result<std::vector<std::string>> read_habits(const CLI::App& program,
                                             const std::vector<std::string>& arguments);

}  // namespace sluice::cli
