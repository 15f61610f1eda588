// The tokens of a GGUF vocabulary in the order of their ids, made of a tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/vocabulary/sentencepiece.h"
#include "files/vocabulary/text_rules.h"
#include "files/vocabulary/tokenizer_json.h"

namespace sluice {

struct TokenList {
  std::vector<std::string> texts;   // tokenizer.ggml.tokens
  std::vector<int32_t> types;       // tokenizer.ggml.token_type
  std::vector<float> scores;        // tokenizer.ggml.scores; empty: none are needed
  std::vector<std::string> merges;  // tokenizer.ggml.merges; empty: none are needed
  TokenIds ids;                     // of the texts in tokenizer.json, also those beyond the rows
};

// `added`: the tokens of tokenizer.json's list and those that only tokenizer_config.json has.
// `pieces`: of tokenizer.model, or null. Ids without a token become [PADn]. Fails with bad_file if
// an id or text occurs twice, or an id of the model's own tokens is `n_vocab` or more; added tokens
// with such ids are left out, which `notes` tell, as they do of merges whose texts are no tokens.
Result<TokenList> list_tokens(const TokenizerJson& tokenizer, const std::vector<AddedToken>& added,
                              VocabularyKind kind, const SentencePieces* pieces, uint64_t n_vocab,
                              Notes& notes);

}  // namespace sluice
