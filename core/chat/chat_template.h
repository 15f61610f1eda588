// Chats as prompts: a model's chat template applied to messages, as Hugging Face's transformers
// does it, and the tokens of the text.
#pragma once  // face

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "jinja/template.h"
#include "text/tokenizer.h"

namespace sluice {

struct LearnedTemplate;

// Remembers what was learned of the last templates by trial, so that the next prompts need no
// trials. For one thread.
class TemplateCache {
  friend class TemplateUse;
  std::vector<std::shared_ptr<LearnedTemplate>> last_;
};

// Whose template and special tokens are used. Without a header the template must be given, without
// a tokenizer there are no tokens. For several prompts give a cache.
struct ChatModel {
  const Gguf* header = nullptr;
  const Tokenizer* tokenizer = nullptr;
  TemplateCache* cache = nullptr;
};

struct ChatRequest {
  // JSON: a list of messages, or an object with `messages`, `tools` and whatever else the template
  // knows. A message is an object with a role and a content: text, null or a list of parts.
  //
  // `continue_final_message`: true ends the prompt in the last message, which the model goes on
  // with. `add_generation_prompt` is true unless that is given. `bos_token`, `eos_token`,
  // `unk_token` and `pad_token` are the model's unless they are given.
  std::string_view messages;
  // JSON: an object, whose members override those above; "": none.
  std::string_view kwargs;
  // The text of a template, or the name of one that the file has; nothing: the file's own.
  std::optional<std::string_view> chat_template;
  // Contents have the form that the template knows: parts are joined by line ends, a text becomes a
  // part. Without it contents are given as they are, as in transformers.
  bool adapt_contents = false;
  bool encode = true;  // wants the tokens
  // Whether the model shall think before it answers, for templates that let one choose: sets
  // `enable_thinking` and `thinking` unless they are given. A template without a choice ignores it.
  std::optional<bool> thinking;
  // The oldest turns are dropped until the prompt has no more tokens; 0: none are. A turn is a
  // user's message and all up to the next one. The last turn and the system's messages at the
  // beginning stay. Some more turns go than must, so that the next prompts begin in the same way.
  size_t most_tokens = 0;
  // The most tokens that can ever fit; 0: any number. A prompt that has more is not encoded to its
  // end.
  size_t context = 0;
  jinja::RenderOptions time;
};

struct ChatPrompt {
  std::string text;
  // The bytes of `text` that come from the request, in order; all others are the template's.
  std::vector<TextSpan> input;
  // With BOS if the file asks for it; never twice. Control tokens are the template's own: what the
  // request spells, alone or together with the template, stays text.
  std::vector<TokenId> tokens;
  std::string source;  // of the template: "given", "tokenizer.chat_template", "built in: chatml"
  Notes warnings;
  size_t dropped_messages = 0;
  size_t renderings = 0;  // of the template, trials included
};

// Fails with invalid_argument if the request is wrong or the template fails; then it says the line.
// With context_full if the prompt has more tokens than `context`, or the last turn alone more than
// `most_tokens`. With aborted if `time` says so.
Result<ChatPrompt> apply_chat_template(const ChatModel& model, const ChatRequest& request);

}  // namespace sluice
