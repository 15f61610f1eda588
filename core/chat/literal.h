// Special tokens that are written out in messages or tools: they stay text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/input.h"
#include "jinja/template.h"
#include "text/tokenizer.h"

namespace sluice {

// The spans of `prompt` (the rendered input) where the input itself spells a special token or a
// part of one. Found by rendering once more with these characters replaced. If the template then
// decides differently, the input's texts are searched in the prompt instead; warns if one isn't
// found.
std::vector<TextSpan> literal_spans(const Tokenizer& tokenizer, const jinja::Template& made,
                                    const jinja::RenderOptions& time, const ChatInput& input,
                                    std::string_view prompt, Notes& warnings);

}  // namespace sluice
