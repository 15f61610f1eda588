#include "files/vocabulary/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "files/gguf_writer.h"
#include "files/hub_json.h"
#include "files/vocabulary/sentencepiece.h"
#include "files/vocabulary/special_ids.h"
#include "files/vocabulary/text_rules.h"
#include "files/vocabulary/token_list.h"
#include "files/vocabulary/tokenizer_json.h"

namespace sluice {
namespace {

constexpr size_t kMaxTemplates = 100;  // as in chat/choice.cc
constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

Result<HubJson> read_optional(std::string_view name, const std::optional<std::string>& text) {
  if (!text) return HubJson::object();
  return read_hub_json(name, *text);
}

// The added tokens of tokenizer.json, and those that only tokenizer_config.json has.
Result<std::vector<AddedToken>> all_added_tokens(TokenizerJson& tokenizer, const HubJson& config) {
  std::vector<AddedToken> out = std::move(tokenizer.added);
  const HubJson* more = member_of(config, "added_tokens_decoder");
  if (more == nullptr || !more->is_object()) return out;
  TokenIds places;
  places.reset(out.size() + more->size());
  for (size_t i = 0; i < out.size(); ++i) places.add(out[i].text, static_cast<uint32_t>(i));
  for (const auto& [key, value] : more->items()) {
    AddedToken token;
    const std::string* text = text_of_member(value, "content");
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (text == nullptr || error != std::errc() || end != key.data() + key.size()) {
      return fail(Code::bad_file, "added_tokens_decoder of tokenizer_config.json has an entry '",
                  printable(key), "' that is no token with an id");
    }
    const bool* special = bool_of_member(value, "special");
    token.text = *text;
    token.special = special != nullptr && *special;
    const uint32_t place = places.add(token.text, static_cast<uint32_t>(out.size()));
    if (place == TokenIds::kNone) {
      out.push_back(std::move(token));
    } else {
      out[place].special = out[place].special || token.special;
    }
  }
  return out;
}

// The keys whose order is that of llama.cpp's converter.
void set_tokens(const TokenList& tokens, VocabularyKind kind, const TextRules& rules, Gguf& gguf) {
  set_value(gguf, "tokenizer.ggml.model", text_value(kind_name(kind)));
  if (!rules.pre.empty()) set_value(gguf, "tokenizer.ggml.pre", text_value(rules.pre));
  set_value(gguf, "tokenizer.ggml.tokens", texts_value(tokens.texts));
  if (!tokens.scores.empty()) set_value(gguf, "tokenizer.ggml.scores", f32s_value(tokens.scores));
  set_value(gguf, "tokenizer.ggml.token_type", i32s_value(tokens.types));
  if (kind == VocabularyKind::bytes || kind == VocabularyKind::raw) {
    set_value(gguf, "tokenizer.ggml.merges", texts_value(tokens.merges));
  }
}

void set_rules(const TextRules& rules, VocabularyKind kind, const HubJson& tokenizer_config,
               Gguf& gguf) {
  if (rules.nfc) set_value(gguf, "tokenizer.ggml.normalizer.nfc", bool_value(true));
  if (rules.lowercase) {
    set_value(gguf, "tokenizer.ggml.normalizer.lowercase", bool_value(*rules.lowercase));
  }
  if (rules.strip_accents) {
    set_value(gguf, "tokenizer.ggml.normalizer.strip_accents", bool_value(*rules.strip_accents));
  }
  if (kind == VocabularyKind::spaces) {
    // Where tokenizer_config.json says it, Hugging Face makes the tokenizer anew by that.
    const bool* wanted = bool_of_member(tokenizer_config, "add_prefix_space");
    const bool prefix = wanted != nullptr ? *wanted : rules.space_prefix;
    if (wanted != nullptr || !prefix) {
      set_value(gguf, "tokenizer.ggml.add_space_prefix", bool_value(prefix));
    }
  } else if (kind == VocabularyKind::raw) {
    set_value(gguf, "tokenizer.ggml.add_space_prefix", bool_value(false));
    set_value(gguf, "tokenizer.ggml.add_bos_token", bool_value(true));  // engines do it anyway
  }
}

Status set_template(std::string_view key, const std::string& text, Gguf& gguf) {
  if (utf8_sanitize(text) != text) {
    return fail(Code::bad_file, "the chat template is no valid UTF-8");
  }
  set_value(gguf, key, text_value(text));
  return {};
}

// One text, or a list of {name, template}, of which "default" is the one that has no name in GGUF.
Status set_templates(const HubJson& value, Gguf& gguf) {
  if (const auto* text = value.get_ptr<const std::string*>()) {
    return set_template(kTemplateKey, *text, gguf);
  }
  const auto* list = value.get_ptr<const HubJson::array_t*>();
  if (list == nullptr || list->size() > kMaxTemplates) {
    return fail(Code::bad_file, "chat_template is neither a text nor a list of at most ",
                kMaxTemplates, " templates with names");
  }
  std::vector<std::string> names;
  const std::string* by_default = nullptr;
  for (const HubJson& entry : *list) {
    const std::string* given = text_of_member(entry, "name");
    const std::string* text = text_of_member(entry, "template");
    if (given == nullptr || text == nullptr || given->empty()) {
      return fail(Code::bad_file, "chat_template has an entry without a name or a template");
    }
    if (*given == "default") {
      by_default = text;
      continue;
    }
    std::string name = *given;
    for (char& c : name) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!plain) c = '_';
    }
    SLUICE_TRY(set_template(concat(kTemplateKey, ".", name), *text, gguf));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  if (!names.empty()) set_value(gguf, "tokenizer.chat_templates", texts_value(names));
  if (by_default == nullptr) return {};
  return set_template(kTemplateKey, *by_default, gguf);
}

Status find_templates(const VocabularyFiles& files, const HubJson& tokenizer_config, Gguf& gguf) {
  const HubJson* value = member_of(tokenizer_config, "chat_template");
  if (value != nullptr && !value->is_null()) return set_templates(*value, gguf);
  if (files.chat_template) return set_template(kTemplateKey, *files.chat_template, gguf);
  if (!files.chat_template_json) return {};
  SLUICE_ASSIGN(const HubJson json, read_hub_json("chat_template.json", *files.chat_template_json));
  value = member_of(json, "chat_template");
  return value == nullptr || value->is_null() ? Status() : set_templates(*value, gguf);
}

// Tokens that are never to be written.
Status set_suppressed(const HubJson& generation_config, uint64_t n_vocab, Gguf& gguf) {
  const auto* list = list_of_member(generation_config, "suppress_tokens");
  if (list == nullptr || list->empty()) return {};
  std::vector<int32_t> ids;
  for (const HubJson& entry : *list) {
    const auto* id = entry.get_ptr<const uint64_t*>();
    if (id == nullptr || *id >= n_vocab || ids.size() + 1 >= n_vocab) {
      return fail(Code::bad_file,
                  "suppress_tokens of generation_config.json is no list of some of the ", n_vocab,
                  " tokens");
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  set_value(gguf, "tokenizer.ggml.suppress_tokens", i32s_value(ids));
  return {};
}

}  // namespace

Status add_vocabulary(const VocabularyFiles& files, const std::string& architecture,
                      uint64_t n_vocab, Gguf& gguf, Notes& notes) {
  SLUICE_ASSIGN(TokenizerJson tokenizer, read_tokenizer_json(files.tokenizer));
  SLUICE_ASSIGN(const HubJson config, read_hub_json("config.json", files.config));
  SLUICE_ASSIGN(const HubJson tokenizer_config,
                read_optional("tokenizer_config.json", files.tokenizer_config));
  SLUICE_ASSIGN(const HubJson generation_config,
                read_optional("generation_config.json", files.generation_config));

  SLUICE_ASSIGN(const VocabularyKind kind, find_kind(tokenizer, architecture));
  SLUICE_ASSIGN(const TextFrame frame, read_text_frame(tokenizer));
  SLUICE_ASSIGN(const TextRules rules, find_text_rules(tokenizer, kind, !frame.first.empty()));
  SLUICE_ASSIGN(const std::vector<AddedToken> added, all_added_tokens(tokenizer, tokenizer_config));
  std::optional<SentencePieces> pieces;
  if (files.sentencepiece && kind == VocabularyKind::spaces) {
    SLUICE_ASSIGN(pieces, read_sentencepiece(*files.sentencepiece));
  }
  SLUICE_ASSIGN(const TokenList tokens,
                list_tokens(tokenizer, added, kind, pieces ? &*pieces : nullptr, n_vocab, notes));
  SLUICE_ASSIGN(const SpecialKeys special,
                find_special_keys(tokenizer, frame, tokenizer_config, config, kind, tokens.ids,
                                  n_vocab, notes));

  if (kind == VocabularyKind::word_piece &&
      gguf.find("tokenizer.ggml.token_type_count") == nullptr) {
    const uint64_t* count = count_of_member(config, "type_vocab_size");
    const uint64_t rows = count == nullptr ? 1 : std::min<uint64_t>(*count, UINT32_MAX);
    set_value(gguf, "tokenizer.ggml.token_type_count", u32_value(static_cast<uint32_t>(rows)));
  }
  set_tokens(tokens, kind, rules, gguf);
  for (const auto& [key, id] : special.ids) set_value(gguf, key, u32_value(id));
  for (const auto& [key, value] : special.adds) set_value(gguf, key, bool_value(value));
  SLUICE_TRY(find_templates(files, tokenizer_config, gguf));
  set_rules(rules, kind, tokenizer_config, gguf);
  return set_suppressed(generation_config, n_vocab, gguf);
}

}  // namespace sluice
