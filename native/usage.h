// What is wrong with a command line, in plain words, with the name that may have been meant.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>

namespace sluice::cli {

// What is wrong with the first argument, where it is neither a command nor an option of ours.
std::optional<std::string> check_first_argument(const CLI::App& program,
                                                std::span<char* const> arguments);
// What CLI11 would read otherwise than it was meant: "-temp" as -t with the value "emp",
// "--prompt=" as an option whose value is the next argument.
std::optional<std::string> check_arguments(const CLI::App& command,
                                           std::span<char* const> arguments);
// CLI11's error; those that are ours say what is wrong already.
std::string describe_error(const CLI::ParseError& error, const CLI::App& app);

}  // namespace sluice::cli
