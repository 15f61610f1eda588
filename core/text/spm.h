// SentencePiece-style encoding: spaces become U+2581, neighbours merge by the scores of the tokens
// that they form, and what no token covers becomes byte tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/merge.h"
#include "text/vocab.h"

namespace sluice {

class SpmEncoder {
 public:
  // `unknown` stands for bytes that have no token; kNoToken drops them.
  explicit SpmEncoder(TokenId unknown = kNoToken) : unknown_(unknown) {}

  // A text without special tokens on its way through encode(). It is viewed.
  struct Work {
    std::string_view text;
    size_t first_part;      // bytes of a run to take at a time,
    size_t part;            // or more, where that has left too much open
    std::string run;        // to be encoded next, as the vocabulary writes it
    size_t at = 0;          // text[at..] is not in `run` yet
    bool run_ends = false;  // a U+2581 of the text's own comes behind the run

    // Bytes of the text that are not encoded yet, without those in `run`.
    size_t left() const { return text.size() - at; }
  };

  // `prefix_space` puts a space in front. The text is not empty.
  static Work begin(std::string_view text, bool prefix_space, size_t part);
  // Encodes on for about `budget` bytes of text and takes them from it: appends ids. False: all is
  // encoded. `list` is scratch.
  bool encode(const Vocab& vocabulary, Work& work, size_t& budget, MergeList& list,
              std::vector<TokenId>& out) const;
  // Does a byte without a token get the unknown one?
  bool has_unknown() const { return unknown_ != kNoToken; }

 private:
  static void fill_run(const Vocab& vocabulary, Work& work);
  size_t encode_part(const Vocab& vocabulary, const Work& work, MergeList& list,
                     std::vector<TokenId>& out) const;
  void append_bytes(const Vocab& vocabulary, std::string_view bytes,
                    std::vector<TokenId>& out) const;

  TokenId unknown_;
};

}  // namespace sluice
