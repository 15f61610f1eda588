// Reads options from JSON, by the rows of options.json.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/json_parts.h"
#include "base/format.h"
#include "base/parse_json.h"
#include "base/utf8.h"
#include "options/rows.h"

namespace sluice {
namespace {

constexpr size_t kMaxOptionsBytes = 128 << 10;
constexpr double kMaxExact = 0x1p53;  // beyond it a JavaScript number is not exact

std::unexpected<Error> wrong_type(std::string_view name, std::string_view expected,
                                  const Json& found) {
  return fail(Code::invalid_argument, name, " must be ", expected, ", found ", found.type_name(),
              found.is_null() ? " (JSON has no NaN and no infinity: they become null)" : "");
}

// --- a value of each type of field ---------------------------------------------------------------

// A whole number in the row's range. It may be written like 2e9.
Result<uint64_t> read_whole(const OptionRow& row, const Json& value) {
  if (!value.is_number()) return wrong_type(row.name, row.expected, value);
  const double number = value.get<double>();
  const bool written_whole = value.is_number_integer();
  const bool whole =
      written_whole || (number == std::floor(number) && std::fabs(number) <= kMaxExact);
  // A number that rounds to the end of the range is accepted: it fits the field.
  if (!whole || number < row.least || number > row.most) {
    return fail(Code::invalid_argument, row.name, " must be ", row.expected, ", found ", number);
  }
  // A negative number becomes its two's complement.
  if (written_whole) return value.get<uint64_t>();
  return static_cast<uint64_t>(static_cast<int64_t>(number));
}

template <typename Integer>
requires std::is_integral_v<Integer> Status read(const OptionRow& row, const Json& value,
                                                 Integer& field) {
  SLUICE_ASSIGN(const uint64_t number, read_whole(row, value));
  field = static_cast<Integer>(number);
  return {};
}

Status read(const OptionRow& row, const Json& value, std::optional<uint64_t>& field) {
  return read(row, value, field.emplace());
}

Status read(const OptionRow& row, const Json& value, float& field) {
  if (!value.is_number()) return wrong_type(row.name, row.expected, value);
  const double number = value.get<double>();
  if (!(number >= row.least && number <= row.most)) {
    return fail(Code::invalid_argument, row.name, " must be ", row.expected, ", found ", number);
  }
  field = static_cast<float>(number);
  return {};
}

Status read(const OptionRow& row, const Json& value, bool& field) {
  if (!value.is_boolean()) return wrong_type(row.name, row.expected, value);
  field = value.get<bool>();
  return {};
}

Status read(const OptionRow& row, const Json& value, std::string& field) {
  if (!value.is_string()) return wrong_type(row.name, row.expected, value);
  field = value.get<std::string>();
  return {};
}

// One string or a list of them. The value isn't copied: it may nest so deep that this overflows the
// stack.
Status read(const OptionRow& row, const Json& value, std::vector<std::string>& field) {
  field.clear();
  if (value.is_string()) {
    field.push_back(value.get<std::string>());
    return {};
  }
  if (!value.is_array()) return wrong_type(row.name, row.expected, value);
  for (const Json& item : value) {
    if (!item.is_string()) return wrong_type(row.name, row.expected, item);
    field.push_back(item.get<std::string>());
  }
  return {};
}

// {"id":bias,..}
Status read(const OptionRow& row, const Json& value,
            std::vector<std::pair<TokenId, float>>& field) {
  if (!value.is_object()) return wrong_type(row.name, row.expected, value);
  field.clear();
  for (auto each = value.begin(); each != value.end(); ++each) {
    const std::string& key = each.key();
    TokenId id = -1;
    const char* const end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, id);
    if (error != std::errc() || stop != end || id < 0) {
      return fail(Code::invalid_argument, row.name, " must be ", row.expected,
                  ", found the token id '", printable(key), "'");
    }
    SLUICE_TRY(read(row, *each, field.emplace_back(id, 0.f).second));
  }
  return {};
}

// --- the text ------------------------------------------------------------------------------------

// If `text` starts with an escape like \ud800: the half of a surrogate pair that it stands for.
// Else 0.
uint32_t surrogate_at(std::string_view text) {
  uint32_t unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  const bool surrogate = end == text.data() + 6 && unit >= 0xd800 && unit < 0xe000;
  return error == std::errc() && surrogate ? unit : 0;
}

// True if JSON text has only whole characters: valid UTF-8 and no half of a surrogate pair.
bool has_whole_characters(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    if (!c.valid) return false;
    size_t length = static_cast<size_t>(c.length);
    if (const uint32_t first = surrogate_at(text); first != 0) {
      const uint32_t second = surrogate_at(text.substr(6));
      if (first >= 0xdc00 || second < 0xdc00) return false;
      length = 12;
    } else if (c.code_point == '\\') {
      length = 2;
    }
    text.remove_prefix(std::min(length, text.size()));
  }
  return true;
}

