#include "chat/built_in.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace sluice {
namespace {

constexpr std::string_view kChatml =
    R"({% for message in messages %}
{{ '<|im_start|>' + message.role + '\n' + (message.content or '') + '<|im_end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %})";

constexpr std::string_view kLlama3 =
    R"({{ bos_token }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
{{- (message.content or '') | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})";

// These have no place for a system's text but the next turn of the user.
constexpr std::string_view kGemma =
    R"({{ bos_token }}
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
{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})";

constexpr std::string_view kMistral =
    R"({{ bos_token }}
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
{%- if said.before %}{{ '[INST] ' + said.before | trim + ' [/INST]' }}{% endif %})";

constexpr std::string_view kLlama2 =
    R"({%- set said = namespace(before='') %}
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
{%- if said.before %}{{ bos_token + '[INST] ' + said.before + ' [/INST]' }}{% endif %})";

constexpr std::string_view kZephyr =
    R"({% for message in messages %}
{{ '<|' + message.role + '|>\n' + (message.content or '') + eos_token + '\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>\n' }}
{%- endif %})";

constexpr std::string_view kPhi3 =
    R"({% for message in messages %}
{{ '<|' + message.role + '|>\n' + (message.content or '') + '<|end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|assistant|>\n' }}
{%- endif %})";

constexpr std::string_view kPlain =
    R"({% for message in messages %}
{{ message.role | capitalize + ': ' + (message.content or '') | trim + '\n\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ 'Assistant:' }}
{%- endif %})";

struct ByTokens {
  std::string_view family;
  std::string_view text;
  std::array<std::string_view, 3> tokens;  // the vocabulary has all of them
};
constexpr ByTokens kByTokens[] = {
    {"llama3", kLlama3, {"<|start_header_id|>", "<|eot_id|>"}},
    {"chatml", kChatml, {"<|im_start|>", "<|im_end|>"}},
    {"gemma", kGemma, {"<start_of_turn>", "<end_of_turn>"}},
    {"phi3", kPhi3, {"<|user|>", "<|assistant|>", "<|end|>"}},
    {"zephyr", kZephyr, {"<|user|>", "<|assistant|>"}},
    {"mistral", kMistral, {"[INST]", "[/INST]"}},
};

// Models whose marks are plain text: a part of the name in small letters tells them.
struct ByName {
  std::string_view family;
  std::string_view text;
  std::string_view name;
};
constexpr ByName kByName[] = {
    {"zephyr", kZephyr, "zephyr"},    {"zephyr", kZephyr, "tinyllama"},
    {"mistral", kMistral, "mistral"}, {"mistral", kMistral, "mixtral"},
    {"llama2", kLlama2, "llama-2"},   {"llama2", kLlama2, "llama 2"},
    {"llama2", kLlama2, "llama2"},    {"llama2", kLlama2, "codellama"},
};

struct ByArchitecture {
  std::string_view family;
  std::string_view text;
  std::string_view beginning;
};
constexpr ByArchitecture kByArchitecture[] = {
    {"gemma", kGemma, "gemma"},
    {"chatml", kChatml, "qwen"},
    {"phi3", kPhi3, "phi3"},
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
  for (const ByTokens& row : kByTokens) {
    const bool has_all =
        tokenizer != nullptr && std::ranges::all_of(row.tokens, [&](std::string_view text) {
          return text.empty() || tokenizer->find_raw(text) != kNoToken;
        });
    if (has_all) return {row.family, row.text, concat("the vocabulary has ", row.tokens[0])};
  }
  const std::string name = small_text_at(header, "general.name");
  for (const ByName& row : kByName) {
    if (name.find(row.name) != std::string::npos)
      return {row.family, row.text, concat("the model's name is '", printable(name), "'")};
  }
  const std::string architecture = small_text_at(header, "general.architecture");
  for (const ByArchitecture& row : kByArchitecture) {
    if (architecture.starts_with(row.beginning))
      return {row.family, row.text, concat("the architecture is ", printable(architecture))};
  }
  return {"plain text", kPlain, "nothing in the file tells of another"};
}

}  // namespace sluice
