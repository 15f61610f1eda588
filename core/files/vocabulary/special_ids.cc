#include "files/vocabulary/special_ids.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxProcessors = 32;  // real ones have up to two

// A token's part: what the files and GGUF call it.
struct SpecialPart {
  std::string_view token;      // in tokenizer_config.json
  std::string_view config_id;  // in config.json; empty: not looked for
  std::string_view key;        // in GGUF
  std::string_view bert;       // its text in vocabularies of WordPiece; empty: no usual one
};
enum PartIndex : uint8_t { kBos, kEos, kUnknown, kSeparator, kPadding, kMask, kEndOfTurn, kParts };
constexpr std::array<SpecialPart, kParts> kSpecialParts = {{
    {"bos_token", "bos_token_id", "tokenizer.ggml.bos_token_id", "[CLS]"},
    {"eos_token", "eos_token_id", "tokenizer.ggml.eos_token_id", "[SEP]"},
    {"unk_token", "unk_token_id", "tokenizer.ggml.unknown_token_id", ""},
    {"sep_token", "sep_token_id", "tokenizer.ggml.seperator_token_id", "[SEP]"},
    {"pad_token", "pad_token_id", "tokenizer.ggml.padding_token_id", "[PAD]"},
    {"mask_token", "mask_token_id", "tokenizer.ggml.mask_token_id", "[MASK]"},
    {"", "", "tokenizer.ggml.eot_token_id", ""},
}};

// The text of a token in tokenizer_config.json, a text or an object with one; empty: none.
std::string token_text(const HubJson& config, std::string_view key) {
  if (const std::string* text = text_of_member(config, key)) return *text;
  const HubJson* object = member_of(config, key);
  const std::string* content = object == nullptr ? nullptr : text_of_member(*object, "content");
  return content == nullptr ? std::string() : *content;
}

// The special token of an entry of a template, or empty.
std::string special_of(const HubJson& entry) {
  const HubJson* token = member_of(entry, "SpecialToken");
  const std::string* id = token == nullptr ? nullptr : text_of_member(*token, "id");
  return id == nullptr ? std::string() : *id;
}

std::unexpected<Error> unsupported_frame(std::string_view what) {
  return with_facts(fail(Code::unsupported_model, "the post-processor of tokenizer.json ", what),
                    {{"key", std::string("post_processor")}, {"value", std::string(what)}});
}

Status read_template(const HubJson& processor, TextFrame& out) {
  const auto* single = list_of_member(processor, "single");
  const auto is_text = [](const HubJson& entry) { return member_of(entry, "Sequence") != nullptr; };
  const auto text = single == nullptr ? HubJson::array_t::const_iterator()
                                      : std::ranges::find_if(*single, is_text);
  if (single == nullptr || text == single->end()) {
    return fail(Code::bad_file, "the template for texts in tokenizer.json has no place for a text");
  }
  if (text - single->begin() > 1 || single->end() - text > 2) {
    return unsupported_frame(
        "puts several tokens in front of a text or behind it; GGUF has a key for one each");
  }
  out.decided = true;
  if (text != single->begin()) out.first = special_of(single->front());
  if (single->end() - text == 2) out.last = special_of(single->back());

  // Of [first] A middle B [last].
  const auto* pair = list_of_member(processor, "pair");
  if (pair == nullptr || pair->empty()) return {};
  size_t begin = !out.first.empty() && special_of(pair->front()) == out.first ? 1 : 0;
  size_t end = pair->size();
  if (end > begin && !out.last.empty() && special_of(pair->back()) == out.last) --end;
  if (end < begin + 3 || !is_text((*pair)[begin]) || !is_text((*pair)[end - 1])) return {};
  out.middle = special_of((*pair)[begin + 1]);
  const std::string second = end - begin == 4 ? special_of((*pair)[begin + 2]) : std::string();
  if (!second.empty() && (second == out.last || second == *out.middle)) out.separated = true;
  return {};
}

