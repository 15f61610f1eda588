// Byte-level BPE: each byte is a token, and neighbours inside a word merge in the order of the
// file's list of merges.
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
  // A text without special tokens on its way through encode(). It is viewed.
  struct Work {
    WordSplitter words;
    size_t first_part;           // bytes of a word to take at a time,
    size_t part = 0;             // or more, where that has left too much open
    std::string_view word = {};  // what is left of the word in hand

    // Bytes that are not encoded yet.
    size_t left() const { return word.size() + words.left(); }
  };

  // bad_file: no list of merges, or one that is too long. Merges of tokens that the vocabulary does
  // not have are left out and counted.
  static Result<BpeEncoder> from_gguf(const Gguf& gguf, const Vocab& vocabulary,
                                      const PreTokenizer& pre_tokenizer);

  Work begin(std::string_view text, size_t part) const {
    return {WordSplitter(pre_tokenizer_.splitter, text), part};
  }
  // Encodes on for about `budget` bytes of text and takes them from it: appends ids. False: all is
  // encoded. A byte that has no token is left out. `list` is scratch.
  bool encode(const Vocab& vocabulary, Work& work, size_t& budget, MergeList& list,
              std::vector<TokenId>& out) const;

  uint64_t skipped_merges() const { return skipped_; }

 private:
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId merged;
  };

  bool add_merge(std::string_view merge, const Vocab& vocabulary);
  uint32_t find_merge(TokenId left, TokenId right) const;
  TokenId whole_word(const Vocab& vocabulary, std::string_view word) const;
  uint32_t find_crossing(const Vocab& vocabulary, std::string_view word, const Symbol& symbol,
                         size_t end) const;
  size_t encode_part(const Vocab& vocabulary, std::string_view word, size_t part, MergeList& list,
                     std::vector<TokenId>& out) const;

  PreTokenizer pre_tokenizer_{};
  std::vector<Merge> merges_;  // by rank
  IndexTable table_;           // from (left, right) to the rank
  size_t longest_merged_ = 0;  // bytes of the longest token that merges make, as in the vocabulary
  uint64_t skipped_ = 0;
};

}  // namespace sluice
