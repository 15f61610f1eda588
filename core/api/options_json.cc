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
#include "base/format.h"
#include "base/parse_json.h"
#include "base/utf8.h"
#include "options/rows.h"

namespace sluice {
namespace {

constexpr size_t kMaxOptionsBytes = 128 << 10;
constexpr double kMaxExact = 0x1p53;  // beyond it a JavaScript number is not exact

// A value of the options, and of those in it what an option can use: what nests deeper than its
// items has only a kind.
struct Given {
  enum class Kind : uint8_t { null, boolean, integer, number, string, array, object };
  Kind kind = Kind::null;
  bool truth = false;
  uint64_t whole = 0;  // of an integer; of one below 0 the two's complement
  double number = 0;   // of an integer as well
  std::string text = {};
  std::string name = {};  // as a member of an object
  std::vector<Given> items = {};

  bool is_number() const { return kind == Kind::integer || kind == Kind::number; }
};

std::unexpected<Error> wrong_type(std::string_view name, std::string_view expected,
                                  const Given& found) {
  constexpr std::string_view kNames[] = {"null",   "boolean", "number", "number",
                                         "string", "array",   "object"};
  return fail(Code::invalid_argument, name, " must be ", expected, ", found ",
              kNames[static_cast<size_t>(found.kind)],
              found.kind == Given::Kind::null
                  ? " (JSON has no NaN and no infinity: they become null)"
                  : "");
}

// --- a value of each type of field ---------------------------------------------------------------

// A whole number in the row's range. It may be written like 2e9.
Result<uint64_t> read_whole(const OptionRow& row, const Given& value) {
  if (!value.is_number()) return wrong_type(row.name, row.expected, value);
  const double number = value.number;
  const bool written_whole = value.kind == Given::Kind::integer;
  const bool whole =
      written_whole || (number == std::floor(number) && std::fabs(number) <= kMaxExact);
  // A number that rounds to the end of the range is accepted: it fits the field.
  if (!whole || number < row.least || number > row.most) {
    return fail(Code::invalid_argument, row.name, " must be ", row.expected, ", found ", number);
  }
  return written_whole ? value.whole : static_cast<uint64_t>(static_cast<int64_t>(number));
}

template <typename Integer>
requires std::is_integral_v<Integer> Status read(const OptionRow& row, const Given& value,
                                                 Integer& field) {
  SLUICE_ASSIGN(const uint64_t number, read_whole(row, value));
  field = static_cast<Integer>(number);
  return {};
}

Status read(const OptionRow& row, const Given& value, std::optional<uint64_t>& field) {
  return read(row, value, field.emplace());
}

Status read(const OptionRow& row, const Given& value, float& field) {
  if (!value.is_number()) return wrong_type(row.name, row.expected, value);
  if (!(value.number >= row.least && value.number <= row.most)) {
    return fail(Code::invalid_argument, row.name, " must be ", row.expected, ", found ",
                value.number);
  }
  field = static_cast<float>(value.number);
  return {};
}

Status read(const OptionRow& row, const Given& value, bool& field) {
  if (value.kind != Given::Kind::boolean) return wrong_type(row.name, row.expected, value);
  field = value.truth;
  return {};
}

Status read(const OptionRow& row, const Given& value, std::string& field) {
  if (value.kind != Given::Kind::string) return wrong_type(row.name, row.expected, value);
  field = value.text;
  return {};
}

// One string or a list of them.
Status read(const OptionRow& row, const Given& value, std::vector<std::string>& field) {
  field.clear();
  if (value.kind != Given::Kind::array) return read(row, value, field.emplace_back());
  for (const Given& item : value.items) SLUICE_TRY(read(row, item, field.emplace_back()));
  return {};
}

// {"id":bias,..}
Status read(const OptionRow& row, const Given& value,
            std::vector<std::pair<TokenId, float>>& field) {
  if (value.kind != Given::Kind::object) return wrong_type(row.name, row.expected, value);
  field.clear();
  for (const Given& item : value.items) {
    const std::string& key = item.name;
    TokenId id = -1;
    const char* const end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, id);
    if (error != std::errc() || stop != end || id < 0) {
      return fail(Code::invalid_argument, row.name, " must be ", row.expected,
                  ", found the token id '", printable(key), "'");
    }
    SLUICE_TRY(read(row, item, field.emplace_back(id, 0.f).second));
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

// Keeps what the parser reads, and notes the option that is being read.
class OptionsReceiver : public JsonReceiver {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add({.kind = Kind::boolean, .truth = value}); }
  bool negative_integer(int64_t value) override {
    return add({.kind = Kind::integer,
                .whole = static_cast<uint64_t>(value),
                .number = static_cast<double>(value)});
  }
  bool integer(uint64_t value) override {
    return add({.kind = Kind::integer, .whole = value, .number = static_cast<double>(value)});
  }
  bool number(double value) override { return add({.kind = Kind::number, .number = value}); }
  bool string(std::string value) override {
    return add({.kind = Kind::string, .text = std::move(value)});
  }
  bool start_object() override { return open(Kind::object); }
  bool start_array() override { return open(Kind::array); }
  bool key(std::string value) override {
    if (depth_ == 1) option = value;
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  Given result;        // its items are the options, as often as they are given
  std::string option;  // whose value is being read; "" between two

 private:
  using Kind = Given::Kind;

  bool open(Kind kind) {
    put({.kind = kind});
    ++depth_;
    return true;
  }
  bool close() {
    if (--depth_ <= 1) option.clear();
    return true;
  }
  bool add(Given value) {
    put(std::move(value));
    if (depth_ <= 1) option.clear();
    return true;
  }
  void put(Given value) {
    value.name = std::move(key_);
    key_.clear();
    if (depth_ == 0)
      result = std::move(value);
    else if (depth_ == 1)
      result.items.push_back(std::move(value));
    else if (depth_ == 2)
      put_item(result.items.back(), std::move(value));
  }
  // Of members with the same name, the last one counts.
  static void put_item(Given& option, Given value) {
    if (option.kind == Kind::object) {
      const auto same = std::ranges::find(option.items, value.name, &Given::name);
      if (same != option.items.end()) {
        *same = std::move(value);
        return;
      }
    }
    option.items.push_back(std::move(value));
  }

  std::string key_;  // of the value that comes next
  size_t depth_ = 0;
};

// Parses an options object; "" stands for {}.
Result<std::vector<Given>> parse_options(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > kMaxOptionsBytes) {
    return fail(Code::invalid_argument, "the options have ", text.size(), " bytes; at most ",
                kMaxOptionsBytes, " are taken");
  }
  OptionsReceiver receiver;
  const bool valid = parse_json(text, receiver);
  if (!valid && !has_whole_characters(text)) {
    return fail(
        Code::invalid_argument,
        receiver.option.empty() ? "the options hold" : printable(receiver.option) + " holds",
        " text that is not valid Unicode (half of a surrogate pair, such as \\ud800 alone, "
        "or bytes that are not UTF-8); give whole characters");
  }
  if (!valid) return fail(Code::invalid_argument, "the options are not valid JSON");
  if (receiver.result.kind != Given::Kind::object) {
    return wrong_type("the options", "an object", receiver.result);
  }
  return std::move(receiver.result.items);
}

Status check_names(const std::vector<Given>& options, std::span<const OptionRow> rows) {
  for (const Given& option : options) {
    if (std::ranges::find(rows, option.name, &OptionRow::name) != rows.end()) continue;
    std::string known;
    for (const OptionRow& row : rows) known += concat(known.empty() ? "" : ", ", row.name);
    return fail(Code::invalid_argument, "unknown option '", printable(option.name),
                "'; the options are ", known);
  }
  return {};
}

// Of options with the same name, the last one counts.
const Given* last_of(const std::vector<Given>& options, std::string_view name) {
  const auto last = std::find_if(options.rbegin(), options.rend(),
                                 [&](const Given& each) { return each.name == name; });
  return last != options.rend() ? &*last : nullptr;
}

// Reads the options that are given, and checks all.
template <typename Options>
Result<Options> read_options(std::string_view text, std::span<const OptionRow> rows,
                             Options options = {}) {
  SLUICE_ASSIGN(const std::vector<Given> all, parse_options(text));
  SLUICE_TRY(check_names(all, rows));
  Status status;
  each_option(options, [&](const OptionRow& row, auto& field) {
    const Given* given = status.has_value() ? last_of(all, row.name) : nullptr;
    if (given != nullptr) status = read(row, *given, field);
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
