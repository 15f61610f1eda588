// Finds out how a model writes a reply: what its template puts around one.
#pragma once

#include "base/result.h"
#include "chat/rendered_chat.h"
#include "reply/format.h"
#include "text/tokenizer.h"

namespace sluice {

// Counts the renderings that it needs. Fails only with Code::aborted.
Result<ReplyFormat> find_reply_format(const Tokenizer& tokenizer, RenderedChat& chat);

}  // namespace sluice
