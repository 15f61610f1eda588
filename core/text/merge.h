// The merging of both tokenizers: neighbours merge until no pair can, the best pair first, and the
// leftmost of equal ones. A linked list and a heap make it O(n log n) for n symbols.
//
// merge_part merges a long run part by part, with the same result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "text/vocab.h"

namespace sluice {

struct Symbol {
  uint32_t begin;  // bytes in the text that is encoded
  uint32_t size;
  int32_t previous;  // indexes in the list; -1 at its ends
  int32_t next;
  TokenId token;      // of this symbol, or kNoToken
  TokenId merged;     // of this symbol and the next together, or kNoToken
  uint32_t priority;  // of that merge; the lowest goes first
};

struct PairMerge {
  TokenId merged = kNoToken;
  uint32_t priority = 0;
};

inline constexpr uint32_t kNoPriority = UINT32_MAX;  // worse than that of any merge

// Text isn't merged to longer tokens (bytes): finding them across the border of a part would take
// too long. No known vocabulary has any.
inline constexpr size_t kMaxMerged = 1024;
// A part with more bytes is settled as if nothing followed it. A part grows to this only if what
// becomes of its beginning depends on text so far behind it, in no known vocabulary.
inline constexpr size_t kMaxPart = 1u << 20;

// Scratch of one encoding, kept between words.
struct MergeList {
  std::vector<Symbol> symbols;
  std::vector<uint64_t> heap;  // priority << 32 | left symbol

  void add(uint32_t begin, uint32_t size, TokenId token) {
    const auto i = static_cast<int32_t>(symbols.size());
    if (i > 0) symbols.back().next = i;
    symbols.push_back({begin, size, i - 1, -1, token, kNoToken, 0});
  }
};

// Merges the first part of a run; symbols[0] must begin where a token of the result begins.
// find_pair(left, right) -> PairMerge gives the merge of two neighbours. find_crossing(symbol, end)
// -> uint32_t gives the best priority of a merge of `symbol` with a right neighbour that ends after
// byte `end`, or kNoPriority. Returns how many bytes are settled, whatever follows the part; their
// tokens are the list from symbols[0] along `next`. 0: none are. At most 2^31 - 1 symbols.
//
// What follows the part can change the result only by merges across the part's end. So a pair is
// merged only if no such merge of its right symbol could come earlier: none may be better than the
// worst pair merged so far, this one included. Otherwise the part is cut before the right symbol.
template <typename FindPair, typename FindCrossing>
size_t merge_part(MergeList& list, FindPair find_pair, FindCrossing find_crossing) {
  auto& symbols = list.symbols;
  auto& heap = list.heap;
  heap.clear();
  const auto look = [&](int32_t left) {
    Symbol& symbol = symbols[static_cast<size_t>(left)];
    symbol.merged = kNoToken;
    if (symbol.next < 0) return false;
    const PairMerge pair = find_pair(symbol, symbols[static_cast<size_t>(symbol.next)]);
    symbol.merged = pair.merged;
    symbol.priority = pair.priority;
    if (pair.merged == kNoToken) return false;
    heap.push_back(static_cast<uint64_t>(pair.priority) << 32 | static_cast<uint32_t>(left));
    return true;
  };
  const auto look_and_push = [&](int32_t left) {
    if (left >= 0 && look(left)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };

  for (size_t i = 0; i < symbols.size(); ++i) look(static_cast<int32_t>(i));
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  auto last = static_cast<int32_t>(symbols.size()) - 1;
  size_t end = symbols.back().begin + symbols.back().size;
  uint32_t worst = 0;
  while (!heap.empty()) {
    const uint64_t best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto left = static_cast<int32_t>(best & UINT32_MAX);
    Symbol& symbol = symbols[static_cast<size_t>(left)];
    // Skip the entry if the pair has changed since. (A new pair of equal priority has its own
    // entry.)
    if (symbol.merged == kNoToken || symbol.priority != best >> 32) continue;
    Symbol& right = symbols[static_cast<size_t>(symbol.next)];
    worst = std::max(worst, symbol.priority);
    if (find_crossing(right, end) < worst) {
      for (int32_t i = left; i >= 0; i = symbols[static_cast<size_t>(i)].next) {
        symbols[static_cast<size_t>(i)].merged = kNoToken;
      }
      symbol.next = -1;
      last = left;
      end = right.begin;
      continue;
    }
    symbol.token = symbol.merged;
    symbol.size += right.size;
    if (symbol.next == last) last = left;
    symbol.next = right.next;
    right.merged = kNoToken;
    if (symbol.next >= 0) symbols[static_cast<size_t>(symbol.next)].previous = left;
    look_and_push(symbol.previous);
    look_and_push(left);
  }
  while (last >= 0 && find_crossing(symbols[static_cast<size_t>(last)], end) != kNoPriority) {
    last = symbols[static_cast<size_t>(last)].previous;
  }
  if (last < 0) return 0;
  Symbol& symbol = symbols[static_cast<size_t>(last)];
  symbol.next = -1;
  return symbol.begin + symbol.size;
}

// Merges a whole run, or the rest of one.
template <typename FindPair>
size_t merge_symbols(MergeList& list, FindPair find_pair) {
  return merge_part(list, find_pair, [](const Symbol&, size_t) { return kNoPriority; });
}

}  // namespace sluice
