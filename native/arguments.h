// Reading the command line with CLI11: strict values, help laid out for 80 columns, and the
// commands. CLI11 throws; main() catches.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common.h"

namespace sluice::cli {

// --- values --------------------------------------------------------------------------------------
// Each reads the whole argument or refuses it: no "12abc", no NaN, nothing out of range.

// Repeatable; each must have 1 to 1024 bytes.
CLI::Option* add_stops(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description);
// From `low` to `high`, as it is written: 1.0000001 is more than 1, even where a float rounds it.
CLI::Option* add_real(CLI::App& app, const std::string& name, float& target, double low,
                      double high, const std::string& type, const std::string& description);
// Bytes: 1500000, 512M, 2G, 1.5GiB, 4GB (K, M, G, T and KiB.. are powers of 1024, KB.. of 1000).
CLI::Option* add_bytes(CLI::App& app, const std::string& name, uint64_t& target,
                       const std::string& description);
CLI::Option* add_kv_type(CLI::App& app, KvType& target);

int64_t read_integer(const std::string& name, const std::string& text, int64_t low, int64_t high);
uint64_t read_unsigned(const std::string& name, const std::string& text);
// 1,2,3
std::vector<int64_t> read_integers(const std::string& name, const std::string& text, int64_t low,
                                   int64_t high);

// Gives the one value of an option to `read`.
CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& type,
                       const std::string& description,
                       std::function<void(const std::string&)> read);

template <typename T>
CLI::Option* add_integer(CLI::App& app, const std::string& name, T& target, int64_t low,
                         int64_t high, const std::string& type, const std::string& description) {
  return add_value(app, name, type, description, [=, &target](const std::string& text) {
    target = static_cast<T>(read_integer(name, text, low, high));
  });
}

// --- options that several commands have ----------------------------------------------------------

// MODEL or -m. With a prompt it is the second argument, or -p; beside -m the only one.
void add_model(CLI::App& app, std::string& model);
void add_model_and_prompt(CLI::App& app, std::string& model, Prompt& prompt);
void add_prompt_file(CLI::App& app, Prompt& prompt);
void add_prompt_tokens(CLI::App& app, Prompt& prompt);
// -t, -c, --kv-type
void add_threads(CLI::App& app, LoadOptions& options);
void add_context(CLI::App& app, LoadOptions& options);
// On or off: takes no value, not even with "=".
CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target,
                      const std::string& description);
void add_json(CLI::App& app, bool& json, const std::string& description);

// --- the commands --------------------------------------------------------------------------------

// A command; its --help ends with `footer`, the exit status and the environment.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& footer);
std::shared_ptr<CLI::Formatter> help_formatter();
// What is said of an argument that nothing takes; with `prompt` the command has one.
std::string too_many(const std::string& argument, bool prompt);
// The name of an option that comes first: -p of -p, --prompt.
std::string first_name(const CLI::Option& option);

// Each adds one command, which leaves its exit status in `status`.
void add_run(CLI::App& program, int& status);
void add_inspect(CLI::App& program, int& status);
void add_tokenize(CLI::App& program, int& status);
void add_logits(CLI::App& program, int& status);
void add_bench(CLI::App& program, int& status);

}  // namespace sluice::cli