// The token of ["text", id], as BERT's and RoBERTa's post-processors have it.
std::string listed_token(const HubJson& processor, std::string_view key) {
  const auto* list = list_of_member(processor, key);
  const std::string* text =
      list == nullptr || list->empty() ? nullptr : list->front().get_ptr<const std::string*>();
  return text == nullptr ? std::string() : *text;
}

class KeyFinder {
 public:
  KeyFinder(const TokenIds& ids, uint64_t n_vocab, Notes& notes)
      : ids_(ids), n_vocab_(n_vocab), notes_(notes) {}

  void set_text(PartIndex part, std::string_view text) {
    const uint32_t id = text.empty() ? TokenIds::kNone : ids_.find(text);
    if (id < n_vocab_) set(part, id);
  }
  void set_id(PartIndex part, uint64_t id) {
    if (found_[part]) return;
    if (id < n_vocab_) {
      set(part, static_cast<uint32_t>(id));
      return;
    }
    const std::string_view key = kSpecialParts[part].config_id;
    notes_.push_back({NoteCode::token_not_in_vocabulary,
                      concat(key, " of config.json is ", id, ", but the vocabulary has ", n_vocab_,
                             " tokens: left out"),
                      {{"key", std::string(key)}, {"id", id}, {"tokens", n_vocab_}}});
  }
  bool has(PartIndex part) const { return found_[part]; }

  // Sets add_X_token; unless `replace`, only if it's new.
  void add(std::string_view key, bool value, bool replace) {
    const auto same = std::ranges::find(out.adds, key, &decltype(out.adds)::value_type::first);
    if (same == out.adds.end()) {
      out.adds.emplace_back(key, value);
    } else if (replace) {
      same->second = value;
    }
  }

  SpecialKeys out;

 private:
  void set(PartIndex part, uint32_t id) {
    if (found_[part]) return;
    found_[part] = true;
    out.ids.emplace_back(kSpecialParts[part].key, id);
  }

  const TokenIds& ids_;
  const uint64_t n_vocab_;
  Notes& notes_;
  std::array<bool, kParts> found_{};
};

constexpr std::string_view kAddBos = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEos = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddSeparator = "tokenizer.ggml.add_sep_token";

// The template decides, then tokenizer_config.json.
void find_adds(const TextFrame& frame, const HubJson& config, const std::string& separator,
               const std::string& end, VocabularyKind kind, KeyFinder& keys) {
  if (frame.byte_level) {
    keys.add(kAddBos, false, false);
    keys.add(kAddEos, false, false);
  }
  if (!frame.first.empty()) keys.add(kAddBos, true, true);
  if (!frame.last.empty()) keys.add(kAddEos, true, true);
  if (frame.middle) {
    const bool known =
        !frame.middle->empty() && (*frame.middle == separator || *frame.middle == end);
    keys.add(kAddSeparator, frame.separated || (known && frame.last.empty()), true);
  }
  const auto from_config = [&](std::string_view name, std::string_view key, bool decided) {
    const bool* wanted = bool_of_member(config, name);
    if (wanted != nullptr && !decided) keys.add(key, *wanted, true);
  };
  from_config("add_bos_token", kAddBos, !frame.first.empty());
  from_config("add_eos_token", kAddEos, !frame.last.empty());
  from_config("add_sep_token", kAddSeparator, frame.middle.has_value());
  // Without a key, engines would go by the kind or the pre-tokenizer's name.
  if (frame.decided || kind == VocabularyKind::bytes) {
    keys.add(kAddBos, false, false);
    keys.add(kAddEos, false, false);
  }
}

}  // namespace

