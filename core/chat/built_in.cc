#include "chat/built_in.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace sluice {
namespace {

constexpr BuiltIn kChatml = {
    .family = "chatml",
    .text = R"({% for message in messages %}
{{ '<|im_start|>' + message.role + '\n' + (message.content or '') + '<|im_end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %})",
};

// Without reasoning an empty one stands before the answer; what was reasoned earlier is left out.
constexpr BuiltIn kQwen35 = {
    .family = "qwen3.5",
    .text = R"({% for message in messages %}
{{ '<|im_start|>' + message.role + '\n' }}
{%- if message.role == 'assistant' %}
{{- (message.content or '').split('</think>') | last | trim }}
{%- else %}
{{- (message.content or '') | trim }}
{%- endif %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n<think>\n' + ('' if enable_thinking | default(true) else '\n</think>\n\n') }}
{%- endif %})",
};

constexpr BuiltIn kLlama3 = {
    .family = "llama3",
    .text = R"({{ bos_token }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
{{- (message.content or '') | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})",
};

// These have no place for a system's text but the next turn of the user.
constexpr BuiltIn kGemma = {
    .family = "gemma",
    .text = R"({{ bos_token }}
{%- set said = namespace(before='') %}
{%- for message in messages %}
{%- if message.role in ['system', 'developer'] %}
{%- set said.before = said.before + (message.content or '') | trim + '\n\n' %}
{%- else %}
{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}
{{- said.before + (message.content or '') | trim + '<end_of_turn>\n' }}
{%- set said.before = '' %}
{%- endif %}
{%- endfor %}
{%- if said.before %}{{ '<start_of_turn>user\n' + said.before | trim + '<end_of_turn>\n' }}{% endif %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})",
};

constexpr BuiltIn kGemma4 = {
    .family = "gemma4",
    .text = R"({{ bos_token }}
{%- set said = namespace(text='', thinks='<|think|>\n' if enable_thinking else '') %}
{%- if said.thinks and (messages | map(attribute='role') | first) not in ['system', 'developer'] %}
{{- '<|turn>system\n' + said.thinks + '<turn|>\n' }}
{%- set said.thinks = '' %}
{%- endif %}
{%- for message in messages %}
{%- set said.text = message.content or '' %}
{%- if message.role == 'assistant' %}
{%- set said.text = '' %}
{%- for part in (message.content or '').split('<channel|>') %}
{%- set said.text = said.text + part.split('<|channel>')[0] %}
{%- endfor %}
{{- '<|turn>model\n' }}
{%- elif message.role in ['system', 'developer'] %}
{{- '<|turn>system\n' + said.thinks }}
{%- set said.thinks = '' %}
{%- else %}
{{- '<|turn>user\n' }}
{%- endif %}
{{- said.text | trim + '<turn|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|turn>model\n' + ('' if enable_thinking else '<|channel>thought\n<channel|>') }}
{%- endif %})",
};

constexpr BuiltIn kMistral = {
    .family = "mistral",
    .text = R"({{ bos_token }}
{%- set said = namespace(before='') %}
{%- for message in messages %}
{%- if message.role in ['system', 'developer'] %}
{%- set said.before = said.before + (message.content or '') | trim + '\n\n' %}
{%- elif message.role == 'assistant' %}
{{- ' ' + (message.content or '') | trim + eos_token }}
{%- else %}
{{- '[INST] ' + said.before + (message.content or '') | trim + ' [/INST]' }}
{%- set said.before = '' %}
{%- endif %}
{%- endfor %}
{%- if said.before %}{{ '[INST] ' + said.before | trim + ' [/INST]' }}{% endif %})",
};

constexpr BuiltIn kLlama2 = {
    .family = "llama2",
    .text = R"({%- set said = namespace(before='') %}
{%- for message in messages %}
{%- if message.role in ['system', 'developer'] %}
{%- set said.before = '<<SYS>>\n' + (message.content or '') | trim + '\n<</SYS>>\n\n' %}
{%- elif message.role == 'assistant' %}
{{- ' ' + (message.content or '') | trim + ' ' + eos_token }}
{%- else %}
{{- bos_token + '[INST] ' + said.before + (message.content or '') | trim + ' [/INST]' }}
{%- set said.before = '' %}
{%- endif %}
{%- endfor %}
{%- if said.before %}{{ bos_token + '[INST] ' + said.before + ' [/INST]' }}{% endif %})",
};

