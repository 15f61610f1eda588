// The flags of the options of options.json.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "options/options.h"

namespace sluice::cli {

// The options of options.json that this command has: LoadOptions or GenerateOptions.
template <typename Options>
void add_options(CLI::App& app, Options& options);
// The options of the table that a command has, as text: the flag's name without dashes, the value.
std::vector<std::pair<std::string, std::string>> option_values(const std::string& command,
                                                               const GenerateOptions& options);
// Gives one of them, by its flag without dashes, the value that it has in `from`. False: there is
// none of this name.
bool copy_option(const std::string& command, const std::string& flag, const GenerateOptions& from,
                 GenerateOptions& to);

}  // namespace sluice::cli
