// Encoding as in SentencePiece. Spaces become U+2581; neighbours merge by the scores of the tokens
// that they form; characters without a token become byte tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/merge.h"
#include "text/vocab.h"

namespace sluice {

class SpmEncoder {
 public:
  // Bytes without a token become `unknown`; they are dropped if it is kNoToken.
  explicit SpmEncoder(TokenId unknown = kNoToken) : unknown_(unknown) {}

  // A text without special tokens that encode() works on. Doesn't own the text.
  struct PlainText {
    std::string_view text;
    size_t first_part;      // bytes of a run to encode at a time
    size_t part;            // the same for this run; doubled if few of them get settled
    std::string run;        // text to encode next, with U+2581 for spaces
    size_t at = 0;          // where the text after `run` begins
    bool run_ends = false;  // the text itself has a U+2581 after the run

    // Bytes of the text after `run`.
    size_t left() const { return text.size() - at; }
  };

  // `prefix_space` puts a space before the text. The text must not be empty.
  static PlainText begin(std::string_view text, bool prefix_space, size_t part);
  // Encodes about `budget` more bytes of text, appends their ids to `out` and subtracts the bytes
  // from `budget`. False: all is encoded. `list` is scratch.
  bool encode(const Vocab& vocabulary, PlainText& plain, size_t& budget, MergeList& list,
              std::vector<TokenId>& out) const;
  // True if bytes without a token become the unknown token.
  bool has_unknown() const { return unknown_ != kNoToken; }

 private:
  static void fill_run(const Vocab& vocabulary, PlainText& plain);
  size_t encode_part(const Vocab& vocabulary, const PlainText& plain, MergeList& list,
                     std::vector<TokenId>& out) const;
  void append_bytes(const Vocab& vocabulary, std::string_view bytes,
                    std::vector<TokenId>& out) const;

  TokenId unknown_;
};

}  // namespace sluice
