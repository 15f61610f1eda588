#include "files/vocabulary/text_rules.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "text/pretokenize.h"
#include "text/vocab.h"

namespace sluice {
namespace {

constexpr size_t kMaxSteps = 32;  // of a normalizer or pre-tokenizer; real ones have up to seven
constexpr size_t kShownPattern = 2000;  // bytes of a pattern in a message

// The parts of patterns that several have.
#define SLUICE_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SLUICE_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SLUICE_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SLUICE_SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SLUICE_GPT2 \
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define SLUICE_LLAMA3(digits)                                  \
  SLUICE_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
                      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SLUICE_SPACES
#define SLUICE_CASES(contractions, digits)                                            \
  "[^\\r\\n\\p{L}\\p{N}]?" SLUICE_UPPER "*" SLUICE_LOWER "+" contractions             \
  "|[^\\r\\n\\p{L}\\p{N}]?" SLUICE_UPPER "+" SLUICE_LOWER "*" contractions "|" digits \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SLUICE_SPACES

// The steps of a pre-tokenizer, one behind the other, each followed by a line end. ByteLevel with
// a pattern of its own is that pattern and "ByteLevel".
struct KnownSteps {
  std::string_view pre;
  std::string_view steps;
};
constexpr std::string_view kByteStep = "ByteLevel\n";
constexpr KnownSteps kKnownSteps[] = {
    {"gpt-2", SLUICE_GPT2 "\nByteLevel\n"},
    {"llama-bpe", SLUICE_LLAMA3("\\p{N}{1,3}") "\nByteLevel\n"},
    {"qwen2", SLUICE_LLAMA3("\\p{N}") "\nByteLevel\n"},
    {"qwen35",
     SLUICE_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
                         "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SLUICE_SPACES "\nByteLevel\n"},
    {"smollm", "\\p{N}\n" SLUICE_GPT2 "\nByteLevel\n"},
    {"gpt-4o", SLUICE_CASES(SLUICE_CONTRACTIONS "?", "\\p{N}{1,3}") "\nByteLevel\n"},
    {"tekken", SLUICE_CASES("", "\\p{N}") "\nByteLevel\n"},
    {"deepseek-v3",
     "\\p{N}{1,3}\n[一-龥぀-ゟ゠-ヿ]+\n"
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
     "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" SLUICE_SPACES
     "\nByteLevel\n"},
    {"deepseek-coder",
     "[\\r\\n]\n\\s?\\p{L}+\n\\s?\\p{P}+\n[一-龥ࠀ-一가-퟿]+\n\\p{N}\nByteLevel\n"},
    {"falcon", "Punctuation Contiguous\n" SLUICE_GPT2 "\nByteLevel\n[0-9][0-9][0-9]\n"},
    {"minicpm5", "\\p{N}{1,3}\n" SLUICE_LLAMA3("\\p{N}+") "\nByteLevel\n"},
    {"bailingmoe",
     "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*"
     "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+\nByteLevel\n"},
    {"seed-coder", SLUICE_CONTRACTIONS
     "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" SLUICE_SPACES
     "\nByteLevel\n"},
};

#undef SLUICE_CONTRACTIONS
#undef SLUICE_UPPER
#undef SLUICE_LOWER
#undef SLUICE_SPACES
#undef SLUICE_LLAMA3
#undef SLUICE_CASES

std::unexpected<Error> unsupported_rule(std::string_view what, std::string_view found) {
  const std::string shown = printable(found, kShownPattern);
  return with_facts(fail(Code::unsupported_model, "the ", what,
                         " of tokenizer.json is not one that "
                         "GGUF files have a name for here: ",
                         shown),
                    {{"key", std::string(what)}, {"value", shown}});
}

std::string type_of(const HubJson& step) {
  const std::string* type = text_of_member(step, "type");
  return type == nullptr ? std::string() : *type;
}

bool is_set(const HubJson& step, std::string_view key, bool absent) {
  const bool* value = bool_of_member(step, key);
  return value == nullptr ? absent : *value;
}

// The steps of a normalizer or pre-tokenizer in their order, also those of a Sequence in a
// Sequence. False: more than real ones have. `list`: where a Sequence has its steps.
bool flatten_steps(const HubJson& node, std::string_view list, std::vector<const HubJson*>& out) {
  if (node.is_null()) return true;
  if (out.size() >= kMaxSteps) return false;
  if (type_of(node) != "Sequence") {
    out.push_back(&node);
    return true;
  }
  const auto* steps = list_of_member(node, list);
  if (steps == nullptr || steps->size() > kMaxSteps) return false;
  for (const HubJson& step : *steps)
    if (!flatten_steps(step, list, out)) return false;
  return true;
}

// The text of {"Regex": text} or {"String": text}.
const std::string* pattern_of(const HubJson& step, std::string_view kind) {
  const HubJson* pattern = member_of(step, "pattern");
  return pattern == nullptr ? nullptr : text_of_member(*pattern, kind);
}

// Some files write line ends in patterns as they are.
std::string with_escapes(std::string_view pattern) {
  std::string out;
  for (const char c : pattern) {
    if (c == '\r' || c == '\n') {
      out.append(c == '\r' ? "\\r" : "\\n");
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// One step as kKnownSteps writes it; empty if it's none of those, or has settings that they lack.
std::string step_text(const HubJson& step) {
  const std::string type = type_of(step);
  if (type == "ByteLevel") {
    if (is_set(step, "add_prefix_space", true)) return {};
    return concat(is_set(step, "use_regex", true) ? SLUICE_GPT2 "\n" : "", kByteStep);
  }
  if (type == "Digits") return is_set(step, "individual_digits", false) ? "\\p{N}\n" : "\\p{N}+\n";
  const std::string* behavior = text_of_member(step, "behavior");
  if (type == "Punctuation") {
    return behavior != nullptr && *behavior == "Contiguous" ? "Punctuation Contiguous\n" : "";
  }
  const std::string* pattern = pattern_of(step, "Regex");
  if (type != "Split" || pattern == nullptr || behavior == nullptr) return {};
  // Removing what lies between the matches removes nothing: the patterns with spaces match all.
  const bool inverted = is_set(step, "invert", false);
  const bool whole = pattern->ends_with("|\\s+");
  const bool isolated = *behavior == "Isolated" && !inverted;
  const bool removed = *behavior == "Removed" && inverted && whole;
  return isolated || removed ? with_escapes(*pattern) + '\n' : std::string();
}

// Whether a merge makes each token of several characters, so that looking up whole words changes
// nothing.
bool merges_make_all(const TokenizerJson& tokenizer) {
  TokenIds made;
  made.reset(tokenizer.merges.size() / 2 + tokenizer.added.size());
  std::string joined;
  for (size_t i = 0; i < tokenizer.merges.size(); i += 2) {
    joined = tokenizer.merges[i];
    joined += tokenizer.merges[i + 1];
    made.add(joined, 0);
  }
  for (const AddedToken& token : tokenizer.added) made.add(token.text, 0);
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    const std::string_view text = tokenizer.tokens[i];
    if (utf8_decode(text).length < text.size() && made.find(text) == TokenIds::kNone) return false;
  }
  return true;
}

// Two names have Llama 3's pattern: one for texts with a token in front whose words are looked up
// as a whole, one with neither. In front there is a key, so where the two disagree the look-up
// decides, if it matters.
std::string_view llama3_name(const TokenizerJson& tokenizer, bool bos) {
  const bool whole =
      bos == tokenizer.ignore_merges || merges_make_all(tokenizer) ? bos : tokenizer.ignore_merges;
  return whole ? "llama-bpe" : "dbrx";
}

// The pre-tokenizer's name of a vocabulary of bytes.
Result<std::string> find_pre(const TokenizerJson& tokenizer, bool bos) {
  std::vector<const HubJson*> steps;
  bool known = flatten_steps(tokenizer.pre_tokenizer, "pretokenizers", steps);
  std::string text;
  for (const HubJson* step : steps) {
    const std::string one = step_text(*step);
    known = known && !one.empty();
    text += one;
  }
  const auto* const row = std::ranges::find(kKnownSteps, text, &KnownSteps::steps);
  if (!known || row == std::end(kKnownSteps)) {
    return unsupported_rule(
        "pre-tokenizer",
        tokenizer.pre_tokenizer.dump(-1, ' ', false, HubJson::error_handler_t::replace));
  }
  const std::string_view name = row->pre == "llama-bpe" ? llama3_name(tokenizer, bos) : row->pre;
  if (!find_pre_tokenizer(name)) {
    return with_facts(
        fail(Code::unsupported_model, "the pre-tokenizer of tokenizer.json is GGUF's '", name,
             "', which doesn't run here"),
        {{"key", std::string("tokenizer.ggml.pre")}, {"value", std::string(name)}});
  }
  return std::string(name);
}

// Whether the step replaces spaces by U+2581.
bool replaces_spaces(const HubJson& step) {
  const std::string* content = text_of_member(step, "content");
  const std::string* pattern = pattern_of(step, "String");
  return type_of(step) == "Replace" && content != nullptr && *content == kSpaceSign &&
         pattern != nullptr && *pattern == " ";
}

// Whether Metaspace puts a space in front.
bool prepends(const HubJson& metaspace) {
  const std::string* scheme = text_of_member(metaspace, "prepend_scheme");
  return scheme != nullptr ? *scheme != "never" : is_set(metaspace, "add_prefix_space", true);
}

// Whether a token has U+2581 behind its beginning, like two spaces in a row.
bool has_inner_spaces(const TokenizerJson& tokenizer) {
  for (size_t i = 0; i < tokenizer.tokens.size(); ++i)
    if (tokenizer.tokens[i].find(kSpaceSign, 1) != std::string_view::npos) return true;
  return false;
}

// Of vocabularies with U+2581: sets whether a space comes in front. False: some step is unknown, or
// one divides texts at spaces where tokens reach over them.
bool read_space_rules(const TokenizerJson& tokenizer,
                      const std::vector<const HubJson*>& normalizers,
                      const std::vector<const HubJson*>& pre_tokenizers, bool& space_prefix) {
  bool replaced = false;
  for (const HubJson* step : normalizers) {
    const std::string* prepended = text_of_member(*step, "prepend");
    if (type_of(*step) == "Prepend" && prepended != nullptr && *prepended == kSpaceSign) {
      space_prefix = true;
    } else if (replaces_spaces(*step)) {
      replaced = true;
    } else {
      return false;
    }
  }
  for (const HubJson* step : pre_tokenizers) {
    const std::string* sign = text_of_member(*step, "replacement");
    const std::string* pattern = pattern_of(*step, "String");
    if (type_of(*step) == "Metaspace" && sign != nullptr && *sign == kSpaceSign) {
      replaced = true;
      space_prefix = space_prefix || prepends(*step);
      if (is_set(*step, "split", true) && has_inner_spaces(tokenizer)) return false;
    } else if (type_of(*step) != "Split" || pattern == nullptr || *pattern != " " || !replaced) {
      return false;  // by spaces it splits nothing when there are none left
    }
  }
  return replaced;
}

bool read_bert_rules(const std::vector<const HubJson*>& normalizers,
                     const std::vector<const HubJson*>& pre_tokenizers, TextRules& out) {
  if (normalizers.size() != 1 || pre_tokenizers.size() != 1) return false;
  const HubJson& normalizer = *normalizers[0];
  if (type_of(normalizer) != "BertNormalizer" || type_of(*pre_tokenizers[0]) != "BertPreTokenizer")
    return false;
  out.pre = "jina-v2-en";  // what all of this kind are called
  out.lowercase = is_set(normalizer, "lowercase", true);
  if (const bool* strip = bool_of_member(normalizer, "strip_accents")) out.strip_accents = *strip;
  return is_set(normalizer, "clean_text", true) && is_set(normalizer, "handle_chinese_chars", true);
}

std::string shown_rules(const TokenizerJson& tokenizer) {
  const auto dump = [](const HubJson& json) {
    return json.dump(-1, ' ', false, HubJson::error_handler_t::replace);
  };
  return concat(dump(tokenizer.normalizer), ", then ", dump(tokenizer.pre_tokenizer));
}

}  // namespace

#undef SLUICE_GPT2

std::string_view kind_name(VocabularyKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"gpt2", "llama", "gemma4", "bert"};
  return kNames[static_cast<size_t>(kind)];
}

Result<VocabularyKind> find_kind(const TokenizerJson& tokenizer, const std::string& architecture) {
  const auto refuse = [](std::string_view what) {
    return with_facts(
        fail(Code::unsupported_model, "the tokenizer is ", printable(what),
             "; BPE of bytes, BPE with byte fallback, and WordPiece with '##' are supported"),
        {{"tokenizer", printable(what)}});
  };
  if (tokenizer.model == "WordPiece") {
    if (tokenizer.subword_prefix != "##") return refuse("WordPiece with other marks");
    return VocabularyKind::word_piece;
  }
  if (tokenizer.model != "BPE")
    return refuse(tokenizer.model.empty() ? "unnamed" : tokenizer.model);
  if (!tokenizer.subword_prefix.empty() || !tokenizer.word_suffix.empty()) {
    return refuse("BPE with marks at words");
  }
  std::vector<const HubJson*> steps;
  flatten_steps(tokenizer.pre_tokenizer, "pretokenizers", steps);
  const bool bytes =
      std::ranges::any_of(steps, [](const HubJson* step) { return type_of(*step) == "ByteLevel"; });
  if (bytes) return VocabularyKind::bytes;
  if (!tokenizer.byte_fallback) return refuse("BPE of characters without byte fallback");
  return architecture == "gemma4" ? VocabularyKind::raw : VocabularyKind::spaces;
}

Result<TextRules> find_text_rules(const TokenizerJson& tokenizer, VocabularyKind kind, bool bos) {
  TextRules out;
  std::vector<const HubJson*> normalizers;
  std::vector<const HubJson*> pre_tokenizers;
  if (!flatten_steps(tokenizer.normalizer, "normalizers", normalizers) ||
      !flatten_steps(tokenizer.pre_tokenizer, "pretokenizers", pre_tokenizers)) {
    return unsupported_rule("normalizer or pre-tokenizer", shown_rules(tokenizer));
  }
  if (kind == VocabularyKind::bytes) {
    for (const HubJson* step : normalizers) {
      if (type_of(*step) != "NFC") {
        return unsupported_rule(
            "normalizer",
            tokenizer.normalizer.dump(-1, ' ', false, HubJson::error_handler_t::replace));
      }
      out.nfc = true;
    }
    SLUICE_ASSIGN(out.pre, find_pre(tokenizer, bos));
    return out;
  }
  bool known = false;
  if (kind == VocabularyKind::word_piece) {
    known = read_bert_rules(normalizers, pre_tokenizers, out);
  } else {
    known = read_space_rules(tokenizer, normalizers, pre_tokenizers, out.space_prefix);
    if (kind == VocabularyKind::spaces) {
      out.pre = "default";
    } else {
      known = known && !out.space_prefix;
    }
  }
  if (!known) return unsupported_rule("normalizer or pre-tokenizer", shown_rules(tokenizer));
  return out;
}

}  // namespace sluice