constexpr BuiltIn kZephyr = {
    .family = "zephyr",
    .text = R"({% for message in messages %}
{{ '<|' + message.role + '|>\n' + (message.content or '') + eos_token + '\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>\n' }}
{%- endif %})",
    .stop = "<|user|>",
};

constexpr BuiltIn kPhi3 = {
    .family = "phi3",
    .text = R"({% for message in messages %}
{{ '<|' + message.role + '|>\n' + (message.content or '') + '<|end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>\n' }}
{%- endif %})",
};

constexpr BuiltIn kPlain = {
    .family = "plain text",
    .text = R"({% for message in messages %}
{{ message.role | capitalize + ': ' + (message.content or '') | trim + '\n\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ 'Assistant:' }}
{%- endif %})",
    .stop = "\nUser:",
};

struct ByTokens {
  BuiltIn built_in;
  std::array<std::string_view, 3> tokens;  // the vocabulary has all of them
};
constexpr ByTokens kByTokens[] = {
    {kLlama3, {"<|start_header_id|>", "<|eot_id|>"}},
    {kChatml, {"<|im_start|>", "<|im_end|>"}},
    {kGemma, {"<start_of_turn>", "<end_of_turn>"}},
    {kGemma4, {"<|turn>", "<turn|>"}},
    {kPhi3, {"<|user|>", "<|assistant|>", "<|end|>"}},
    {kZephyr, {"<|user|>", "<|assistant|>"}},
    {kMistral, {"[INST]", "[/INST]"}},
};

// Models whose marks are plain text: a part of the name in small letters tells them.
struct ByName {
  BuiltIn built_in;
  std::string_view name;
};
constexpr ByName kByName[] = {
    {kZephyr, "zephyr"},  {kZephyr, "tinyllama"}, {kMistral, "mistral"}, {kMistral, "mixtral"},
    {kLlama2, "llama-2"}, {kLlama2, "llama 2"},   {kLlama2, "llama2"},   {kLlama2, "codellama"},
};

struct ByArchitecture {
  BuiltIn built_in;
  std::string_view beginning;
};
constexpr ByArchitecture kByArchitecture[] = {
    {kGemma4, "gemma4"}, {kGemma, "gemma"}, {kQwen35, "qwen35"}, {kChatml, "qwen"}, {kPhi3, "phi3"},
};

std::string small_text_at(const Gguf& header, std::string_view key) {
  const MetadataValue* value = header.find(key);
  if (value == nullptr || value->type != ValueType::string) return "";
  std::string text(value->text().substr(0, 1000));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Guess guess_family(const Gguf& header, const Tokenizer* tokenizer) {
  // It has the tokens of chatml.
  if (tokenizer != nullptr && tokenizer->pre_tokenizer() == "qwen35" &&
      tokenizer->find_raw("<|im_start|>") != kNoToken)
    return {kQwen35, "the pre-tokenizer is qwen35"};
  for (const ByTokens& row : kByTokens) {
    const bool has_all =
        tokenizer != nullptr && std::ranges::all_of(row.tokens, [&](std::string_view text) {
          return text.empty() || tokenizer->find_raw(text) != kNoToken;
        });
    if (has_all) return {row.built_in, concat("the vocabulary has ", row.tokens[0])};
  }
  const std::string name = small_text_at(header, "general.name");
  for (const ByName& row : kByName) {
    if (name.find(row.name) != std::string::npos)
      return {row.built_in, concat("the model's name is '", printable(name), "'")};
  }
  const std::string architecture = small_text_at(header, "general.architecture");
  for (const ByArchitecture& row : kByArchitecture) {
    if (architecture.starts_with(row.beginning))
      return {row.built_in, concat("the architecture is ", printable(architecture))};
  }
  return {kPlain, "nothing in the file tells of another"};
}

}  // namespace sluice
