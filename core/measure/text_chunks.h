// A text in chunks of tokens, as models are measured with it: each chunk is computed alone, from
// position 0. A rest that is no whole chunk is left out.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "text/tokenizer.h"

namespace sluice {

class TextChunks {
 public:
  // Encodes the text, special tokens as text, with BOS before it if the model adds one; at most
  // `most` chunks of it (0: all). `go_on` is called between pieces of the text; false ends it with
  // `aborted`. Fails with invalid_argument if the text has less than one chunk.
  static Result<TextChunks> make(const Tokenizer& tokenizer, std::string_view text,
                                 size_t chunk_size, size_t most,
                                 const std::function<bool()>& go_on);
  size_t count() const { return ids_.size() / chunk_size_; }
  // Its ids, the first one replaced by BOS if the model adds one.
  std::vector<TokenId> chunk(size_t i) const;

 private:
  TextChunks(size_t chunk_size, TokenId bos) : chunk_size_(chunk_size), bos_(bos) {}
  size_t chunk_size_;
  TokenId bos_;  // kNoToken: the model adds none
  std::vector<TokenId> ids_;
};

}  // namespace sluice
