// Finds the special tokens that are written out in a text, from its beginning, a part at a time.
// The time is linear in the text but for the order of tokens that overlap, for any number and
// length of tokens. The memory depends on the size of a part, not on the text or what is found in
// it.
#pragma once  // inside

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/special_tokens.h"
#include "text/tokenizer.h"

namespace sluice {

class SpecialSearch {
 public:
  struct Match {
    size_t begin;  // bytes
    uint32_t size;
    TokenId id;
  };

  // `tokens` and `text` must outlive this. Without parse_special only user-defined tokens are
  // found, everywhere. With it all are, the guarded ones only where none of their bytes lies in
  // `input` (spans in order, without overlaps; if they aren't so, all of the text counts as input).
  // `part`: bytes to look through at a time, or more if the tokens' lengths need it.
  SpecialSearch(const SpecialTokens& tokens, std::string_view text, bool parse_special,
                std::vector<TextSpan> input, size_t part);

  // Looks for the tokens that begin in the next part. False: there was no more text.
  bool scan();
  // Those that the last call found, in order, without overlaps. Of matches that overlap the longer
  // one wins, and the first of equal ones, as in llama.cpp. Matches that may not be found are
  // dropped before.
  const std::vector<Match>& matches() const { return matches_; }
  // No other token than those found begins before this place.
  size_t scanned() const { return scanned_; }
  // Bytes read and candidates compared, for tests.
  uint64_t work() const { return work_; }

 private:
  class Reader;
  struct Candidate {
    size_t begin;
    uint32_t match;  // of `tokens_`
  };

  void find(size_t begin, size_t end);
  void resolve(size_t first, size_t last, size_t end);
  bool goes_before(const Candidate& a, const Candidate& b) const;
  void push(Candidate candidate);
  void retract(size_t base, const Candidate& taken);
  size_t end_of(const Candidate& candidate) const {
    return candidate.begin + tokens_->size(candidate.match);
  }

  const SpecialTokens* tokens_;
  std::string_view text_;
  SpecialTokens::Kind everywhere_;  // these are found whatever bytes they have
  bool guards_;                     // the others only outside of `input_`
  std::vector<TextSpan> input_;
  size_t part_;
  size_t scanned_ = 0;
  std::vector<Match> matches_;
  uint64_t work_ = 0;
  // Scratch of a part.
  std::vector<Candidate> candidates_;
  std::vector<Candidate> heap_;
  std::vector<uint32_t> at_;
};

}  // namespace sluice
