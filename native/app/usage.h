// Messages for wrong command lines, with the name that was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// Which of `known` is near `name`, as did_you_mean() has it; nothing if none is.
std::optional<size_t> nearest(std::string_view name, const std::vector<std::string>& known);
// "; did you mean --temp?" if one of `known` is near `name`: at most a third of the letters differ,
// or it begins with `name`. Else "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);
// The message if the first argument is neither a command nor an option of the program.
std::optional<std::string> check_first_argument(const CLI::App& program,
                                                std::span<const std::string> arguments);
// The message if CLI11 would misread an argument: "-temp" as -t with the value "emp", "--prompt="
// as an option with the next argument as its value.
std::optional<std::string> check_arguments(const CLI::App& command,
                                           std::span<const std::string> arguments);
// llama-quantize's COPY, which is no type here, and what is said of it.
bool is_copy(std::string_view type);
inline constexpr char kNoCopy[] =
    "COPY is no type: cp copies a file, and sluice edit writes one with other metadata";
// The message for an error of CLI11. Errors that this program threw keep their message.
std::string describe_error(const CLI::ParseError& error, const CLI::App& app);

}  // namespace sluice::cli
