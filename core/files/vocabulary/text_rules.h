// How a tokenizer.json changes and divides texts before it looks for tokens, and what GGUF calls
// that. Whatever no key of GGUF can say is refused, with what stands in the file.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "files/vocabulary/tokenizer_json.h"

namespace sluice {

// What kind of vocabulary it is: tokenizer.ggml.model.
enum class VocabularyKind : uint8_t {
  bytes,       // "gpt2": merges of bytes in GPT-2's coding
  spaces,      // "llama": UTF-8 with U+2581 for spaces, scores say what merges
  raw,         // "gemma4": the same texts with merges
  word_piece,  // "bert"
};
std::string_view kind_name(VocabularyKind kind);

// Fails with unsupported_model, by name, for another kind. `architecture`: GGUF's name.
Result<VocabularyKind> find_kind(const TokenizerJson& tokenizer, const std::string& architecture);

struct TextRules {
  std::string pre;                    // tokenizer.ggml.pre; empty: no key
  bool nfc = false;                   // composes the text's characters
  bool space_prefix = false;          // spaces: puts a space in front of a text
  std::optional<bool> lowercase;      // word_piece
  std::optional<bool> strip_accents;  // likewise; nothing: as `lowercase`
};

// Fails with unsupported_model if the normalizer or pre-tokenizer isn't one of those that `kind`
// has, or if core/text doesn't know it. `bos`: texts begin with a special token, which tells names
// of one pattern from each other.
Result<TextRules> find_text_rules(const TokenizerJson& tokenizer, VocabularyKind kind, bool bos);

}  // namespace sluice
