#include "app/template_input.h"

#include <cstdlib>
#include <ctime>
#include <utility>

#include "app/prompt.h"
#include "base/format.h"

namespace sluice::cli {

Result<jinja::RenderOptions> template_time() {
  jinja::RenderOptions time;
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH"); fixed != nullptr && *fixed != '\0') {
    char* end = nullptr;
    time.now = std::strtoll(fixed, &end, 10);
    if (*end == '\0') return time;
    return fail(Code::invalid_argument, "SOURCE_DATE_EPOCH is '", printable(fixed),
                "'; expected seconds since 1970");
  }
  const std::time_t now = std::time(nullptr);
  time.now = now;
  std::tm local = {};
  if (localtime_r(&now, &local) != nullptr)
    time.utc_offset_seconds = static_cast<int32_t>(local.tm_gmtoff);
  return time;
}

Result<std::string> contents_of(const std::string& file) { return read_text(file, "file"); }

Result<std::string> read_template(const std::string& file, std::string_view option) {
  if (file.empty()) return std::string();
  auto text = read_text(file, "chat template");
  if (!text) {
    return fail(text.error().code, text.error().message, "; ", option,
                " takes the path of a Jinja file");
  }
  if (const auto made = jinja::Template::parse(*text); !made)
    return std::unexpected(with_template_name(file, made.error()));
  return text;
}

Error with_template_name(const std::string& file, Error error) {
  constexpr std::string_view kPlace = " of the template: ", kRefusal = "raise_exception: ";
  const size_t place = error.message.find(kPlace);
  if (!error.message.starts_with("line ") || place == std::string::npos) return error;
  const bool refuses =
      std::string_view(error.message).substr(place + kPlace.size()).starts_with(kRefusal);
  const std::string name =
      file.empty() ? "the model's chat template" : printable(file, kMaxShownPath);
  error.message = concat(name, refuses ? " refuses the messages: " : ": ", error.message);
  return error;
}

Notes with_template_advice(Notes warnings) {
  for (Note& each : warnings) {
    if (each.code == NoteCode::no_chat_template)
      each.message += " (--chat-template FILE gives another)";
  }
  return warnings;
}

}  // namespace sluice::cli
