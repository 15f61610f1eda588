// A chat's prompt and how the model writes the reply to it.
#pragma once  // face

#include "base/result.h"
#include "chat/chat_template.h"
#include "reply/format.h"

namespace sluice {

struct ReplyPrompt {
  ChatPrompt prompt;
  ReplyFormat format;  // empty without the tokens
};

// Fails as apply_chat_template() does.
Result<ReplyPrompt> make_reply_prompt(const ChatModel& model, const ChatRequest& request);

}  // namespace sluice