// Builds the JSON while the parser reads, and notes the option that is being read.
class Builder : public JsonReceiver {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool negative_integer(int64_t value) override { return add(value); }
  bool integer(uint64_t value) override { return add(value); }
  bool number(double value) override { return add(value); }
  bool string(std::string value) override { return add(std::move(value)); }
  bool start_object() override { return open(Json::object()); }
  bool start_array() override { return open(Json::array()); }
  bool key(std::string value) override {
    if (open_.size() == 1) option = value;
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  Json result;
  std::string option;  // whose value is being read; "" between two

 private:
  // An object or an array that is not complete, and the name of the object's next member.
  struct Level {
    Json json;
    std::string key;
  };

  bool open(Json empty) {
    open_.push_back({std::move(empty), {}});
    return true;
  }
  bool close() {
    Json json = std::move(open_.back().json);
    open_.pop_back();
    return add(std::move(json));
  }
  // Of members with the same name, the last one counts.
  bool add(Json value) {
    if (open_.size() <= 1) option.clear();
    if (open_.empty()) {
      result = std::move(value);
    } else if (Level& level = open_.back(); level.json.is_array()) {
      level.json.push_back(std::move(value));
    } else {
      level.json[std::move(level.key)] = std::move(value);
    }
    return true;
  }

  std::vector<Level> open_;
};

// Parses an options object; "" stands for {}.
Result<Json> parse_options(std::string_view text) {
  if (text.empty()) return Json::object();
  if (text.size() > kMaxOptionsBytes) {
    return fail(Code::invalid_argument, "the options have ", text.size(), " bytes; at most ",
                kMaxOptionsBytes, " are taken");
  }
  Builder builder;
  const bool valid = parse_json(text, builder);
  if (!valid && !has_whole_characters(text)) {
    return fail(Code::invalid_argument,
                builder.option.empty() ? "the options hold" : printable(builder.option) + " holds",
                " text that is not valid Unicode (half of a surrogate pair, such as \\ud800 alone, "
                "or bytes that are not UTF-8); give whole characters");
  }
  if (!valid) return fail(Code::invalid_argument, "the options are not valid JSON");
  if (!builder.result.is_object()) {
    return wrong_type("the options", "an object", builder.result);
  }
  return std::move(builder.result);
}

Status check_names(const Json& options, std::span<const OptionRow> rows) {
  std::string known;
  for (const OptionRow& row : rows) known += concat(known.empty() ? "" : ", ", row.name);
  for (const auto& [name, value] : options.items()) {
    const auto has_name = [&name](const OptionRow& row) { return row.name == name; };
    if (std::any_of(rows.begin(), rows.end(), has_name)) continue;
    return fail(Code::invalid_argument, "unknown option '", printable(name), "'; the options are ",
                known);
  }
  return {};
}

// Reads the options that are given, and checks all.
template <typename Options>
Result<Options> read_options(std::string_view text, std::span<const OptionRow> rows,
                             Options options = {}) {
  SLUICE_ASSIGN(const Json json, parse_options(text));
  SLUICE_TRY(check_names(json, rows));
  Status status;
  each_option(options, [&](const OptionRow& row, auto& field) {
    const auto given = json.find(row.name);
    if (given != json.end() && status.has_value()) status = read(row, *given, field);
  });
  SLUICE_TRY(status);
  SLUICE_TRY(check_options(options));
  return options;
}

}  // namespace

Result<LoadOptions> load_options_from_json(std::string_view json) {
  return read_options<LoadOptions>(json, kLoadOptions);
}

Result<GenerateOptions> generate_options_from_json(std::string_view json,
                                                   GenerateOptions defaults) {
  return read_options<GenerateOptions>(json, kGenerateOptions, std::move(defaults));
}

}  // namespace sluice
