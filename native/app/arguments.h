// The arguments and commands of the program, read by CLI11. CLI11 throws; main() catches.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/help.h"
#include "app/model.h"
#include "app/prompt.h"

namespace sluice::cli {

// --- values --------------------------------------------------------------------------------------
// Each reads a whole argument or throws CLI::ValidationError: no "12abc", no NaN, nothing out of
// range.

// A decimal number from `low` to `high`; nothing if the text is something else.
std::optional<int64_t> integer_in(std::string_view text, int64_t low, int64_t high);
int64_t read_integer(const std::string& name, const std::string& text, int64_t low, int64_t high);
// True of a size as --memory-budget takes it.
bool is_size(std::string_view text);
// 1,2,3
std::vector<int64_t> read_integers(const std::string& name, const std::string& text, int64_t low,
                                   int64_t high);

// Adds an option with one value, which `read` takes. Of several the last one counts.
CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& type,
                       const std::string& description,
                       std::function<void(const std::string&)> read);

// The same for a text.
CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type,
                      std::string& target, const std::string& description);

template <typename T>
CLI::Option* add_integer(CLI::App& app, const std::string& name, T& target, int64_t low,
                         int64_t high, const std::string& type, const std::string& description) {
  return add_value(app, name, type, description, [=, &target](const std::string& text) {
    target = static_cast<T>(read_integer(name, text, low, high));
  });
}

// --- options that several commands have ----------------------------------------------------------

// The model is the argument MODEL or -m. The prompt is the next argument or -p.
void add_model(CLI::App& app, std::string& model);
// The same; if -m names the model, `other` takes the argument MODEL.
void add_model(CLI::App& app, std::string& model,
               const std::function<void(const std::string&)>& other);
void add_model_and_prompt(CLI::App& app, std::string& model, Prompt& prompt);
void add_prompt_file(CLI::App& app, Prompt& prompt);
void add_prompt_tokens(CLI::App& app, Prompt& prompt);
// How a model at an address is downloaded.
void add_download_options(CLI::App& app, DownloadOptions& options);
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
// Adds a flag. It takes no value, not even with "=".
CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target,
                      const std::string& description);
void add_json(CLI::App& app, bool& json, const std::string& description);

// The message for an argument that is one too many. `prompt`: the command has a prompt.
std::string too_many_arguments(const std::string& argument, bool prompt);

}  // namespace sluice::cli
