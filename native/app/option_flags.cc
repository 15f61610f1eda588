#include "app/option_flags.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <sstream>
#include <type_traits>

#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/numbers.h"
#include "base/format.h"
#include "engine/model_sampling.h"
#include "options/rows.h"

namespace sluice::cli {
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
    field = read_bytes(option.flags.flags, text, option.row.least);
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

// Adds an option that may be given several times.
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

// One value may have several biases, with spaces or commas between them, as /set shows them.
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

namespace {

std::string json_value(bool value) { return value ? "true" : "false"; }
std::string json_value(const std::optional<uint64_t>& value) {
  if (!value) return "null";
  constexpr uint64_t kMostExact = uint64_t{1} << 53;
  return *value > kMostExact ? concat("\"", *value, "\"") : concat(*value);
}
std::string json_value(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text += text.empty() ? "" : ",";
    append_json_text(text, value);
  }
  return concat("[", text, "]");
}
std::string json_value(const std::vector<std::pair<TokenId, float>>& biases) {
  std::string text;
  for (const auto& [id, bias] : biases)
    text += concat(text.empty() ? "\"" : ",\"", id, "\":", bias);
  return concat("{", text, "}");
}
template <typename Number>
requires std::is_arithmetic_v<Number> std::string json_value(Number value) { return concat(value); }

}  // namespace

std::string options_json(const std::string& command, const GenerateOptions& options) {
  std::string out;
  each_option(options, [&](const OptionRow& row, const auto& field) {
    if (find_flags(row, command) == nullptr) return;
    out += concat(out.empty() ? "\"" : ",\"", row.name, "\":", json_value(field));
  });
  return concat("{", out, "}");
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

void take_model_sampling(const CLI::App& app, const Gguf& header, GenerateOptions& options) {
  const ModelSampling sampling = read_model_sampling(header);
  std::string taken;
  for (const auto& [name, value] : option_values(app.get_name(), sampling.defaults)) {
    const bool own = std::ranges::any_of(sampling.given, [&](const auto& given) {
      const auto is_it = [&](const OptionFlags& flags) {
        return flags.option == given.first && bare_names(flags).front() == name;
      };
      return std::ranges::any_of(kOptionFlags, is_it);
    });
    if (!own || app.count("--" + name) > 0) continue;
    copy_option(app.get_name(), name, sampling.defaults, options);
    taken += concat(taken.empty() ? "" : ", ", name, " ", value);
  }
  if (!taken.empty()) note(concat("the model's file sets ", taken, "; options go before"));
}

}  // namespace sluice::cli
