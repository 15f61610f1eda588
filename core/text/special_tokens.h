// The special tokens of a vocabulary as an automaton (Aho-Corasick) that reads a text from its end:
// after each byte it knows the longest token that begins there. SpecialSearch runs it.
#pragma once  // inside

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token.h"
#include "text/index_table.h"

namespace sluice {

class SpecialTokens {
 public:
  // No longer token is looked for. Of known vocabularies none has 300 bytes.
  static constexpr size_t kMaxBytes = 1000;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kMaxNodes = 1u << 31;

  // Which of the tokens count.
  enum class Kind : uint8_t { user_defined, unguarded, all };
  static constexpr size_t kKinds = 3;

  // False: the text is too long, so the token is left out. All texts together have less than
  // kMaxNodes bytes and outlive finish().
  bool add(std::string_view text, TokenId id, bool user_defined, bool guarded);
  // Call it once, after the last add().
  void finish();

  bool empty(Kind kind) const { return reach(kind) == 0; }
  // Whether a match counts doesn't depend on text more than so many bytes after its beginning: only
  // longer matches that overlap it can displace it, only still longer ones those, and so on. At
  // most half a million.
  size_t reach(Kind kind) const { return reach_[static_cast<size_t>(kind)]; }

  // The state after the byte before those that were read. Tokens of other kinds may be missed.
  uint32_t next(uint32_t state, uint8_t byte, Kind kind) const {
    return state == kRoot && !ends_[static_cast<size_t>(kind)][byte] ? kRoot : step(state, byte);
  }
  // The longest token of the kind that begins with the byte that was read last, or kNone.
  uint32_t match(uint32_t state, Kind kind) const {
    return nodes_[state].match[static_cast<size_t>(kind)];
  }
  uint32_t size(uint32_t match) const { return nodes_[match].depth; }
  TokenId id(uint32_t match) const { return nodes_[match].id; }

 private:
  struct Added {
    std::string_view text;
    TokenId id;
    std::array<bool, kKinds> is;  // by Kind
  };
  struct Node {
    uint32_t parent;
    uint32_t fail;  // the node of the longest proper suffix
    // By Kind: the first node that is such a token, this or along `fail`; or kNone. So nobody walks
    // over tokens that don't count.
    std::array<uint32_t, kKinds> match;
    uint32_t depth;
    TokenId id;
    uint8_t byte;
  };

  uint32_t child(uint32_t node, uint8_t byte) const;
  uint32_t step(uint32_t node, uint8_t byte) const;

  std::vector<Added> added_;
  std::vector<Node> nodes_;
  IndexTable edges_;                                  // from (parent, byte) to the node
  std::array<std::array<bool, 256>, kKinds> ends_{};  // a token of the kind ends with the byte
  std::array<size_t, kKinds> reach_{};                // the sum of all different lengths
};

}  // namespace sluice
