#include "app/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "app/prompt.h"
#include "base/format.h"
#include "options/rows.h"

namespace sluice::cli {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const std::string& found) {
  throw CLI::ValidationError(name.substr(0, name.find(',')),
                             concat("expected ", expected, ", found '", printable(found), "'"));
}

// Reads a finite decimal number at the start of `text` and removes it from `text`.
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
    {"", 1},         {"b", 1},    {"k", 1e3},      {"kb", 1e3},     {"kib", 0x1p10},
    {"m", 1e6},      {"mb", 1e6}, {"mib", 0x1p20}, {"g", 1e9},      {"gb", 1e9},
    {"gib", 0x1p30}, {"t", 1e12}, {"tb", 1e12},    {"tib", 0x1p40},
};

// Nothing if it is no size.
std::optional<uint64_t> bytes_in(std::string_view rest) {
  const auto value = take_number(rest);
  std::string name_of_unit(rest);
  for (char& c : name_of_unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const Unit& unit : kUnits) {
    if (!value || name_of_unit != unit.name) continue;
    const double bytes = *value * unit.bytes;
    // A part of a byte is a unit that was forgotten.
    if (unit.bytes == 1 && bytes != std::floor(bytes)) break;
    if (bytes >= 1 && bytes < 0x1p53) return static_cast<uint64_t>(bytes);
  }
  return std::nullopt;
}

uint64_t read_bytes(const std::string& name, const std::string& text) {
  if (const auto bytes = bytes_in(text)) return *bytes;
  std::string close = text;
  std::erase(close, ' ');
  std::ranges::replace(close, ',', '.');
  refuse(name,
         concat("a size from 1 byte on, like 1500000, 300M, 2G or 1.5GiB (units: B, k, M, G, T, or "
                "KiB, MiB, GiB, TiB",
                bytes_in(close) ? concat("; without spaces, and with a point: ", printable(close))
                                : "",
                ")"),
         text);
}

}  // namespace

bool is_size(std::string_view text) { return bytes_in(text).has_value(); }

CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& type,
                       const std::string& description,
                       std::function<void(const std::string&)> read) {
  // Reads the raw argument, because CLI11's conversions would read "[a,b]" and "nan" as something
  // else.
  return app
      .add_option(
          name,
          [read = std::move(read)](const CLI::results_t& results) {
            read(results.back());
            return true;
          },
          description)
      ->type_name(type)
      ->expected(1)
      ->take_last();
}

CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& type,
                      std::string& target, const std::string& description) {
  return app.add_option(name, target, description)->type_name(type)->take_last();
}

std::optional<int64_t> integer_in(std::string_view text, int64_t low, int64_t high) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool read = error == std::errc() && stop == end;
  return read && value >= low && value <= high ? std::optional(value) : std::nullopt;
}

