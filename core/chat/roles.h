// The roles of messages. Many templates build control tokens from them, as "<|user|>".
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat/input.h"
#include "jinja/text_writer.h"
#include "text/tokenizer.h"

namespace sluice {

// One of those that models know. Such a role counts as the template's own text.
bool is_known_role(std::string_view role);

// Warns if a role that is not known would have completed a control token in the prompt.
void check_roles(const Tokenizer& tokenizer, const ChatInput& input, std::string_view prompt,
                 const jinja::InputSpans& spans, Notes& warnings);

}  // namespace sluice
