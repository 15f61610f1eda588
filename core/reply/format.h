// How a model writes a reply to a chat.
#pragma once  // face

#include <string>
#include <vector>

#include "base/token.h"

namespace sluice {

struct ReplyFormat {
  // Tokens that end the reply, besides those with which the model ends any text.
  std::vector<TokenId> end_tokens;
  // Texts with which the next turn begins, where no token ends a reply.
  std::vector<std::string> stop;
  // The marks around reasoning, special tokens by their names; "": the model has none.
  std::string think_begin;
  std::string think_end;
  // What is written to end reasoning early: the end mark with the line ends around it.
  std::string think_close;
  // Reasoning may begin anywhere, because its mark is a control token, which no text contains.
  // Otherwise only a reply's beginning can be its mark.
  bool begins_anywhere = false;
  bool begins_thinking = false;  // the prompt ends inside of reasoning

  bool has_reasoning() const { return !think_end.empty(); }
};

}  // namespace sluice
