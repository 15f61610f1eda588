#include "app/usage.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include "app/arguments.h"
#include "app/habits.h"
#include "app/help.h"
#include "app/numbers.h"
#include "app/text.h"
#include "base/format.h"
#include "files/quantize/quantize.h"

namespace sluice::cli {
namespace {

constexpr size_t kLongestName = 40;

// The edit distance from `a` to `b`: how many letters to insert, delete, change or swap with the
// next.
size_t distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * width);  // for each prefix of a and each of b
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t* const here = &table[i * width + j];
      *here = i == 0 ? j : i;
      if (i == 0 || j == 0) continue;
      const bool same = a[i - 1] == b[j - 1];
      *here = std::min({here[-1] + 1, *(here - width) + 1, *(here - width - 1) + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        *here = std::min(*here, *(here - 2 * width - 2) + 1);
      }
    }
  }
  return table.back();
}

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unknown_option(const std::string& name, const CLI::App& app) {
  return concat("unknown option '", printable(name), "'", did_you_mean(name, option_names(app)));
}

}  // namespace

std::optional<size_t> nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string_view letters = without_dashes(name);
  if (letters.empty() || letters.size() > kLongestName) return std::nullopt;
  // Every other letter is near.
  if (letters.size() == 1 && !name.starts_with("--")) return std::nullopt;
  std::optional<size_t> found;
  size_t least = letters.size() / 3 + 1;
  for (size_t i = 0; i < known.size(); ++i) {
    const std::string_view its = without_dashes(known[i]);
    const size_t far = letters.size() >= 3 && its.starts_with(letters) ? 0 : distance(letters, its);
    if (far < least) {
      least = far;
      found = i;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const auto found = nearest(name, known);
  return found ? concat("; did you mean ", known[*found], "?") : "";
}

std::optional<std::string> check_first_argument(const CLI::App& program,
                                                std::span<const std::string> arguments) {
  std::string commands;
  for (const CLI::App* command : program.get_subcommands({}))
    commands += concat(commands.empty() ? "; the commands are " : ", ", command->get_name());
  if (arguments.empty()) return "no command" + commands;
  const std::string& first = arguments.front();
  std::vector<std::string> known = option_names(program);
  for (const std::string& option : known) {
    if (first == option) return std::nullopt;
  }
  for (const CLI::App* command : program.get_subcommands({})) {
    known.push_back(command->get_name());
    if (command->get_name() == first) return std::nullopt;
  }
  if (first.starts_with('-')) {
    for (const CLI::App* command : program.get_subcommands({})) {
      if (command->get_option_no_throw(first.substr(0, first.find('='))) == nullptr &&
          !is_habit(first))
        continue;
      return concat("the command is missing in front of ", printable(first), ", like sluice ",
                    command->get_name(), " ", printable(first), commands);
    }
  }
  std::string meant = did_you_mean(first, known);
  std::error_code error;
  if (first.ends_with(".gguf") || std::filesystem::is_regular_file(first, error)) {
    meant = concat("; did you mean sluice run ", shell_word(printable(first)), "?");
  }
  return concat("unknown ", first.starts_with('-') ? "option '" : "command '", printable(first),
                "'", meant.empty() ? commands : meant);
}

namespace {

// -n5: an option of one letter with its value. Letters there are another option's name: -np.
bool is_glued(const CLI::App& command, const std::string& argument) {
  if (command.get_option_no_throw(argument.substr(0, 2)) == nullptr) return false;
  return std::ranges::none_of(argument.substr(2), [](unsigned char c) { return std::isalpha(c); });
}

}  // namespace

std::optional<std::string> check_arguments(const CLI::App& command,
                                           std::span<const std::string> arguments) {
  bool is_value = false;  // this argument is the value of the option before
  std::string unknown;    // reported first, before errors that its value causes
  bool help = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (std::exchange(is_value, false) || !argument.starts_with('-') || argument == "-") continue;
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    const bool asks_help = name == "-h" || name == "--help";
    if (asks_help && name != argument)
      return concat(name, ": takes no value, found '", printable(argument.substr(name.size() + 1)),
                    "'");
    help = help || asks_help;
    if (const CLI::Option* option = command.get_option_no_throw(name)) {
      const bool takes_value = option->get_items_expected_min() > 0;
      is_value = takes_value && name.size() == argument.size();
      if (is_value && i + 2 < arguments.size() && option->get_type_name() == "SIZE") {
        const std::string &number = arguments[i + 1], &unit = arguments[i + 2];
        std::error_code error;
        if (is_size(number) && !is_size(unit) && is_size(number + unit) &&
            !std::filesystem::exists(unit, error))
          return concat(name, ": write ", number, unit, " without a space");
      }
      if (takes_value && argument == name + "=" && name.starts_with("--")) {
        return concat(name, ": nothing stands behind the =");
      }
    } else if (!name.starts_with("--") && command.get_option_no_throw("-" + name) != nullptr) {
      return concat("unknown option '", printable(name), "'; did you mean -", printable(name), "?");
    } else if (unknown.empty() && (name.starts_with("--") || !is_glued(command, name))) {
      unknown = name;
    }
  }
  if (!unknown.empty() && !help) return unknown_option(unknown, command);
  return std::nullopt;
}

bool is_copy(std::string_view type) { return type == "COPY" || type == "copy"; }

std::string describe_error(const CLI::ParseError& error, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    // Unknown options were found before, so this one is after a "--".
    std::vector<std::string> extras = app.remaining();
    std::erase(extras, "--");
    const std::string extra = extras.empty() ? "--" : extras.front();
    if (app.get_option_no_throw(extra.substr(0, extra.find('='))) != nullptr)
      return concat("'", printable(extra),
                    "' stands behind --, where all are arguments; options go in front of it");
    if (app.get_option_no_throw("--type") != nullptr) {
      if (is_copy(extra)) return kNoCopy;
      if (is_quantize_type(extra))
        return concat(too_many_arguments(extra, false), "; write --type ", extra);
    }
    return too_many_arguments(extra, app.get_option_no_throw("PROMPT") != nullptr);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    for (const CLI::Option* option : app.get_options()) {
      const std::string name = first_name(*option);
      if (!std::string_view(error.what()).starts_with(option->get_name() + ":")) continue;
      return concat(name, " needs a value: ", name, " ", option->get_type_name());
    }
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_required() && option->count() == 0)
        return concat(option->get_positional() ? option->get_name(true) : first_name(*option),
                      " is required: ", option->get_description());
    }
  }
  return printable(error.what(), 400);
}

}  // namespace sluice::cli
