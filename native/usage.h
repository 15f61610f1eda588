// Messages for wrong command lines, with the name that was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>

namespace sluice::cli {

// The message if the first argument is neither a command nor an option of the program.
std::optional<std::string> check_first_argument(const CLI::App& program,
                                                std::span<char* const> arguments);
// The message if CLI11 would misread an argument: "-temp" as -t with the value "emp", "--prompt="
// as an option whose value is the next argument.
std::optional<std::string> check_arguments(const CLI::App& command,
                                           std::span<char* const> arguments);
// The message for an error of CLI11. Errors that this program threw keep their message.
std::string describe_error(const CLI::ParseError& error, const CLI::App& app);

}  // namespace sluice::cli
