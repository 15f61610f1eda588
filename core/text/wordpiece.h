// BERT's WordPiece: a text is divided into words, which are cut into the longest tokens from the
// left on. As in Hugging Face's tokenizers, where llama.cpp differs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/nfc.h"
#include "text/vocab.h"

namespace sluice {

class WordPieceEncoder {
 public:
  struct Rules {
    bool lowercase = true;
    bool strip_accents = true;
    TokenId unknown = kNoToken;  // of a word that can't be cut; kNoToken: it is dropped
  };
  // Longer words are unknown. (max_input_chars_per_word of tokenizer.json: 100 in all known ones,
  // and GGUF has no key for it.)
  static constexpr size_t kMaxWord = 100;  // characters, after accents are stripped

  // A text without special tokens that encode() works on. Doesn't own the text.
  struct PlainText {
    std::string_view text;              // what is left of it
    std::vector<Nfc::Char> word = {};   // up to kMaxWord + 1 characters; that many: it is too long
    size_t fixed = 0;                   // so many of them stay where they are
    std::vector<Nfc::Char> parts = {};  // scratch

    size_t left() const { return text.size(); }
  };

  explicit WordPieceEncoder(const Rules& rules) : rules_(rules) {}

  // Encodes about `budget` more bytes of text, appends their ids to `out` and subtracts the bytes,
  // and one for each piece that it looks for, from `budget`. False: all is encoded. Control
  // characters and bytes that are no UTF-8 are dropped.
  bool encode(const Vocab& vocabulary, PlainText& plain, size_t& budget,
              std::vector<TokenId>& out) const;

 private:
  struct Output {
    const Vocab& vocabulary;
    size_t& budget;
    std::vector<TokenId>& ids;
  };

  void add_character(PlainText& plain, uint32_t code_point, const Output& out) const;
  void add_part(PlainText& plain, Nfc::Char part, const Output& out) const;
  void end_word(PlainText& plain, const Output& out) const;
  bool cut_word(std::string_view word, const Output& out) const;

  Rules rules_;
  Nfc forms_;
};

}  // namespace sluice
