// Chats that are longer than the context: their oldest turns are dropped.
#pragma once

#include <functional>

#include "base/result.h"
#include "chat/chat_template.h"
#include "chat/input.h"

namespace sluice {

// Makes a prompt of all messages of its input.
using MakePrompt = std::function<Result<ChatPrompt>(const ChatInput&)>;

// The prompt of the input, or of what is left of it if that has more than `most_tokens`
// (ChatRequest::most_tokens).
Result<ChatPrompt> fit_prompt(ChatInput input, size_t most_tokens, const MakePrompt& make);

}  // namespace sluice
