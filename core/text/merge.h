// The merging that both tokenizers share: neighbours join, the best pair first and the leftmost
// among equals, until no pair can. A linked list and a heap: O(n log n) for n symbols.
//
// A long run is merged part by part, with the result that the whole one has (merge_part).
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
  int32_t previous;  // in the list; -1 at the ends
  int32_t next;
  TokenId token;      // what this symbol is, or kNoToken
  TokenId merged;     // what it and the next one would be, or kNoToken
  uint32_t priority;  // of that merge; lower goes first
};

struct PairMerge {
  TokenId merged = kNoToken;
  uint32_t priority = 0;
};

inline constexpr uint32_t kNoPriority = UINT32_MAX;  // worse than that of any merge

// A run is not cut where tokens may have more bytes than this: looking for them at the border would
// take too long.
inline constexpr size_t kMaxCutToken = 1024;

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

// Merges a part of a run, from a border of its result on. `find_pair(left, right) -> PairMerge`
// says what two neighbours become; `find_crossing(symbol, end) -> uint32_t` the best priority of a
// merge of `symbol` with a right neighbour that begins in the part and ends behind `end`, or
// kNoPriority. Returns where the part of the result ends that stands whatever follows, in bytes, 0
// for nothing: the list from symbols[0] along `next`. At most 2^31 - 1 symbols.
//
// What follows the part can only act through merges that cross its end. A pair is merged where no
// such merge of its right symbol can have gone before: none is better than the pair, or than the
// worst pair merged so far. Otherwise the right symbol and all behind it are left open, and the
// part ends in front of it.
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
    // An entry is out of date where the pair has changed since; an equal one has its own entry.
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

// Merges a whole run, or its rest.
template <typename FindPair>
size_t merge_symbols(MergeList& list, FindPair find_pair) {
  return merge_part(list, find_pair, [](const Symbol&, size_t) { return kNoPriority; });
}

}  // namespace sluice
