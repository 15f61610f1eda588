// Byte-level BPE: each byte is a token, and neighbours inside a word merge in the order of the
// file's list of merges.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/index_table.h"
#include "text/merge.h"
#include "text/pretokenize.h"
#include "text/vocab.h"
#include "weights/gguf.h"

namespace sluice {

class BpeEncoder {
 public:
  // bad_file: no list of merges, one that is not "left right", or one that names or makes a token
  // that the vocabulary does not have.
  static Result<BpeEncoder> from_gguf(const Gguf& gguf, const Vocab& vocabulary,
                                      const PreTokenizer& pre_tokenizer);

  // Appends the ids of `text`, which has no special tokens in it. A byte that has no token is left
  // out. `list` is scratch.
  void encode(const Vocab& vocabulary, std::string_view text, MergeList& list,
              std::vector<TokenId>& out) const;

 private:
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId merged;
  };

  Status add_merge(std::string_view merge, size_t rank, const Vocab& vocabulary);
  uint32_t find_merge(TokenId left, TokenId right) const;
  TokenId whole_word(const Vocab& vocabulary, std::string_view word) const;

  PreTokenizer pre_tokenizer_{};
  std::vector<Merge> merges_;  // by rank
  IndexTable table_;           // from (left, right) to the rank
};

}  // namespace sluice
