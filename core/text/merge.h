// The merging that both tokenizers share: neighbours join, the best pair first and the leftmost
// among equals, until no pair can. A linked list and a heap: O(n log n) for n symbols.
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

// `find_pair(left, right) -> PairMerge` says what two neighbours become. Afterwards the list from
// symbols[0] along `next` is the result. At most 2^31 - 1 symbols.
template <typename FindPair>
void merge_symbols(MergeList& list, FindPair find_pair) {
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
  while (!heap.empty()) {
    const uint64_t best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto left = static_cast<int32_t>(best & UINT32_MAX);
    Symbol& symbol = symbols[static_cast<size_t>(left)];
    // An entry is out of date where the pair has changed since; an equal one has its own entry.
    if (symbol.merged == kNoToken || symbol.priority != best >> 32) continue;
    Symbol& right = symbols[static_cast<size_t>(symbol.next)];
    symbol.token = symbol.merged;
    symbol.size += right.size;
    symbol.next = right.next;
    right.merged = kNoToken;
    if (symbol.next >= 0) symbols[static_cast<size_t>(symbol.next)].previous = left;
    look_and_push(symbol.previous);
    look_and_push(left);
  }
}

}  // namespace sluice
