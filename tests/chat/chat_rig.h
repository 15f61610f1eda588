// A model that chats are rendered for, without weights, and what its prompts spell.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/chat_template.h"
#include "make/byte_vocabulary.h"

namespace sluice {

using Ids = std::vector<TokenId>;
using Strings = std::vector<std::string>;

// A header with control tokens of these names behind the bytes, and these texts.
struct Rig {
  using Texts = std::vector<std::pair<std::string, std::string>>;
  explicit Rig(const Strings& control, const Texts& texts, bool add_bos = false,
               std::optional<uint32_t> bos = std::nullopt, const Strings& user_defined = {}) {
    GgufBuilder file = byte_vocabulary(control, user_defined);
    file.kv_bool("tokenizer.ggml.add_bos_token", add_bos);
    if (bos) file.kv_u32("tokenizer.ggml.bos_token_id", *bos);
    Strings names;
    for (const auto& [key, text] : texts) {
      file.kv_string(key, text);
      if (key.starts_with("tokenizer.chat_template.")) names.push_back(key.substr(24));
    }
    if (!names.empty()) file.kv_strings("tokenizer.chat_templates", names);
    header = *parse_gguf(as_bytes(file.header()));
    tokenizer = *Tokenizer::from_gguf(header);
  }
  // With control tokens <|im_start|> and <|im_end|> and this template.
  explicit Rig(const std::string& source)
      : Rig({"<|im_start|>", "<|im_end|>"}, {{"tokenizer.chat_template", source}}) {}
  ChatModel model() const { return {&header, &*tokenizer}; }

  Gguf header;
  std::optional<Tokenizer> tokenizer;
};

inline ChatPrompt must(const Result<ChatPrompt>& prompt) {
  if (prompt) return *prompt;
  ADD_FAILURE() << prompt.error().message;
  return {};
}

inline Result<ChatPrompt> prompt_of(const ChatModel& model, std::string_view messages,
                                    std::string_view kwargs = "", bool adapt = false) {
  ChatRequest request;
  request.messages = messages;
  request.kwargs = kwargs;
  request.adapt_contents = adapt;
  return apply_chat_template(model, request);
}

// The prompt's tokens, with brackets around those that are not the bytes of a text.
inline std::string spelled(const Rig& rig, const ChatPrompt& prompt) {
  std::string out;
  for (const TokenId id : prompt.tokens) {
    if (id < 256) {
      out += static_cast<char>(id);
    } else {
      out += "[" + std::string(rig.tokenizer->raw_token(id)) + "]";
    }
  }
  return out;
}

}  // namespace sluice
