// sluice template: prints the prompt that a chat gives. Needs no weights.
#include <utility>

#include "api/json.h"
#include "app/arguments.h"
#include "app/diagnostics.h"
#include "app/exit_status.h"
#include "app/help.h"
#include "app/model.h"
#include "app/output.h"
#include "app/template_input.h"
#include "base/format.h"
#include "chat/chat_template.h"
#include "commands/commands.h"
#include "engine/read_header.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace sluice::cli {
namespace {

struct TemplateOptions {
  std::string model;
  DownloadOptions download;
  std::string messages;
  std::string chat_template;
  std::string kwargs;
  bool adapt = false;
  bool tokens = false;
  bool json = false;
};

constexpr char kTemplateFooter[] =
    R"(The messages are a JSON list like [{"role": "user", "content": "Hi"}], or
an object with "messages", "tools" and whatever else the template knows, like
"enable_thinking". "add_generation_prompt" is true by default, and
"continue_final_message": true ends the prompt in the last message. Templates
are rendered as Hugging Face's transformers does. Which roles there are is the
template's matter: one that it doesn't know is an error, or left out, as the
template has it. Without MODEL and with --chat-template, special tokens like
"bos_token" are empty unless they are given. With SOURCE_DATE_EPOCH set,
templates see that time (UTC).

Prints the text alone; with --json {"text":..,"tokens":[..],"template":..,
"warnings":[..]}, tokens only with a model. Special tokens that messages contain
are text among the tokens.

Examples:
  sluice template model.gguf -f messages.json
  sluice template --chat-template chat.jinja -f messages.json
  sluice template model.gguf -f chat.json --kwargs '{"enable_thinking":false}')";

struct Vocabulary {
  Gguf header;
  std::optional<Tokenizer> tokenizer;
};

// Reads the header and the tokenizer. A template can be shown without a supported tokenizer.
Result<Vocabulary> read_vocabulary(const TemplateOptions& options) {
  SLUICE_ASSIGN(ModelSource model, find_model(options.model, options.download));
  auto header = read_header(model);
  if (!header) return std::unexpected(with_file_name(model, header.error()));
  Vocabulary vocabulary{std::move(header->gguf), std::nullopt};
  auto tokenizer = Tokenizer::from_gguf(vocabulary.header);
  if (tokenizer) {
    warn(tokenizer->warnings());
    vocabulary.tokenizer = std::move(*tokenizer);
  } else if (options.tokens) {
    return std::unexpected(with_file_name(model, tokenizer.error()));
  } else {
    warn(concat("there are no tokens: ", with_file_name(model, tokenizer.error()).message));
  }
  return vocabulary;
}

// Names the file that an error is about: the template's, or the messages' if the same is wrong with
// them alone.
Error with_source(const TemplateOptions& options, const std::string& messages, Error error) {
  ChatRequest alone;
  alone.messages = messages;
  alone.chat_template = "";
  const auto read = apply_chat_template({}, alone);
  if (read || read.error().message != error.message)
    return with_template_name(options.chat_template, std::move(error));
  const std::string name = options.messages == "-" ? "standard input" : options.messages;
  error.message = concat(printable(name, kMaxShownPath), ": ", error.message);
  return error;
}

Result<std::string> apply(const TemplateOptions& options) {
  const bool has_template = !options.chat_template.empty();
  Vocabulary vocabulary;
  ChatModel model;
  if (!options.model.empty() || !has_template) {
    SLUICE_ASSIGN(vocabulary, read_vocabulary(options));
    model.header = &vocabulary.header;
    model.tokenizer = vocabulary.tokenizer ? &*vocabulary.tokenizer : nullptr;
  } else if (options.tokens) {
    return fail(Code::invalid_argument, "--tokens needs a MODEL: its vocabulary has the tokens");
  }
  SLUICE_ASSIGN(const std::string messages, contents_of(options.messages));
  SLUICE_ASSIGN(const std::string given, read_template(options.chat_template));
  ChatRequest request;
  request.messages = messages;
  request.kwargs = options.kwargs;
  if (has_template) request.chat_template = given;
  request.adapt_contents = options.adapt;
  SLUICE_ASSIGN(request.time, template_time());
  const auto applied = apply_chat_template(model, request);
  if (!applied) return std::unexpected(with_source(options, messages, applied.error()));
  const ChatPrompt& prompt = *applied;
  warn(with_template_advice(prompt.warnings));
  if (options.json) return chat_prompt_json(prompt, model.tokenizer != nullptr) + "\n";
  if (!options.tokens) return prompt.text;
  std::string ids;
  for (const TokenId id : prompt.tokens) ids += concat(ids.empty() ? "" : " ", id);
  return ids + "\n";
}

int template_command(const TemplateOptions& options) {
  const auto text = apply(options);
  if (!text) return report(text.error(), options.json);
  if (options.json) {
    write_json(*text);
  } else {
    write_content(*text);
  }
  return kDone;
}

}  // namespace

void add_template(CLI::App& program, int& status) {
  auto options = std::make_shared<TemplateOptions>();
  CLI::App* app =
      add_command(program, "template", "show what a model is given for a chat", kTemplateFooter);
  add_model(*app, options->model);
  add_text(*app, "-f,--messages", "FILE", options->messages,
           "the chat, as JSON; - is standard input")
      ->required()
      ->group("Input");
  add_text(*app, "--chat-template", "FILE", options->chat_template,
           "render this Jinja template and not the model's own")
      ->group("Input");
  add_text(*app, "--kwargs", "JSON", options->kwargs,
           "more that the template knows, as a JSON object; it overrides the file's")
      ->group("Input");
  add_flag(*app, "--adapt-contents", options->adapt,
           "join a content in parts if the template knows only text")
      ->group("Input");
  add_flag(*app, "--tokens", options->tokens, "print the token ids in place of the text")
      ->group("Output");
  add_json(*app, options->json, "text, ids, the template's origin and warnings as JSON");
  add_download_options(*app, options->download);
  app->callback([options, &status] { status = template_command(*options); });
}

}  // namespace sluice::cli
