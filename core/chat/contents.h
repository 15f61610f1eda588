// The contents of messages in the form that a template knows: texts, or lists of parts.
#pragma once

#include "base/result.h"
#include "chat/input.h"
#include "chat/template_use.h"

namespace sluice {

// Gives the contents the form that the template knows, and adds what was done to the warnings.
// Fails with invalid_argument if a part has no text and the template knows only texts, or as the
// trials.
Status adapt_contents(TemplateUse& used, ChatInput& input, Notes& warnings);
// Changes nothing, but adds a warning if the template doesn't know the form of a content.
Status check_contents(TemplateUse& used, const ChatInput& input, Notes& warnings);

}  // namespace sluice
