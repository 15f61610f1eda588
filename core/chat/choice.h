// Which template a chat is rendered with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"

namespace sluice {

struct ChosenTemplate {
  std::string text;
  std::string source;  // as in ChatPrompt
  Notes warnings;
  std::string_view stop = "";  // as in BuiltIn
};

// The template that is given; else the file's, of several the one that transformers would take
// (`tool_use` if there are tools); else a built-in one for the family that the file seems to belong
// to. Fails with invalid_argument if there is neither a template nor a file.
Result<ChosenTemplate> choose_template(const ChatModel& model,
                                       std::optional<std::string_view> given, bool has_tools);

}  // namespace sluice
