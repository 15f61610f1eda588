// Finds special tokens that are written out in a text. The time is linear in the text for any
// number and length of tokens: Aho-Corasick over the reversed text finds the longest token that
// starts at each byte.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/index_table.h"
#include "text/vocab.h"

namespace sluice {

class SpecialTokens {
 public:
  struct Match {
    uint32_t begin;  // bytes
    uint32_t size;
    TokenId id;
  };

  void add(std::string_view text, TokenId id);
  // Call it once, after the last add().
  void finish();

  // The matches in the text, in order, without overlaps. Where matches overlap, the longer one
  // wins, and the first of equal ones, as in llama.cpp. The text must have less than 2^32 bytes.
  std::vector<Match> find(std::string_view text) const;
  bool empty() const { return nodes_.size() <= 1; }
  // Whether a match counts doesn't depend on text more than so many bytes after its beginning: only
  // longer matches that overlap it can displace it, only still longer ones those, and so on.
  size_t reach() const { return reach_; }

 private:
  struct Node {
    uint32_t parent;
    uint32_t fail;   // the node of the longest proper suffix
    uint32_t match;  // the first node that is a token: this, or along `fail`; or kNone
    uint32_t depth;
    TokenId id;
    uint8_t byte;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t child(uint32_t node, uint8_t byte) const;
  uint32_t step(uint32_t node, uint8_t byte) const;

  std::vector<std::pair<std::string_view, TokenId>> added_;
  std::vector<Node> nodes_;
  IndexTable edges_;                    // from (parent, byte) to the node
  std::array<bool, 256> ends_token_{};  // by byte: a token ends with it
  size_t reach_ = 0;                    // the sum of all different lengths of tokens
};

}  // namespace sluice
