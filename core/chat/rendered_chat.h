// A prompt together with what it was made of, from which reply/ finds how the model answers it.
#pragma once

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/choice.h"
#include "chat/input.h"
#include "jinja/template.h"

namespace sluice {

struct RenderedChat {
  ChatPrompt prompt;
  ChosenTemplate chosen;
  jinja::Template made;  // of chosen.text
  ChatInput input;       // all messages, also those that were dropped
};

// Fails as apply_chat_template() does.
Result<RenderedChat> render_chat(const ChatModel& model, const ChatRequest& request);

}  // namespace sluice
