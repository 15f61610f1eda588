#include "arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace sluice::cli {
namespace {

constexpr size_t kMaxStopBytes = 1024;
constexpr char kHelpGroup[] = "Help";  // shown last
constexpr size_t kHelpWidth = 80;
constexpr size_t kHelpColumn = 26;  // where descriptions begin

// The end of each command's help.
constexpr char kStatus[] = R"(

Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 a file can't be
used, 4 not enough memory, 130 ended by Ctrl-C.
Environment: SLUICE_KERNELS names the kernels to use, SLUICE_MODEL_DIR the
directory of the bundled model; see sluice --help.)";

[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const std::string& found) {
  throw CLI::ValidationError(name.substr(0, name.find(',')),
                             concat("expected ", expected, ", found '", printable(found), "'"));
}

// A finite decimal number at the start of `text`; moves `text` behind it.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

struct Unit {
  const char* name;
  double bytes;
};
constexpr Unit kUnits[] = {
    {"", 1},       {"B", 1},        {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},
    {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},   {"GiB", 0x1p30},
    {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12},
};

uint64_t read_bytes(const std::string& name, const std::string& text) {
  std::string_view rest = text;
  const auto value = take_number(rest);
  for (const Unit& unit : kUnits) {
    if (!value || rest != unit.name) continue;
    const double bytes = *value * unit.bytes;
    if (bytes >= 1 && bytes <= 0x1p53) return static_cast<uint64_t>(bytes);
  }
  refuse(name, "a size like 1500000, 512M, 2G or 1.5GiB", text);
}

// "  name       description", the description in a column of its own, wrapped.
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
    for (const std::string& line : usage_words(app)) {
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
    return help_row(words_of(option), option->get_description());
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

  static std::string with_type(const CLI::Option* option, const std::string& names) {
    const std::string type = option->get_type_name();
    return type.empty() ? names : names + " " + type;
  }

  static std::string words_of(const CLI::Option* option) {
    std::string names = option->get_name(false, true);
    for (size_t at = 0; (at = names.find(',', at)) != std::string::npos; at += 2) {
      names.replace(at, 1, ", ");
    }
    return with_type(option, names);
  }

  // [-n N] for each option, and the positional arguments first.
  static std::vector<std::string> usage_words(const CLI::App* app) {
    std::vector<std::string> words;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) words.push_back("[" + option->get_name(true) + "]");
    }
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional() || app->get_parent() == nullptr ||
          option == app->get_help_ptr()) {
        continue;
      }
      const bool repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
      words.push_back("[" + with_type(option, first_name(*option)) + "]" + (repeats ? "..." : ""));
    }
    return words;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string first_name(const CLI::Option& option) {
  const std::string names = option.get_name(false, true);
  return names.substr(0, names.find(','));
}

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& purpose,
                      const std::string& footer) {
  CLI::App* app = program.add_subcommand(name, concat("sluice ", name, " - ", purpose));
  app->group("Commands");
  app->get_help_ptr()->group(kHelpGroup);
  app->footer(footer + kStatus);
  return app;
}

CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& type,
                       const std::string& description,
                       std::function<void(const std::string&)> read) {
  // The raw argument: CLI11's own conversions would take "[a,b]" or "nan" for something else.
  return app
      .add_option(
          name,
          [read = std::move(read)](const CLI::results_t& results) {
            read(results.front());
            return true;
          },
          description)
      ->type_name(type)
      ->expected(1);
}

CLI::Option* add_stops(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description) {
  return app
      .add_option(
          name,
          [name, &target](const CLI::results_t& results) {
            for (const std::string& text : results) {
              if (text.empty() || text.size() > kMaxStopBytes) {
                refuse(name, "a text of 1 to 1024 bytes", text);
              }
              target.push_back(text);
            }
            return true;
          },
          description)
      ->type_name("TEXT")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* add_real(CLI::App& app, const std::string& name, float& target, double low,
                      double high, const std::string& type, const std::string& description) {
  return add_value(app, name, type, description, [=, &target](const std::string& text) {
    std::string_view rest = text;
    const auto value = take_number(rest);
    if (!value || !rest.empty() || *value < low || *value > high) {
      refuse(name, concat("a number from ", low, " to ", high), text);
    }
    target = static_cast<float>(*value);
  });
}

CLI::Option* add_bytes(CLI::App& app, const std::string& name, uint64_t& target,
                       const std::string& description) {
  return add_value(app, name, "BYTES", description,
                   [name, &target](const std::string& text) { target = read_bytes(name, text); });
}

CLI::Option* add_kv_type(CLI::App& app, KvType& target) {
  return add_value(app, "--kv-type", "TYPE",
                   "what the KV cache holds: f32, f16 or q8_0 (default f16)",
                   [&target](const std::string& text) {
                     if (text == "f32") {
                       target = KvType::f32;
                     } else if (text == "f16") {
                       target = KvType::f16;
                     } else if (text == "q8_0") {
                       target = KvType::q8_0;
                     } else {
                       refuse("--kv-type", "f32, f16 or q8_0", text);
                     }
                   });
}

namespace {

std::optional<int64_t> integer_in(std::string_view text, int64_t low, int64_t high) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool read = error == std::errc() && stop == end;
  return read && value >= low && value <= high ? std::optional(value) : std::nullopt;
}

}  // namespace

