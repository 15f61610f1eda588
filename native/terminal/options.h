// The options of `sluice chat`. /set changes some of them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "app/model.h"
#include "app/prompt.h"

namespace sluice::terminal {

// What decides how the model answers.
struct AnswerOptions {
  GenerateOptions generate;
  bool think = false;  // neither: as the template likes
  bool no_think = false;
  int64_t think_tokens = -1;  // that the model may think; -1: any number
  bool drop = false;          // the oldest turns when the context is full
  std::optional<bool> thinking() const {
    return think || no_think ? std::optional(think) : std::nullopt;
  }
};

struct ChatOptions {
  std::string model;
  cli::DownloadOptions download;
  cli::Prompt prompt;
  std::optional<std::string> system;
  std::string chat_template;  // its file; "": the model's
  std::string kwargs;
  LoadOptions load;
  AnswerOptions answer;
  std::string session;  // its file; "": none
  bool json = false;
  bool quiet = false;
  bool no_history = false;
};

// Adds the flags of the answer's options to a command, which must be named chat.
void add_answer_options(CLI::App& app, AnswerOptions& options);
// One line for each option: its name without dashes, and its value.
std::string settings_text(const AnswerOptions& options);
// The line of one option; "" if there is none of this name.
std::string setting_text(const AnswerOptions& options, const std::string& name);
// Sets one by its name. The value `default` means the value in `first`; flags take on or off. Fails
// with invalid_argument, and changes nothing then.
Status set_option(AnswerOptions& options, const AnswerOptions& first, const std::string& name,
                  const std::string& value);

}  // namespace sluice::terminal
