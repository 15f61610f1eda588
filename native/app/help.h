// Help texts in 80 columns, from CLI11's lists of commands, options and groups.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {

// The variables that a command's help names.
enum class Environment { model, cache, color };

// Adds a command. Its help ends with `footer`, the exit status and the environment.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& footer, Environment environment = Environment::model);
// The group of an argument that usage lines show as required, though CLI11 doesn't check it, since
// an option may take its place.
inline constexpr char kNeededArgument[] = "needed";
// The same for options that a command can't do without; it says so itself, and more clearly.
inline constexpr char kNeededOption[] = "Needed";
std::shared_ptr<CLI::Formatter> help_formatter();

// The first name of an option: -p of -p, --prompt.
std::string first_name(const CLI::Option& option);
// All its names and the word for its value: "-p, --prompt TEXT".
std::string names_and_value(const CLI::Option& option);
// The word for its value: "TEXT"; "" for a flag.
std::string value_of(const CLI::Option& option);
// The words of a usage line after the command's name: "[MODEL]", "ADDRESS", "[-n N]", ...
std::vector<std::string> usage_words(const CLI::App& app);

}  // namespace sluice::cli
