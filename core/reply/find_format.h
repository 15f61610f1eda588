// Finds out how a model writes a reply: what its template puts around one.
#pragma once

#include <string_view>

#include "chat/choice.h"
#include "chat/input.h"
#include "jinja/template.h"
#include "reply/format.h"
#include "text/tokenizer.h"

namespace sluice {

// `prompt` is what the template made of the input.
ReplyFormat find_reply_format(const Tokenizer& tokenizer, const ChosenTemplate& chosen,
                              const jinja::Template& made, const jinja::RenderOptions& time,
                              const ChatInput& input, std::string_view prompt);

}  // namespace sluice
