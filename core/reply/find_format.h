// Finds out how a model writes a reply: what its template puts around one.
#pragma once

#include "chat/rendered_chat.h"
#include "jinja/template.h"
#include "reply/format.h"
#include "text/tokenizer.h"

namespace sluice {

ReplyFormat find_reply_format(const Tokenizer& tokenizer, const RenderedChat& chat,
                              const jinja::RenderOptions& time);

}  // namespace sluice
