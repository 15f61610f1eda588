#include "terminal/options.h"

#include "app/arguments.h"
#include "app/option_flags.h"
#include "app/usage.h"
#include "base/format.h"

namespace sluice::terminal {
namespace {

constexpr char kCommand[] = "chat";
constexpr size_t kNameColumn = 24;
constexpr int64_t kMostThinking = 1 << 20;

std::string thinking_text(const AnswerOptions& options) {
  return options.think ? "on" : options.no_think ? "off" : "as the template has it";
}

std::string setting(const std::string& name, const std::string& value) {
  std::string line = "  " + name;
  line.resize(std::max(line.size() + 1, kNameColumn), ' ');
  return line + value + "\n";
}

// Copies one of the options that aren't in options.json. False: there is none of this name.
bool copy_own(const std::string& name, const AnswerOptions& from, AnswerOptions& to) {
  if (name == "think") {
    to.think = from.think;
    to.no_think = from.no_think;
  } else if (name == "think-tokens") {
    to.think_tokens = from.think_tokens;
  } else if (name == "context-full") {
    to.drop = from.drop;
  } else {
    return false;
  }
  return true;
}

}  // namespace

void add_answer_options(CLI::App& app, AnswerOptions& options) {
  cli::add_options(app, options.generate);
  CLI::Option* think =
      cli::add_flag(app, "--think", options.think, "let the model think before it answers")
          ->group("Output");
  cli::add_flag(app, "--no-think", options.no_think, "let it answer at once")
      ->group("Output")
      ->excludes(think);
  cli::add_integer(
      app, "--think-tokens", options.think_tokens, -1, kMostThinking, "N",
      "end its thinking after so many tokens, by a mark of some more; -1: any number (default -1)")
      ->group("Output");
  cli::add_value(app, "--context-full", "WHAT",
                 "when the context is full: stop, or drop the oldest turns but not the system's "
                 "(default stop)",
                 [&options](const std::string& text) {
                   if (text != "stop" && text != "drop")
                     throw CLI::ValidationError(concat(
                         "--context-full: expected stop or drop, found '", printable(text), "'"));
                   options.drop = text == "drop";
                 })
      ->group("Model");
}

std::string settings_text(const AnswerOptions& options) {
  std::string out;
  for (const auto& [name, value] : cli::option_values(kCommand, options.generate))
    out += setting(name, value);
  return concat(
      out, setting("think", thinking_text(options)),
      setting("think-tokens", options.think_tokens < 0 ? "any" : concat(options.think_tokens)),
      setting("context-full", options.drop ? "drop" : "stop"));
}

std::string setting_text(const AnswerOptions& options, const std::string& name) {
  const std::string all = settings_text(options);
  const size_t begin = all.find(concat("\n  ", name, " "));
  if (all.starts_with(concat("  ", name, " "))) return all.substr(0, all.find('\n') + 1);
  return begin == std::string::npos ? "" : all.substr(begin + 1, all.find('\n', begin + 1) - begin);
}

Status set_option(AnswerOptions& options, const AnswerOptions& first, const std::string& given,
                  const std::string& value) {
  const std::string name = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  AnswerOptions changed = options;
  CLI::App app("", kCommand);
  if (value == "default") {
    if (copy_own(name, first, changed) ||
        cli::copy_option(kCommand, name, first.generate, changed.generate)) {
      options = changed;
      return {};
    }
  }
  changed.think = changed.no_think = false;
  add_answer_options(app, changed);
  const std::string flag = concat(name.size() == 1 ? "-" : "--", name);
  const CLI::Option* option = app.get_option_no_throw(flag);
  if (option == nullptr || name == "no-think" || flag == "--help" || flag == "-h") {
    std::vector<std::string> known = {"think", "think-tokens", "context-full"};
    for (const auto& [each, unused] : cli::option_values(kCommand, options.generate))
      known.push_back(each);
    return fail(Code::invalid_argument, "there is no option '", printable(name), "'",
                cli::did_you_mean(name, known), "; /set lists them");
  }
  std::vector<std::string> arguments = {flag, value};
  if (option->get_items_expected_min() == 0) {
    if (value != "on" && value != "off")
      return fail(Code::invalid_argument, name, ": expected on, off or default, found '",
                  printable(value), "'");
    arguments = {name == "think" && value == "off" ? "--no-think" : flag};
    if (name != "think" && value == "off") arguments.clear();
  }
  try {
    if (arguments.empty()) {
      cli::copy_option(kCommand, name, GenerateOptions(), changed.generate);
    } else {
      // A value may begin with a dash.
      if (arguments.size() == 2 && flag.starts_with("--")) arguments = {concat(flag, "=", value)};
      app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    }
  } catch (const CLI::ParseError& error) {
    return fail(Code::invalid_argument, printable(error.what(), 400));
  }
  if (name != "think") copy_own("think", options, changed);
  options = changed;
  return {};
}

}  // namespace sluice::terminal
