#include "options/rows.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"

namespace sluice {
namespace {

std::string refusal(const OptionRow& row, const auto& found) {
  return concat(row.name, " is ", found, "; expected ", row.expected);
}

bool is_one_of(std::string_view choices, std::string_view text) {
  const bool one = !text.empty() && text.find(' ') == std::string_view::npos;
  return one && concat(" ", choices, " ").find(concat(" ", text, " ")) != std::string::npos;
}

// The message for a wrong value; "" if it is right.
std::string problem(const OptionRow&, bool) { return ""; }

// A double is exact enough: rounding moves no value into a range of the table.
std::string problem(const OptionRow& row, double value, double least, double most) {
  if (row.zero_is_none && value == 0) return "";
  return value >= least && value <= most ? "" : refusal(row, value);  // NaN is in no range
}

// The bounds are rounded to float, too, so that 0.01f is in a range from 0.01 on.
std::string problem(const OptionRow& row, float value) {
  return problem(row, static_cast<double>(value),
                 static_cast<double>(static_cast<float>(row.least)),
                 static_cast<double>(static_cast<float>(row.most)));
}

template <typename Integer>
requires std::is_integral_v<Integer> std::string problem(const OptionRow& row, Integer value) {
  return problem(row, static_cast<double>(value), row.least, row.most);
}

std::string problem(const OptionRow& row, const std::optional<uint64_t>& value) {
  return value ? problem(row, *value) : "";
}

std::string problem(const OptionRow& row, const std::string& value) {
  if (row.choices.empty() || is_one_of(row.choices, value)) return "";
  return refusal(row, concat("'", printable(value), "'"));
}

}  // namespace

std::string problem(const OptionRow& row, const std::vector<std::string>& texts) {
  if (texts.size() > row.count)
    return concat(row.name, " has ", texts.size(), " texts; at most ", row.count, " are taken");
  for (const std::string& text : texts) {
    if (text.size() < static_cast<size_t>(row.least) ||
        text.size() > static_cast<size_t>(row.most)) {
      return concat("a text of ", row.name, " has ", text.size(), " bytes; each must have ",
                    row.least, " to ", row.most);
    }
    if (utf8_sanitize(text) != text) {
      return concat("the text '", printable(text), "' of ", row.name,
                    " is not valid UTF-8, so no text can hold it; give whole characters");
    }
  }
  return "";
}

std::string problem(const OptionRow& row, const std::vector<std::pair<TokenId, float>>& biases) {
  if (biases.size() > row.count)
    return concat(row.name, " has ", biases.size(), " tokens; at most ", row.count, " are taken");
  for (const auto& [id, bias] : biases) {
    if (id < 0) return concat(row.name, " has the token ", id, "; token ids are from 0 on");
    if (std::string text = problem(row, bias); !text.empty()) return text;
  }
  return "";
}

namespace {

Status check(const auto& options) {
  std::string first;
  each_option(options, [&](const OptionRow& row, const auto& value) {
    if (first.empty()) first = problem(row, value);
  });
  if (first.empty()) return {};
  return fail(Code::invalid_argument, first);
}

}  // namespace

Status check_options(const LoadOptions& options) { return check(options); }
Status check_options(const GenerateOptions& options) { return check(options); }

}  // namespace sluice