int64_t read_integer(const std::string& name, const std::string& text, int64_t low, int64_t high) {
  const auto value = integer_in(text, low, high);
  if (!value) refuse(name, concat("a whole number from ", low, " to ", high), text);
  return *value;
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

std::string too_many_arguments(const std::string& argument, bool prompt) {
  return concat("'", printable(argument), "' is one argument too many",
                prompt ? "; a prompt of several words stands in quotes" : "");
}

namespace {

// Records where the prompt comes from. Throws if there is one already.
void take_prompt(Prompt& prompt, const std::string& source) {
  if (!prompt.source.empty()) {
    throw CLI::ValidationError(concat("the prompt is given twice, by ", prompt.source, " and by ",
                                      source, "; leave one of them out"));
  }
  prompt.source = source;
}

void take_argument(Prompt& prompt, const std::string& text) {
  const std::string source = "the argument PROMPT";
  if (prompt.source == source) throw CLI::ValidationError(too_many_arguments(text, true));
  take_prompt(prompt, source);
  prompt.text = text;
}

}  // namespace

void add_model(CLI::App& app, std::string& model,
               const std::function<void(const std::string&)>& other) {
  const auto name_model = [&model](const std::string& text) {
    if (text.empty()) refuse("MODEL", "the path of a GGUF file, or an address", text);
    model = text;
  };
  // Values are read in this order.
  add_value(app, "-m,--model", "FILE", "the same as MODEL", name_model)->group("Input");
  add_value(app, "MODEL", "FILE",
            "a GGUF file: its path, the name of one in the cache, an https: address, or "
            "[hf:]OWNER/REPO[:FILE or TYPE][@REVISION], which the cache keeps; without one, the "
            "bundled model",
            [=, &model](const std::string& text) {
              if (model.empty()) {
                name_model(text);
              } else {
                other(text);
              }
            });
}

namespace {

[[noreturn]] void refuse_second_model(const std::string& text, std::string_view more) {
  throw CLI::ValidationError(concat("the model is named twice, by -m and by the argument '",
                                    printable(text), "'; leave one of them out", more));
}

}  // namespace

void add_model(CLI::App& app, std::string& model) {
  add_model(app, model, [](const std::string& text) { refuse_second_model(text, ""); });
}

void add_model_and_prompt(CLI::App& app, std::string& model, Prompt& prompt) {
  const auto take = [&](const std::string& text) {
    std::error_code error;
    if (text == model || (text.ends_with(".gguf") && std::filesystem::is_regular_file(text, error)))
      refuse_second_model(text, " (a prompt that reads like this goes behind -p)");
    take_argument(prompt, text);
  };
  add_model(app, model, take);
  add_value(app, "PROMPT", "TEXT", "the text, in quotes; or -p", take);
  add_value(app, "-p,--prompt", "TEXT", "the text", [&prompt](const std::string& text) {
    take_prompt(prompt, "-p");
    prompt.text = text;
  })->group("Input");
}

void add_prompt_file(CLI::App& app, Prompt& prompt) {
  add_value(app, "-f,--file", "FILE", "the text is this file, byte for byte; - is standard input",
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

void add_download_options(CLI::App& app, DownloadOptions& options) {
  const auto take_sums = [&options](const std::string& text) {
    for (size_t at = 0; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      options.sha256.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  };
  constexpr int64_t kDay = 24 * 3600;
  add_value(app, "--sha256", "HEX",
            "the hash that a file at an address must have; of a split model one for each file, "
            "with commas between them",
            take_sums)
      ->group("Download");
  add_flag(app, "--refresh", options.refresh,
           "ask the server whether the cached file is current (without it a cached model needs no "
           "network)")
      ->group("Download");
  add_flag(app, "--accept-terms", options.accept_terms,
           "accept the terms of a model of sluice models, where they bind whoever uses it")
      ->group("Download");
  add_integer(app, "--retry-timeout", options.retry_timeout, 1, kDay, "SECONDS",
              "give a download up after so long without a new byte (default 60); a server that is "
              "never reached after 5")
      ->group("Download");
  add_integer(app, "--stall-timeout", options.stall_timeout, 1, kDay, "SECONDS",
              "a connection without a byte for so long is lost (default 30)")
      ->group("Download");
}

CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target,
                      const std::string& description) {
  const auto takes_none = [](const std::string& value) {
    return value == "true" ? "" : concat("takes no value, found '", printable(value), "'");
  };
  return app.add_flag(name, target, description)->check(takes_none);
}

// --- the options of the table --------------------------------------------------------------------

namespace {

struct OptionFlags {
  const char* option;
  const char* commands;  // with spaces between them
  const char* flags;
  const char* value;  // the word after the flag, in the help
  const char* group;
  const char* help;
  const char* habit;    // a value that other programs take; "": none
  int64_t habit_value;  // what the field is then
};
#include "app/option_flags.inc"

// The flags of an option; null if the command doesn't have it.
const OptionFlags* find_flags(const OptionRow& row, const std::string& command) {
  for (const OptionFlags& flags : kOptionFlags) {
    const std::string commands = concat(" ", flags.commands, " ");
    if (row.name == flags.option && commands.find(concat(" ", command, " ")) != std::string::npos)
      return &flags;
  }
  return nullptr;
}

// An option of the table and its flags.
struct Flagged {
  OptionRow row;
  OptionFlags flags;

  bool is_habit(std::string_view text) const { return !text.empty() && text == flags.habit; }
  [[noreturn]] void refuse_value(const std::string& found) const {
    const std::string_view habit = flags.habit;
    refuse(flags.flags, concat(row.expected, habit.empty() ? "" : ", or ", habit), found);
  }
};

CLI::Option* add_reader(CLI::App& app, const Flagged& option,
                        std::function<void(const std::string&)> read) {
  return add_value(app, option.flags.flags, option.flags.value, option.flags.help, std::move(read));
}

CLI::Option* add_row(CLI::App& app, const Flagged& option, bool& field) {
  return add_flag(app, option.flags.flags, field, option.flags.help);
}

template <typename Integer>
requires std::is_integral_v<Integer> CLI::Option* add_row(CLI::App& app, const Flagged& option,
                                                          Integer& field) {
  return add_reader(app, option, [option, &field](const std::string& text) {
    const auto value = integer_in(text, static_cast<int64_t>(option.row.least),
                                  static_cast<int64_t>(option.row.most));
    if (!value && !option.is_habit(text)) option.refuse_value(text);
    field = static_cast<Integer>(value.value_or(option.flags.habit_value));
  });
}

// A number of bytes.
CLI::Option* add_row(CLI::App& app, const Flagged& option, uint64_t& field) {
  return add_reader(app, option, [option, &field](const std::string& text) {
    field = read_bytes(option.flags.flags, text);
  });
}

CLI::Option* add_row(CLI::App& app, const Flagged& option, std::optional<uint64_t>& field) {
  return add_reader(app, option, [option, &field](const std::string& text) {
    uint64_t value = 0;
    if (option.is_habit(text)) {
      field.reset();
      return;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) option.refuse_value(text);
    field = value;
  });
}

// Checks the range before rounding to float: 1.0000001 is more than 1.
CLI::Option* add_row(CLI::App& app, const Flagged& option, float& field) {
  return add_reader(app, option, [option, &field](const std::string& text) {
    std::string_view rest = text;
    const auto value = take_number(rest);
    const bool taken =
        value && rest.empty() && *value >= option.row.least && *value <= option.row.most;
    if (!taken && !option.is_habit(text)) option.refuse_value(text);
    field = taken ? static_cast<float>(*value) : static_cast<float>(option.flags.habit_value);
  });
}

CLI::Option* add_row(CLI::App& app, const Flagged& option, std::string& field) {
  std::vector<std::string> choices;
  std::istringstream words{std::string(option.row.choices)};
  for (std::string word; words >> word;) choices.push_back(word);
  const std::string flags = option.flags.flags;
  return add_text(app, flags, option.flags.value, field, option.flags.help)
      ->check(CLI::IsMember(choices));
}

// Of an option that may be given several times.
CLI::Option* add_all(CLI::App& app, const Flagged& option,
                     std::function<void(const CLI::results_t&)> read) {
  const auto take = [read = std::move(read)](const CLI::results_t& results) {
    read(results);
    return true;
  };
  return app.add_option(option.flags.flags, take, option.flags.help)
      ->type_name(option.flags.value)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void check_all(const Flagged& option, const auto& values) {
  const std::string flags = option.flags.flags;
  const std::string name = flags.substr(0, flags.find(','));
  OptionRow row = option.row;
  row.name = name;
  if (const std::string text = problem(row, values); !text.empty())
    throw CLI::ValidationError(text);
}

CLI::Option* add_row(CLI::App& app, const Flagged& option, std::vector<std::string>& field) {
  return add_all(app, option, [option, &field](const CLI::results_t& results) {
    field.clear();
    for (const std::string& text : results) {
      if (option.is_habit(text)) continue;
      if (text.size() < static_cast<size_t>(option.row.least) ||
          text.size() > static_cast<size_t>(option.row.most)) {
        refuse(option.flags.flags,
               concat("a text of ", option.row.least, " to ", option.row.most, " bytes"), text);
      }
      field.push_back(text);
    }
    check_all(option, field);
  });
}

// ID+BIAS, ID-BIAS or ID=BIAS. Nothing if it is none.
std::optional<std::pair<TokenId, float>> bias_in(std::string_view text, const OptionRow& row) {
  TokenId id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || id < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with('-') && !text.starts_with('+') && !text.starts_with('='))
    return std::nullopt;
  if (!text.starts_with('-')) text.remove_prefix(1);
  const auto bias = take_number(text);
  if (!bias || !text.empty() || *bias < row.least || *bias > row.most) return std::nullopt;
  return std::pair(id, static_cast<float>(*bias));
}

[[noreturn]] void refuse_bias(const Flagged& option, const std::string& text) {
  refuse(option.flags.flags,
         concat("a token id and a bias from ", option.row.least, " to ", option.row.most,
                ", like 15043+1.5 or 15043-100"),
         text);
}

// As /set shows them, too: several, with spaces or commas between them.
CLI::Option* add_row(CLI::App& app, const Flagged& option,
                     std::vector<std::pair<TokenId, float>>& field) {
  return add_all(app, option, [option, &field](const CLI::results_t& results) {
    field.clear();
    for (const std::string& given : results) {
      if (option.is_habit(given)) continue;
      std::string spaced = given;
      std::ranges::replace(spaced, ',', ' ');
      std::istringstream words(spaced);
      const size_t before = field.size();
      for (std::string text; words >> text;) {
        const auto bias = bias_in(text, option.row);
        if (!bias) refuse_bias(option, text);
        field.push_back(*bias);
      }
      if (field.size() == before) refuse_bias(option, given);
    }
    check_all(option, field);
  });
}

}  // namespace

template <typename Options>
void add_options(CLI::App& app, Options& options) {
  each_option(options, [&](const OptionRow& row, auto& field) {
    const OptionFlags* flags = find_flags(row, app.get_name());
    if (flags != nullptr) add_row(app, {row, *flags}, field)->group(flags->group);
  });
}
template void add_options(CLI::App& app, LoadOptions& options);
template void add_options(CLI::App& app, GenerateOptions& options);

namespace {

// The names of an option's flags without dashes: {"temp", "temperature"}.
std::vector<std::string> bare_names(const OptionFlags& flags) {
  std::vector<std::string> names;
  std::istringstream words(flags.flags);
  for (std::string word; std::getline(words, word, ',');)
    names.push_back(word.substr(word.find_first_not_of('-')));
  return names;
}

bool has_name(const OptionFlags& flags, const std::string& name) {
  const std::vector<std::string> names = bare_names(flags);
  return std::ranges::find(names, name) != names.end();
}

std::string value_text(bool value) { return value ? "on" : "off"; }
std::string value_text(const std::optional<uint64_t>& value) {
  return value ? concat(*value) : "random";
}
std::string value_text(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    std::string shown;
    for (const char c : value) shown += c == '\n' ? "\\n" : std::string(1, c);
    text += concat(text.empty() ? "'" : ", '", printable(shown), "'");
  }
  return values.empty() ? "none" : text;
}
std::string value_text(const std::vector<std::pair<TokenId, float>>& biases) {
  std::string text;
  for (const auto& [id, bias] : biases)
    text += concat(text.empty() ? "" : " ", id, bias < 0 ? "" : "+", bias);
  return biases.empty() ? "none" : text;
}
template <typename Number>
requires std::is_arithmetic_v<Number> std::string value_text(Number value) { return concat(value); }

}  // namespace

std::vector<std::pair<std::string, std::string>> option_values(const std::string& command,
                                                               const GenerateOptions& options) {
  std::vector<std::pair<std::string, std::string>> values;
  each_option(options, [&](const OptionRow& row, const auto& field) {
    if (const OptionFlags* flags = find_flags(row, command); flags != nullptr)
      values.emplace_back(bare_names(*flags).front(), value_text(field));
  });
  return values;
}

bool copy_option(const std::string& command, const std::string& flag, const GenerateOptions& from,
                 GenerateOptions& to) {
  bool found = false;
  each_option(to, [&](const OptionRow& row, auto& field) {
    const OptionFlags* flags = find_flags(row, command);
    if (flags == nullptr || !has_name(*flags, flag)) return;
    each_option(from, [&](const OptionRow& other, const auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>,
                                   std::remove_cvref_t<decltype(field)>>) {
        if (other.name == row.name) field = value;
      }
    });
    found = true;
  });
  return found;
}

void add_json(CLI::App& app, bool& json, const std::string& description) {
  add_flag(app, "--json", json, description)->group("Output");
}

}  // namespace sluice::cli
