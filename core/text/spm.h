// SentencePiece-style encoding: spaces become U+2581, neighbours merge by the scores of the tokens
// that they form, and what no token covers becomes byte tokens.
#pragma once

#include <string_view>
#include <vector>

#include "text/merge.h"
#include "text/vocab.h"

namespace sluice {

class SpmEncoder {
 public:
  // `unknown` stands for bytes that have no token; kNoToken drops them.
  explicit SpmEncoder(TokenId unknown = kNoToken) : unknown_(unknown) {}

  // Appends the ids of `text`, which has no special tokens in it; `prefix_space` puts a space in
  // front. `list` is scratch.
  void encode(const Vocab& vocabulary, std::string_view text, bool prefix_space, MergeList& list,
              std::vector<TokenId>& out) const;

 private:
  void encode_run(const Vocab& vocabulary, std::string_view run, MergeList& list,
                  std::vector<TokenId>& out) const;
  void append_bytes(const Vocab& vocabulary, std::string_view bytes,
                    std::vector<TokenId>& out) const;

  TokenId unknown_;
};

}  // namespace sluice
