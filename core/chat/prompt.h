// The text and the tokens of a prompt.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/input.h"
#include "chat/template_use.h"
#include "jinja/text_writer.h"
#include "text/tokenizer.h"

namespace sluice {

struct PromptText {
  std::string text;
  jinja::InputSpans input{nullptr};  // its bytes from the input
  size_t final_begin = 0;            // of the text that the model goes on with; else the end
};

// Of all messages of the input. Fails as Template::render(), and if the template doesn't show the
// text that the model shall go on with.
Result<PromptText> render_prompt(TemplateUse& used, const ChatInput& input);

// The spans of a text's part that begins at `begin`, as the tokenizer takes them.
std::vector<TextSpan> spans_within(const jinja::InputSpans& spans, size_t begin, size_t end);

struct PromptTokens {
  std::vector<TokenId> ids;
  // Not 0: the text has more than `most` tokens, about so many, and `ids` are only the first ones.
  uint64_t about = 0;
};

// How a text is encoded.
struct PromptEncoder {
  const Tokenizer& tokenizer;
  std::function<bool()> stopped;  // as of RenderOptions

  // The ids of a part of a prompt, special tokens where nothing is from the input. It stops when
  // more than `most` are certain; 0: it never does. Fails only with Code::aborted.
  Result<PromptTokens> encode(const PromptText& prompt, size_t begin, size_t end,
                              size_t most) const;
  // Those of all of it, with the prefix that the file asks for.
  Result<PromptTokens> encode_whole(const PromptText& prompt, size_t most) const;
};

}  // namespace sluice
