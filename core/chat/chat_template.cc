#include "chat/chat_template.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/format.h"
#include "chat/contents.h"
#include "chat/fit.h"
#include "chat/literal.h"
#include "chat/rendered_chat.h"

namespace sluice {
namespace {

// A special token's text; nothing if the file has none.
std::optional<std::string> token_text(const ChatModel& model, std::string_view key, TokenId known) {
  if (model.tokenizer != nullptr && known != kNoToken)
    return std::string(model.tokenizer->raw_token(known));
  if (model.header == nullptr) return std::nullopt;
  const MetadataValue* id = model.header->find(key);
  const MetadataValue* tokens = model.header->find("tokenizer.ggml.tokens");
  const bool listed =
      tokens != nullptr && tokens->is_array() && tokens->element == ValueType::string;
  if (id == nullptr || id->is_array() || !listed) return std::nullopt;
  const auto index = id->as_u64();
  if (!index || *index >= tokens->count) return std::nullopt;
  return std::string(tokens->text(*index));
}

void add_special_tokens(const ChatModel& model, ChatInput& input) {
  const auto add = [&](std::string_view name, std::optional<std::string> text) {
    if (text) input.set_default(name, jinja::Value::text(std::move(*text)));
  };
  const Tokenizer* tokenizer = model.tokenizer;
  const auto bos = token_text(model, "tokenizer.ggml.bos_token_id",
                              tokenizer != nullptr ? tokenizer->bos() : kNoToken);
  const auto eos = token_text(model, "tokenizer.ggml.eos_token_id",
                              tokenizer != nullptr ? tokenizer->eos() : kNoToken);
  // Most templates write these two without asking whether they are there.
  add("bos_token", bos.value_or(""));
  add("eos_token", eos.value_or(""));
  add("unk_token", token_text(model, "tokenizer.ggml.unknown_token_id", kNoToken));
  add("pad_token", token_text(model, "tokenizer.ggml.padding_token_id", kNoToken));
}

// The ids, with the prefix that the file asks for, which the template may have written as well.
Result<std::vector<TokenId>> encode(const Tokenizer& tokenizer, std::string_view text,
                                    std::vector<TextSpan> literal,
                                    const std::function<bool()>& stopped) {
  Encoding encoding(tokenizer, text, true, Encoding::kSlice, std::move(literal));
  std::vector<TokenId> ids;
  for (bool more = true; more;) {
    if (stopped && stopped()) return fail(Code::aborted, "the prompt was interrupted");
    more = encoding.step();
    const std::vector<TokenId> some = encoding.take();
    ids.insert(ids.end(), some.begin(), some.end());
  }
  if (const TokenId bos = tokenizer.bos(); bos != kNoToken) {
    const auto other = std::ranges::find_if(ids, [bos](TokenId id) { return id != bos; });
    if (other - ids.begin() > 1) ids.erase(ids.begin() + 1, other);
  }
  return tokenizer.with_prefix(std::move(ids));
}

// Its text and tokens, of all messages.
Result<ChatPrompt> make_prompt(const Tokenizer* tokenizer, const jinja::Template& made,
                               const jinja::RenderOptions& time, const ChatInput& input) {
  ChatPrompt prompt;
  SLUICE_ASSIGN(prompt.text, made.render(jinja::Value::dict(input.context), time));
  std::vector<TextSpan> literal;
  if (tokenizer != nullptr)
    literal = literal_spans(*tokenizer, made, time, input, prompt.text, prompt.warnings);
  if (input.continues) {
    SLUICE_ASSIGN(const std::string_view text, final_text(input));
    SLUICE_ASSIGN(const size_t end, end_of_final_text(prompt.text, text));
    prompt.text.resize(end);
    std::erase_if(literal, [end](const TextSpan& span) { return span.begin >= end; });
    if (!literal.empty()) literal.back().end = std::min(literal.back().end, end);
  }
  if (tokenizer != nullptr) {
    SLUICE_ASSIGN(prompt.tokens, encode(*tokenizer, prompt.text, std::move(literal), time.stopped));
  }
  return prompt;
}

}  // namespace

Result<RenderedChat> render_chat(const ChatModel& model, const ChatRequest& request) {
  SLUICE_ASSIGN(ChatInput input, read_chat_input(request.messages, request.kwargs));
  SLUICE_ASSIGN(ChosenTemplate chosen,
                choose_template(model, request.chat_template, input.has_tools));
  SLUICE_ASSIGN(jinja::Template made, jinja::Template::parse(chosen.text));
  Notes warnings = chosen.warnings;
  add_special_tokens(model, input);
  if (request.thinking) {
    for (const char* name : {"enable_thinking", "thinking"})
      input.set_default(name, jinja::Value::boolean(*request.thinking));
  }
  if (request.adapt_contents) {
    SLUICE_TRY(adapt_contents(made, request.time, input, warnings));
  } else {
    check_contents(made, request.time, input, warnings);
  }

  const Tokenizer* tokenizer = request.encode ? model.tokenizer : nullptr;
  SLUICE_ASSIGN(
      ChatPrompt prompt,
      fit_prompt(input, tokenizer != nullptr ? request.most_tokens : 0, [&](const ChatInput& some) {
        return make_prompt(tokenizer, made, request.time, some);
      }));
  prompt.warnings.insert(prompt.warnings.begin(), warnings.begin(), warnings.end());
  prompt.source = chosen.source;
  return RenderedChat{std::move(prompt), std::move(chosen), std::move(made), std::move(input)};
}

Result<ChatPrompt> apply_chat_template(const ChatModel& model, const ChatRequest& request) {
  SLUICE_ASSIGN(RenderedChat rendered, render_chat(model, request));
  return std::move(rendered.prompt);
}

}  // namespace sluice
