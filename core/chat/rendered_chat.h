// A prompt together with what it was made of, from which reply/ finds how the model answers it.
#pragma once

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/choice.h"
#include "chat/template_use.h"

namespace sluice {

struct RenderedChat {
  ChatPrompt prompt;
  size_t final_begin;  // in the prompt's text, of what the model goes on with; else its end
  ChosenTemplate chosen;
  TemplateUse used;
};

// Fails as apply_chat_template() does.
Result<RenderedChat> render_chat(const ChatModel& model, const ChatRequest& request);

}  // namespace sluice
