// What a tokenizer is made of.
#pragma once  // inside

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "text/bpe.h"
#include "text/nfc.h"
#include "text/special_tokens.h"
#include "text/spm.h"
#include "text/tokenizer.h"
#include "text/vocab.h"
#include "text/wordpiece.h"

namespace sluice {

struct Tokenizer::State {
  Vocab vocabulary;
  std::variant<SpmEncoder, BpeEncoder, WordPieceEncoder> encoder;
  SpecialTokens special;
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  TokenId mask = kNoToken;
  TokenId swallows_space = kNoToken;  // this special token takes the whitespace before it with it
  std::vector<TokenId> ends;          // in ascending order
  std::vector<TokenId> prefix;
  std::vector<TokenId> suffix;
  std::vector<TokenId> suppressed;  // in ascending order
  bool space_prefix = false;
  std::string_view model;
  std::string_view pre_tokenizer;
  bool spaces_to_signs = false;  // U+2581 stands for each space of a text before it is encoded
  std::optional<Nfc> nfc;        // a text is put into this form before it is encoded
  Notes warnings;

  bool is_word_piece() const { return std::holds_alternative<WordPieceEncoder>(encoder); }
  bool changes_text() const { return spaces_to_signs || nfc; }
  void note_absent(std::string_view key, uint64_t id);
  Result<TokenId> read_id(const Gguf& gguf, std::string_view key, TokenId absent = kNoToken);
  Result<TokenId> read_bert_id(const Gguf& gguf, std::string_view key, std::string_view text,
                               TokenId absent);
  Status load_spm(const Gguf& gguf);
  Status load_bpe(const Gguf& gguf, std::optional<std::string_view> pre_name);
  Status load_word_piece(const Gguf& gguf);
  Status load_mask(const Gguf& gguf);
  Status load_ends(const Gguf& gguf);
  Status load_prefix(const Gguf& gguf, bool adds_bos, bool always = false);
  Status load_suffix(const Gguf& gguf);
  Status load_suppressed(const Gguf& gguf);
  Status collect_special();
  // A special token that is found only where no byte comes from input: a control token, an end, or
  // one with a name of guarded_names.h.
  bool is_guarded(TokenId id) const;
  // The most bytes of text that one id stands for; 0 if some bytes get no id.
  size_t max_bytes_per_id() const;
};

}  // namespace sluice
