#include "chat/chat_template.h"

#include <algorithm>
#include <utility>

#include "chat/contents.h"
#include "chat/fit.h"
#include "chat/prompt.h"
#include "chat/rendered_chat.h"
#include "chat/roles.h"

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

}  // namespace

Result<RenderedChat> render_chat(const ChatModel& model, const ChatRequest& request) {
  SLUICE_ASSIGN(ChatInput input, read_chat_input(request.messages, request.kwargs));
  SLUICE_ASSIGN(ChosenTemplate chosen,
                choose_template(model, request.chat_template, input.has_tools));
  add_special_tokens(model, input);
  if (request.thinking) {
    for (const char* name : {"enable_thinking", "thinking"})
      input.set_default(name, jinja::Value::boolean(*request.thinking));
  }
  SLUICE_ASSIGN(TemplateUse used,
                TemplateUse::begin(model.cache, chosen.text, input, request.time));
  ChatPrompt prompt;
  prompt.source = chosen.source;
  prompt.warnings = chosen.warnings;
  SLUICE_TRY(request.adapt_contents ? adapt_contents(used, input, prompt.warnings)
                                    : check_contents(used, input, prompt.warnings));

  FittedPrompt made;
  if (request.encode && model.tokenizer != nullptr) {
    const bool drop = request.most_tokens > 0;
    size_t most = drop ? request.most_tokens : request.context;
    if (request.context > 0) most = std::min(most, request.context);
    SLUICE_ASSIGN(made,
                  fit_prompt(used, {*model.tokenizer, request.time.stopped}, input, {most, drop}));
    check_roles(*model.tokenizer, input, made.shown.text, made.shown.input, prompt.warnings);
  } else {
    SLUICE_ASSIGN(made.shown, render_prompt(used, input));
  }
  prompt.input = spans_within(made.shown.input, 0, made.shown.text.size());
  prompt.text = std::move(made.shown.text);
  prompt.tokens = std::move(made.tokens.ids);
  prompt.dropped_messages = made.dropped_messages;
  prompt.renderings = used.renderings();
  return RenderedChat{std::move(prompt), made.shown.final_begin, std::move(chosen),
                      std::move(used)};
}

Result<ChatPrompt> apply_chat_template(const ChatModel& model, const ChatRequest& request) {
  SLUICE_ASSIGN(RenderedChat rendered, render_chat(model, request));
  return std::move(rendered.prompt);
}

}  // namespace sluice
