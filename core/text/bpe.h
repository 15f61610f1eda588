// BPE: neighbours merge in the order of the file's list of merges. In byte-level BPE each byte of a
// word begins as a token. In raw BPE (PreTokenizer::raw) each UTF-8 character does; one that is no
// token in the end becomes its bytes' tokens, and a word of line ends that is a token is taken
// whole.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"
#include "text/index_table.h"
#include "text/merge.h"
#include "text/pretokenize.h"
#include "text/vocab.h"

namespace sluice {

class BpeEncoder {
 public:
  // A text without special tokens that encode() works on. Doesn't own the text.
  struct PlainText {
    WordSplitter words;
    size_t first_part;           // bytes of a word to encode at a time
    size_t part = 0;             // the same for this word; doubled if few of them get settled
    std::string_view word = {};  // the rest of the current word

    // Bytes that are not encoded yet.
    size_t left() const { return word.size() + words.left(); }
  };

  // Fails with bad_file if there is no list of merges or it is too long. Skips and counts merges of
  // tokens that the vocabulary doesn't have.
  static Result<BpeEncoder> from_gguf(const Gguf& gguf, const Vocab& vocabulary,
                                      const PreTokenizer& pre_tokenizer);

  // For raw BPE the text has U+2581 in place of spaces.
  PlainText begin(std::string_view text, size_t part) const {
    return {WordSplitter(pre_tokenizer_.splitter, text), part};
  }
  // Encodes about `budget` more bytes of text, appends their ids to `out` and subtracts the bytes
  // from `budget`. False: all is encoded. A byte without a token is dropped. `list` is scratch.
  bool encode(const Vocab& vocabulary, PlainText& plain, size_t& budget, MergeList& list,
              std::vector<TokenId>& out) const;

  // From now on no text becomes a control, unknown or guarded token by merges.
  void forget_merges_to_special(const Vocab& vocabulary);

  uint64_t skipped_merges() const { return skipped_; }
  bool raw() const { return pre_tokenizer_.raw; }

 private:
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId merged;
  };

  bool add_merge(std::string_view merge, const Vocab& vocabulary);
  uint32_t find_merge(TokenId left, TokenId right) const;
  TokenId whole_word(const Vocab& vocabulary, std::string_view word) const;
  Symbol symbol_at(const Vocab& vocabulary, std::string_view word, size_t at) const;
  uint32_t find_crossing(const Vocab& vocabulary, std::string_view word, const Symbol& symbol,
                         size_t end) const;
  size_t encode_part(const Vocab& vocabulary, std::string_view word, size_t part, MergeList& list,
                     std::vector<TokenId>& out) const;

  PreTokenizer pre_tokenizer_{};
  std::vector<Merge> merges_;  // indexed by rank
  IndexTable table_;           // from (left, right) to the rank
  size_t longest_merged_ = 0;  // bytes of the longest merged token, as in the vocabulary
  uint64_t skipped_ = 0;
};

}  // namespace sluice