Result<TextFrame> read_text_frame(const TokenizerJson& tokenizer) {
  TextFrame out;
  const HubJson& all = tokenizer.post_processor;
  if (all.is_null()) return out;
  const auto* list = list_of_member(all, "processors");
  const size_t count = list == nullptr ? 1 : list->size();
  if (count > kMaxProcessors) return unsupported_frame("has more parts than it should");
  for (size_t i = 0; i < count; ++i) {
    const HubJson& processor = list == nullptr ? all : (*list)[i];
    const std::string* type = text_of_member(processor, "type");
    const std::string name = type == nullptr ? "" : *type;
    if (name == "ByteLevel") {
      out.byte_level = true;
    } else if (name == "TemplateProcessing") {
      SLUICE_TRY(read_template(processor, out));
    } else if (name == "BertProcessing" || name == "RobertaProcessing") {
      out.decided = true;
      out.first = listed_token(processor, "cls");
      out.last = listed_token(processor, "sep");
      out.middle = out.last;
      out.separated = name == "RobertaProcessing";
    } else {
      return unsupported_frame(concat("is of the unknown kind '", printable(name), "'"));
    }
  }
  return out;
}

Result<SpecialKeys> find_special_keys(const TokenizerJson& tokenizer, const TextFrame& frame,
                                      const HubJson& tokenizer_config, const HubJson& config,
                                      VocabularyKind kind, const TokenIds& ids, uint64_t n_vocab,
                                      Notes& notes) {
  std::array<std::string, kParts> texts;
  for (size_t part = kBos; part < kEndOfTurn; ++part)
    texts[part] = token_text(tokenizer_config, kSpecialParts[part].token);
  const std::string cls = token_text(tokenizer_config, "cls_token");
  if (texts[kBos].empty()) texts[kBos] = cls;
  if (texts[kEos].empty()) texts[kEos] = texts[kSeparator];

  if (!frame.first.empty()) {
    if (ids.find(frame.first) >= n_vocab) {
      return fail(Code::bad_file, "the token in front of texts, '", printable(frame.first),
                  "', isn't in the vocabulary of tokenizer.json");
    }
    if (texts[kBos].empty()) texts[kBos] = frame.first;
    if (texts[kBos] != frame.first && cls != frame.first) {
      return with_facts(
          fail(Code::unsupported_model, "tokenizer.json puts '", printable(frame.first),
               "' in front of texts, but bos_token of tokenizer_config.json is '",
               printable(texts[kBos]), "'. GGUF has one key for both: make them the same"),
          {{"key", std::string("bos_token")}, {"value", printable(texts[kBos])}});
    }
    texts[kBos] = frame.first;
  }
  if (!frame.last.empty()) {
    if (ids.find(frame.last) >= n_vocab) {
      return fail(Code::bad_file, "the token behind texts, '", printable(frame.last),
                  "', isn't in the vocabulary of tokenizer.json");
    }
    // What ends a reply keeps a key of its own.
    if (texts[kEos] != frame.last) texts[kEndOfTurn] = texts[kEos];
    texts[kEos] = frame.last;
  }

  KeyFinder keys(ids, n_vocab, notes);
  for (size_t part = 0; part < kParts; ++part) keys.set_text(PartIndex(part), texts[part]);
  const HubJson* text_config = member_of(config, "text_config");
  for (size_t part = kBos; part < kEndOfTurn; ++part) {
    const std::string_view name = kSpecialParts[part].config_id;
    const uint64_t* id = count_of_member(config, name);
    if (id == nullptr && text_config != nullptr) id = count_of_member(*text_config, name);
    if (id != nullptr) keys.set_id(PartIndex(part), *id);
  }
  keys.set_text(kUnknown, tokenizer.unknown_token);
  if (kind == VocabularyKind::word_piece) {
    for (size_t part = 0; part < kParts; ++part)
      keys.set_text(PartIndex(part), kSpecialParts[part].bert);
  }
  find_adds(frame, tokenizer_config, texts[kSeparator], texts[kEos], kind, keys);
  return std::move(keys.out);
}

}  // namespace sluice
