// Help laid out for 80 columns, by CLI11's own lists of commands, options and groups.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {

// A command; its --help ends with `footer`, the exit status and the environment.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& footer);
std::shared_ptr<CLI::Formatter> help_formatter();

// The name of an option that comes first: -p of -p, --prompt.
std::string first_name(const CLI::Option& option);
// All its names and what stands behind them: "-p, --prompt TEXT".
std::string names_and_value(const CLI::Option& option);
// What stands behind its names: "TEXT"; "" for a flag.
std::string value_of(const CLI::Option& option);
// What a usage line lists behind the command's name: "[MODEL]", "[-n N]", ...
std::vector<std::string> usage_words(const CLI::App& app);

}  // namespace sluice::cli
