// The arguments of commands, read by CLI11. CLI11 throws; main() catches.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "app/model.h"
#include "app/numbers.h"
#include "app/prompt.h"

namespace sluice::cli {

// --- options of any kind -------------------------------------------------------------------------

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

// Adds a flag. It takes no value, not even with "=".
CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target,
                      const std::string& description);

// --- options that several commands have ----------------------------------------------------------

// The model is the argument MODEL or -m. The prompt is the next argument or -p.
void add_model(CLI::App& app, std::string& model);
// The same; if -m names the model, `other` takes the argument MODEL.
void add_model(CLI::App& app, std::string& model,
               const std::function<void(const std::string&)>& other);
void add_model_and_prompt(CLI::App& app, std::string& model, Prompt& prompt);
void add_prompt_file(
    CLI::App& app, Prompt& prompt,
    const std::string& description = "the text is this file, byte for byte; - is standard input");
void add_prompt_tokens(CLI::App& app, Prompt& prompt);
// How a model at an address is downloaded.
void add_download_options(CLI::App& app, DownloadOptions& options);
// Those of them that fit a repository of many files.
void add_transfer_options(CLI::App& app, DownloadOptions& options);
// --json, described for the command.
void add_json(CLI::App& app, bool& json, const std::string& description);

// The message for an argument that is one too many. `prompt`: the command has a prompt.
std::string too_many_arguments(const std::string& argument, bool prompt);

// "FILE is a file; -f reads it" of a text that names a file that exists; "" of any other.
std::string file_hint(const std::string& text);

}  // namespace sluice::cli
