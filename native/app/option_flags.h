// The flags of the options of options.json.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "options/options.h"

namespace sluice::cli {

// Adds the command's options of options.json: those of LoadOptions or of GenerateOptions.
template <typename Options>
void add_options(CLI::App& app, Options& options);
// The names, without dashes, and the values of a command's GenerateOptions, as text.
std::vector<std::pair<std::string, std::string>> option_values(const std::string& command,
                                                               const GenerateOptions& options);
// JSON of the values of a command's GenerateOptions, by their names in options.json. A seed above
// 2^53 is a string: a number of JavaScript would not be exact.
std::string options_json(const std::string& command, const GenerateOptions& options);
// Copies the value of one of them, by its flag without dashes. False: there is none of this name.
bool copy_option(const std::string& command, const std::string& flag, const GenerateOptions& from,
                 GenerateOptions& to);

// Takes what the model's file recommends (engine/model_sampling.h) for the options that the command
// was not given. One line on stderr says what that is.
void take_model_sampling(const CLI::App& app, const Gguf& header, GenerateOptions& options);

}  // namespace sluice::cli
