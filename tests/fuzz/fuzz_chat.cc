// Fuzzes chats. Any messages become a prompt in which nothing of theirs is a part of a control
// token, or are refused; any reply is cut into reasoning and content, a text for each token. The
// input: a byte that chooses the template, the room in the context (a byte), the messages, the
// kwargs and the reply, with zero bytes between them.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "chat/reuse.h"
#include "fuzz_support.h"
#include "make/byte_vocabulary.h"
#include "reply/reasoning_split.h"
#include "reply/reply_prompt.h"

namespace {

using namespace sluice;

constexpr const char* kTemplates[] = {
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking %}<think>\n"
    "{% endif %}{% endif %}",
    "{% for m in messages %}<|im_start|>{% for part in m.content %}{{ part.text | trim }}"
    "{% endfor %}<|im_end|>{% endfor %}<think></think>",
    "{{ tools | tojson }}{% for m in messages %}{{ m | tojson }}<|im_end|>{% endfor %}",
    "{% for m in messages %}{{ 'x' if '<|im_' in m.content }}{{ m.content[1:] | lower }}"
    "<|im_end|>{% endfor %}",
    "{% for m in messages %}{% set role = m.role %}{{ '<|' + role + '|>' }}"
    "{{ m.content.replace('/', '') | striptags | reverse }}{{ '<|im_{}|>'.format(x) }}{% endfor %}"
    "{% for key, value in (tools[0] or {}).items() %}<{{ key ~ '>' ~ value }}{% endfor %}",
    "{{ messages | map(attribute='content') | join }}<|{{ x }}|>{% for c in x | string %}"
    "{{ c | upper }}{% endfor %}",
};

struct Vocabulary {
  Vocabulary() {
    bytes = byte_vocabulary({"<|im_start|>", "<|im_end|>", "<|user|>", "<|True|>", "<|1|>"},
                            {"<think>", "ab"})
                .header();
    header = *parse_gguf(as_bytes(bytes));
    tokenizer = *Tokenizer::from_gguf(header);
  }
  std::string bytes;
  Gguf header;
  std::optional<Tokenizer> tokenizer;
};

std::string text_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) {
    const std::string_view piece = tokenizer.piece(id);
    text += piece.empty() ? tokenizer.raw_token(id) : piece;
  }
  return text;
}

// No guarded token has a byte that comes from the request.
void check_guarded(const Tokenizer& tokenizer, const ChatPrompt& prompt) {
  size_t at = 0;
  auto span = prompt.input.begin();
  for (const TokenId id : prompt.tokens) {
    const std::string_view piece = tokenizer.piece(id);
    const size_t end = at + (piece.empty() ? tokenizer.raw_token(id) : piece).size();
    while (span != prompt.input.end() && span->end <= at) ++span;
    const bool input = span != prompt.input.end() && span->begin < end;
    require(!input || !tokenizer.is_guarded(id));
    at = end;
  }
}

void check_reply(const ReplyFormat& format, std::string_view reply, size_t step) {
  ReasoningSplit splitter(format);
  std::vector<ReplyText> out;
  size_t n = 0;
  for (size_t at = 0; at < reply.size(); at += step, ++n)
    splitter.push(std::string(reply.substr(at, step)), "", out);
  require(out.size() <= n);
  splitter.flush(out);
  require(out.size() == n);
  size_t bytes = 0;
  for (const ReplyText& each : out) bytes += each.text.size();
  require(bytes <= reply.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Vocabulary vocabulary;
  const Tokenizer& tokenizer = *vocabulary.tokenizer;
  if (size < 2) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 3> texts;
  rest.remove_prefix(2);
  for (std::string_view& text : texts) {
    text = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
  }
  ChatRequest request;
  request.messages = texts[0];
  request.kwargs = texts[1];
  request.chat_template = kTemplates[(data[0] >> 4) % std::size(kTemplates)];
  request.adapt_contents = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) request.thinking = (data[0] & 4) != 0;
  const size_t room = 8u * data[1];
  if ((data[0] & 8) != 0) {
    request.context = room;
  } else {
    request.most_tokens = room;
  }
  static TemplateCache cache;
  const auto made = make_reply_prompt({&vocabulary.header, &tokenizer, &cache}, request);
  if (!made) {
    check_error(made.error());
    require(made.error().code == Code::invalid_argument || made.error().code == Code::context_full);
    return 0;
  }
  const ChatPrompt& prompt = made->prompt;
  require(text_of(tokenizer, prompt.tokens) == prompt.text);
  require(room == 0 || prompt.tokens.size() <= room);
  check_guarded(tokenizer, prompt);
  require(utf8_sanitize(prompt.text) == prompt.text);
  const std::vector<TokenId> reply = tokenizer.encode(texts[2], true);
  require(text_of(tokenizer, reuse_tokens(tokenizer, reply, prompt.tokens)) == prompt.text);
  if (made->format.has_reasoning()) check_reply(made->format, texts[2], 1 + data[1] % 5);
  return 0;
}
