// The contents of messages in the form that a template knows: texts, or lists of parts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "chat/input.h"
#include "jinja/template.h"

namespace sluice {

// Gives the contents the form that the template knows, and adds what was done to the warnings.
// Fails with invalid_argument if a part has no text and the template knows only texts.
Status adapt_contents(const jinja::Template& made, const jinja::RenderOptions& time,
                      ChatInput& input, Notes& warnings);
// Changes nothing, but adds a warning if the template doesn't know the form of a content.
void check_contents(const jinja::Template& made, const jinja::RenderOptions& time,
                    const ChatInput& input, Notes& warnings);

}  // namespace sluice
