// Chats that are longer than the context: their oldest turns are dropped.
#pragma once

#include "base/result.h"
#include "chat/prompt.h"

namespace sluice {

struct FitOptions {
  size_t most_tokens = 0;  // that the prompt may have; 0: any number
  bool drop = false;       // the oldest turns, as ChatRequest::most_tokens says
};

struct FittedPrompt {
  PromptText shown;
  PromptTokens tokens;
  size_t dropped_messages = 0;
};

// The prompt of the input, or of what is left of it. Fails with context_full if that has more
// tokens.
Result<FittedPrompt> fit_prompt(TemplateUse& used, const PromptEncoder& encoder,
                                const ChatInput& input, const FitOptions& options);

}  // namespace sluice