int64_t read_integer(const std::string& name, const std::string& text, int64_t low, int64_t high) {
  const auto value = integer_in(text, low, high);
  if (!value) refuse(name, concat("a whole number from ", low, " to ", high), text);
  return *value;
}

uint64_t read_unsigned(const std::string& name, const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) refuse(name, "a whole number from 0 to 2^64 - 1", text);
  return value;
}

std::vector<int64_t> read_integers(const std::string& name, const std::string& text, int64_t low,
                                   int64_t high) {
  std::vector<int64_t> values;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const auto value = integer_in(item, low, high);
    if (!value) {
      refuse(name, concat("whole numbers from ", low, " to ", high, " with commas between them"),
             item.size() == text.size() ? text : concat(printable(item, 30), "' in '", text));
    }
    values.push_back(*value);
    at = comma + 1;
  }
  return values;
}

std::string too_many(const std::string& argument, bool prompt) {
  return concat("'", printable(argument), "' is one argument too many",
                prompt ? "; a prompt of several words stands in quotes" : "");
}

namespace {

// Notes where the prompt comes from; there is only one.
void take_prompt(Prompt& prompt, const std::string& source) {
  if (!prompt.source.empty()) {
    throw CLI::ValidationError(concat("the prompt is given twice, by ", prompt.source, " and by ",
                                      source, "; leave one of them out"));
  }
  prompt.source = source;
}

void take_argument(Prompt& prompt, const std::string& text) {
  const std::string source = "the argument PROMPT";
  if (prompt.source == source) throw CLI::ValidationError(too_many(text, true));
  take_prompt(prompt, source);
  prompt.text = text;
}

// `other` takes the argument MODEL where -m has named the model.
void add_model(CLI::App& app, std::string& model,
               const std::function<void(const std::string&)>& other) {
  const auto name_model = [&model](const std::string& text) {
    if (text.empty()) refuse("MODEL", "the path of a GGUF file", text);
    model = text;
  };
  // Values are read in this order.
  add_value(app, "-m,--model", "FILE", "the same as MODEL", name_model)->group("Input");
  add_value(app, "MODEL", "FILE", "a GGUF file; without one, the bundled model",
            [=, &model](const std::string& text) {
              if (model.empty()) {
                name_model(text);
              } else {
                other(text);
              }
            });
}

}  // namespace

void add_model(CLI::App& app, std::string& model) {
  add_model(app, model, [](const std::string& text) {
    throw CLI::ValidationError(concat("the model is named twice, by -m and by the argument '",
                                      printable(text), "'; leave one of them out"));
  });
}

void add_model_and_prompt(CLI::App& app, std::string& model, Prompt& prompt) {
  const auto take = [&prompt](const std::string& text) { take_argument(prompt, text); };
  add_model(app, model, take);
  add_value(app, "PROMPT", "TEXT", "the text, in quotes; or -p", take);
  add_value(app, "-p,--prompt", "TEXT", "the text", [&prompt](const std::string& text) {
    take_prompt(prompt, "-p");
    prompt.text = text;
  })->group("Input");
}

void add_prompt_file(CLI::App& app, Prompt& prompt) {
  add_value(app, "-f", "FILE", "the text is this file, byte for byte; - is standard input",
            [&prompt](const std::string& text) {
              if (text.empty()) refuse("-f", "the path of a file", text);
              take_prompt(prompt, "-f");
              prompt.file = text;
            })
      ->group("Input");
}

void add_prompt_tokens(CLI::App& app, Prompt& prompt) {
  add_value(app, "--tokens", "IDS", "token ids, like 1,2,3; taken as they are, without BOS",
            [&prompt](const std::string& text) {
              const auto ids = read_integers("--tokens", text, 0, INT32_MAX);
              take_prompt(prompt, "--tokens");
              prompt.tokens.emplace(ids.begin(), ids.end());
            })
      ->group("Input");
}

void add_threads(CLI::App& app, LoadOptions& options) {
  add_integer(app, "-t", options.threads, 1, 64, "THREADS",
              "1 to 64 (default: one for each core, at most 8, or fewer where they decode faster)")
      ->group("Model");
}

void add_context(CLI::App& app, LoadOptions& options) {
  add_integer(app, "-c", options.context_size, 1, 1 << 20, "CONTEXT",
              "tokens that prompt and answer may have together (default: what the model was "
              "trained for, at most 4096)")
      ->group("Model");
  add_kv_type(app, options.kv_type)->group("Model");
}

CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target,
                      const std::string& description) {
  const auto takes_none = [](const std::string& value) {
    return value == "true" ? "" : concat("takes no value, found '", printable(value), "'");
  };
  return app.add_flag(name, target, description)->check(takes_none);
}

void add_json(CLI::App& app, bool& json, const std::string& description) {
  add_flag(app, "--json", json, description)->group("Output");
}

}  // namespace sluice::cli
