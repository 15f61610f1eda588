#include "commands/stimuli.h"

#include <algorithm>
#include <string_view>

#include "app/diagnostics.h"
#include "app/prompt.h"
#include "base/format.h"
#include "base/parse_json.h"
#include "base/utf8.h"
#include "commands/text_vectors.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kText = "text";
constexpr std::string_view kTokens = "tokens";
constexpr JsonLimits kStimuliLimits = {.parts = 8'000'000, .names = 1000};

// "line 3, column 7", both from 1; columns are bytes.
std::string place_of(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line = static_cast<size_t>(std::ranges::count(before, '\n'));
  const size_t start = before.rfind('\n') + 1;  // 0 without one
  return concat("line ", line + 1, ", column ", std::max<size_t>(at - start, 1));
}

Result<Stimulus> stimulus_of(Json value, std::string name) {
  if (value.is_string()) return Stimulus{std::move(name), value.get<std::string>(), Json::object()};
  if (!value.is_object())
    return fail(Code::bad_file, name, " is ",
                value.is_array()  ? "a list"
                : value.is_null() ? "null"
                                  : concat("a ", value.type_name()),
                "; expected a text, or an object with ", kText);
  const auto text = value.find(kText);
  if (text == value.end() || !text->is_string())
    return fail(Code::bad_file, name, text == value.end() ? " has no " : " has another value as ",
                kText, "; expected a text there");
  if (value.contains(kTokens))
    return fail(Code::bad_file, name, " has a field ", kTokens,
                ", which is what the output calls the text's ids; give it another name");
  Stimulus stimulus{std::move(name), text->get<std::string>(), Json::object()};
  value.erase(text);
  stimulus.fields = std::move(value);
  return stimulus;
}

Result<std::vector<Stimulus>> of_json(std::string_view text) {
  size_t at = 0;
  if (const Status sound = check_json(text, kStimuliLimits, &at); !sound)
    return fail(Code::bad_file, sound.error().message, " at ", place_of(text, at));
  Json list = Json::parse(text, nullptr, false);
  if (!list.is_array())
    return fail(Code::bad_file,
                "it has no list; expected [\"..\", \"..\"], or [{\"text\":\"..\"}, ..]");
  std::vector<Stimulus> stimuli;
  for (Json& value : list) {
    SLUICE_ASSIGN(
        Stimulus stimulus,
        stimulus_of(std::move(value), concat("stimulus ", stimuli.size(), " (counted from 0)")));
    stimuli.push_back(std::move(stimulus));
  }
  return stimuli;
}

Result<std::vector<Stimulus>> of_lines(std::string_view text) {
  std::vector<Stimulus> stimuli;
  for (const std::string_view line : lines_of(text)) {
    Stimulus stimulus{concat("line ", stimuli.size() + 1), std::string(line), Json::object()};
    for (size_t at = 0; at < line.size();) {
      const Utf8Char c = utf8_decode(line.substr(at));
      if (!c.valid)
        return fail(Code::bad_file, stimulus.name, " is no UTF-8 from byte ", at + 1, " on");
      at += c.length;
    }
    stimuli.push_back(std::move(stimulus));
  }
  return stimuli;
}

}  // namespace

Result<std::vector<Stimulus>> read_stimuli(const std::string& path) {
  SLUICE_ASSIGN(const std::string text, read_text(path, "stimuli's file"));
  const bool json = path.ends_with(".json");
  auto stimuli = json ? of_json(text) : of_lines(text);
  if (!stimuli) {
    Error error = std::move(stimuli).error();
    error.message = concat(printable(path, kMaxShownPath), ": ", error.message);
    return std::unexpected(std::move(error));
  }
  if (stimuli->empty())
    return fail(Code::bad_file, printable(path, kMaxShownPath), " has no stimulus");
  if (!json && (text.starts_with("[\"") || text.starts_with("[{") || text.starts_with("{\"")))
    note(concat("each line of ", printable(path, kMaxShownPath),
                " is taken as a text: JSON has a name that ends with .json"));
  return stimuli;
}

}  // namespace sluice::cli
