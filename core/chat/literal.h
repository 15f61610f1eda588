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

// The spans of `prompt`, which the template made of the input, in which characters of the input
// write a special token or a part of one. It renders the input once more with these characters
// replaced. If the template then decides differently it looks for the input's texts in the prompt
// instead, and warns if one can't be found.
std::vector<TextSpan> literal_spans(const Tokenizer& tokenizer, const jinja::Template& made,
                                    const jinja::RenderOptions& time, const ChatInput& input,
                                    std::string_view prompt, Notes& warnings);

}  // namespace sluice
