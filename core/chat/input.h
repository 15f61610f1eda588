// Reads and checks what a chat template works on.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/value.h"

namespace sluice {

struct ChatInput {
  jinja::Entries context{nullptr};  // messages, tools, add_generation_prompt, ...
  bool has_tools = false;
  bool continues = false;  // the prompt ends in the last message
  uint32_t fields = 0;     // texts of the JSON; those of a message follow each other

  const jinja::List& messages() const;
  // Sets a member of the context.
  void set(std::string_view name, jinja::Value value);
  // Sets it unless it is there.
  void set_default(std::string_view name, jinja::Value value);
  // Replaces this member of each message that has it by change(value, index of the message), unless
  // that is a missing value.
  using Change = std::function<Result<jinja::Value>(const jinja::Value&, size_t)>;
  Status change_messages(std::string_view member, const Change& change);
};

// The arguments as those of ChatRequest. All is input but the roles that are known.
Result<ChatInput> read_chat_input(std::string_view messages, std::string_view kwargs);

const jinja::Value& role_of(const jinja::Value& message);
// The field of a text's first byte from the input; 0 if there is none.
uint32_t first_field(const jinja::Value& text);
// The text of a content's part, or null.
const jinja::Value* text_of_part(const jinja::Value& part);

// The text of the last message that the prompt ends in: its content, or the last part with a text.
Result<jinja::Value> final_text(const ChatInput& input);
// The input with this in its place.
ChatInput with_final_text(const ChatInput& input, jinja::Value text);

// Values of the core's own code.
jinja::Value list_of(std::initializer_list<jinja::Value> items);
jinja::Value dict_of(std::initializer_list<jinja::Entry> entries);
jinja::Value text_part(jinja::Value text);  // {"type": "text", "text": ..}

}  // namespace sluice
