#include "reply/reply_prompt.h"

#include <utility>

#include "chat/rendered_chat.h"
#include "reply/find_format.h"

namespace sluice {

Result<ReplyPrompt> make_reply_prompt(const ChatModel& model, const ChatRequest& request) {
  SLUICE_ASSIGN(RenderedChat chat, render_chat(model, request));
  ReplyFormat format;
  if (request.encode && model.tokenizer != nullptr) {
    SLUICE_ASSIGN(format, find_reply_format(*model.tokenizer, chat));
  }
  return ReplyPrompt{std::move(chat.prompt), std::move(format)};
}

}  // namespace sluice
