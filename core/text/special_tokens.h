// Finds special tokens written out in a text, in time linear in it, however many tokens there are
// and however long (Aho-Corasick over the reversed text, so that each place knows the longest token
// that starts there).
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
  // To be called once, after the last add().
  void finish();

  // The matches in the text, in its order, apart from each other. Longer tokens go before shorter
  // ones wherever they stand, and among equals the first in the text: llama.cpp's rule. The text
  // has less than 2^32 bytes.
  std::vector<Match> find(std::string_view text) const;
  bool empty() const { return nodes_.size() <= 1; }
  // A match that begins so many bytes in front of the text's end stays, or stays out, whatever
  // follows: it depends on longer ones that overlap it, these on longer ones, and so on.
  size_t reach() const { return reach_; }

 private:
  struct Node {
    uint32_t parent;
    uint32_t fail;   // the longest proper suffix (of the reversed token) that is a node
    uint32_t match;  // this node or the nearest along `fail` that is a token, or kNone
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
  std::array<bool, 256> ends_token_{};  // may a token's last byte be this one?
  size_t reach_ = 0;                    // the sum of all different lengths
};

}  // namespace sluice
