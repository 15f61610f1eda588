// Reads and checks what a chat template works on.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice {

struct ChatInput {
  std::vector<jinja::Entry> context;  // messages, tools, add_generation_prompt, ...
  bool has_tools = false;
  bool continues = false;  // the prompt ends in the last message

  const std::vector<jinja::Value>& messages() const;
  // Sets a member of the context.
  void set(std::string_view name, jinja::Value value);
  // Sets it unless it is there.
  void set_default(std::string_view name, jinja::Value value);
};

// The arguments as those of ChatRequest.
Result<ChatInput> read_chat_input(std::string_view messages, std::string_view kwargs);

// The text of the last message that the prompt ends in: its content, or the last part with a text.
Result<std::string_view> final_text(const ChatInput& input);
// How many bytes of the prompt remain when it ends in that text. Fails if the template doesn't show
// it.
Result<size_t> end_of_final_text(std::string_view prompt, std::string_view text);

}  // namespace sluice
