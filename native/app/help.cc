#include "app/help.h"

#include <utility>

#include "app/text.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

constexpr char kHelpGroup[] = "Help";  // shown last
constexpr size_t kHelpWidth = 80;
constexpr size_t kHelpColumn = 26;  // where descriptions begin

// The end of each command's help.
constexpr char kStatus[] = R"(

Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 a file can't be
used, 4 not enough memory, 130 ended by Ctrl-C.
)";
constexpr char kModelEnvironment[] =
    R"(Environment: SLUICE_KERNELS names the kernels to use, SLUICE_MODEL_DIR the
directory of the bundled model; see sluice --help.)";
constexpr char kColorEnvironment[] =
    "Environment: where NO_COLOR is set, nothing is bold or faint.";
constexpr char kCacheEnvironment[] =
    R"(Environment: XDG_CACHE_HOME names the directory of the cache's folder sluice
(default ~/.cache), HF_ENDPOINT the hub, HF_TOKEN holds a token for that hub;
see sluice --help.)";

// " name description", with the description wrapped in its own column.
std::string help_row(const std::string& name, const std::string& description) {
  std::string out = "  " + name;
  if (out.size() + 2 > kHelpColumn) {
    out += "\n" + std::string(kHelpColumn, ' ');
  } else {
    out.resize(kHelpColumn, ' ');
  }
  std::string between;
  for (const std::string& line : wrapped(description, kHelpWidth - kHelpColumn)) {
    out += std::exchange(between, "\n" + std::string(kHelpColumn, ' ')) + line;
  }
  return out + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    const bool program = app->get_parent() == nullptr;
    std::string usage = "usage: " + name;
    if (program) usage += " COMMAND [OPTION]...";
    for (const std::string& line : usage_words(*app)) {
      const size_t start = usage.rfind('\n') == std::string::npos ? 0 : usage.rfind('\n') + 1;
      if (usage.size() - start + 1 + line.size() > kHelpWidth) {
        usage += "\n" + std::string(name.size() + 7, ' ');
      }
      usage += " " + line;
    }
    std::string out = app->get_description() + "\n\n" + usage + "\n";
    if (program) out += make_subcommands(app, CLI::AppFormatMode::Normal);
    return out + arguments(app) + option_groups(app) + "\n" + app->get_footer() + "\n";
  }

  std::string make_group(std::string group, bool,
                         std::vector<const CLI::Option*> options) const override {
    std::string out = "\n" + group + ":\n";
    for (const CLI::Option* option : options) out += make_option(option, false);
    return out;
  }

  std::string make_option(const CLI::Option* option, bool) const override {
    return help_row(names_and_value(*option), option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return help_row(command->get_name(),
                    command->get_description().substr(command->get_name().size() + 10));
  }

 private:
  std::string option_groups(const CLI::App* app) const {
    std::string out;
    std::vector<std::string> groups = app->get_groups();
    if (std::erase(groups, kHelpGroup) > 0) groups.emplace_back(kHelpGroup);
    std::erase(groups, kNeededArgument);
    if (std::erase(groups, kNeededOption) > 0) groups.insert(groups.begin(), kNeededOption);
    for (const std::string& group : groups) {
      const auto options = app->get_options([&](const CLI::Option* option) {
        return option->get_group() == group && option->nonpositional();
      });
      if (!options.empty()) out += make_group(group, false, options);
    }
    return out;
  }

  static std::string arguments(const CLI::App* app) {
    std::string out;
    for (const CLI::Option* option : app->get_options()) {
      if (!option->get_positional()) continue;
      if (out.empty()) out = "\nArguments:\n";
      out += help_row(option->get_name(true), option->get_description());
    }
    return out;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string first_name(const CLI::Option& option) {
  const std::string names = option.get_name(false, true);
  return names.substr(0, names.find(','));
}

std::string value_of(const CLI::Option& option) {
  // CLI11 adds a colon and the descriptions of the option's checks.
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string names_and_value(const CLI::Option& option) {
  std::string names = option.get_name(false, true);
  for (size_t at = 0; (at = names.find(',', at)) != std::string::npos; at += 2) {
    names.replace(at, 1, ", ");
  }
  const std::string value = value_of(option);
  return value.empty() ? names : concat(names, " ", value);
}

std::vector<std::string> usage_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    if (!option->get_option_text().empty()) {
      words.push_back(option->get_option_text());
      continue;
    }
    const std::string name = option->get_name(true);
    words.push_back(concat(
        option->get_required() || option->get_group() == kNeededArgument ? name : "[" + name + "]",
        option->get_items_expected_max() > 1 ? "..." : ""));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || app.get_parent() == nullptr || option == app.get_help_ptr()) {
      continue;
    }
    const std::string value = value_of(*option);
    const bool repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    const std::string word = concat(first_name(*option), value.empty() ? "" : " ", value);
    words.push_back(concat(option->get_group() == kNeededOption ? word : concat("[", word, "]"),
                           repeats ? "..." : ""));
  }
  return words;
}

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& footer, Environment environment) {
  CLI::App* app = program.add_subcommand(name, concat("sluice ", name, " - ", purpose));
  app->group("Commands");
  app->get_help_ptr()->group(kHelpGroup);
  app->footer(footer + kStatus +
              (environment == Environment::cache   ? kCacheEnvironment
               : environment == Environment::color ? kColorEnvironment
                                                   : kModelEnvironment));
  return app;
}

}  // namespace sluice::cli
