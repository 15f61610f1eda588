#include "text/special_tokens.h"

#include <map>
#include <queue>
#include <set>
#include <span>

#include "base/order.h"

namespace sluice {
namespace {

uint64_t edge_hash(uint32_t parent, uint8_t byte) {
  return hash_mix(0, static_cast<uint64_t>(parent) << 8 | byte);
}

}  // namespace

void SpecialTokens::add(std::string_view text, TokenId id) {
  if (!text.empty()) added_.emplace_back(text, id);
}

uint32_t SpecialTokens::child(uint32_t node, uint8_t byte) const {
  return edges_.find(edge_hash(node, byte), [&](uint32_t i) {
    return nodes_[i].parent == node && nodes_[i].byte == byte;
  });
}

uint32_t SpecialTokens::step(uint32_t node, uint8_t byte) const {
  for (;;) {
    const uint32_t next = child(node, byte);
    if (next != kNone) return next;
    if (node == 0) return 0;
    node = nodes_[node].fail;
  }
}

void SpecialTokens::finish() {
  size_t bytes = 1;
  for (const auto& [text, id] : added_) bytes += text.size();
  edges_.reset(bytes);
  nodes_.assign(1, Node{kNone, 0, kNone, 0, kNoToken, 0});
  std::set<size_t> lengths;
  for (const auto& [text, id] : added_) {
    uint32_t node = 0;
    for (size_t i = text.size(); i-- > 0;) {
      const auto byte = static_cast<uint8_t>(text[i]);
      uint32_t next = child(node, byte);
      if (next == kNone) {
        next = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back(Node{node, 0, kNone, nodes_[node].depth + 1, kNoToken, byte});
        edges_.insert(edge_hash(node, byte), next, [](uint32_t) { return false; });
      }
      node = next;
    }
    nodes_[node].id = id;
    ends_token_[static_cast<uint8_t>(text.back())] = true;
    lengths.insert(text.size());
  }
  for (const size_t length : lengths) reach_ += length;
  added_ = {};

  // In order of depth: a node's links need those of all nodes above.
  const auto order = order_of(
      nodes_.size(), [&](uint32_t a, uint32_t b) { return nodes_[a].depth < nodes_[b].depth; });
  for (const uint32_t i : std::span(order).subspan(1)) {  // without the root
    Node& node = nodes_[i];
    node.fail = node.parent == 0 ? 0 : step(nodes_[node.parent].fail, node.byte);
    node.match = node.id != kNoToken ? i : nodes_[node.fail].match;
  }
}

std::vector<SpecialTokens::Match> SpecialTokens::find(std::string_view text) const {
  if (empty()) return {};
  struct Candidate {
    uint32_t begin;
    uint32_t node;
    uint32_t size;
  };
  std::vector<Candidate> candidates;
  uint32_t state = 0;
  for (size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (state == 0 && !ends_token_[byte]) continue;
    state = step(state, byte);
    const uint32_t match = nodes_[state].match;
    if (match != kNone) {
      candidates.push_back({static_cast<uint32_t>(i), match, nodes_[match].depth});
    }
  }

  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.size != b.size ? a.size < b.size : a.begin > b.begin;
  };
  std::priority_queue queue(later, std::move(candidates));
  std::map<uint32_t, Match> taken;  // by their beginning
  while (!queue.empty()) {
    Candidate candidate = queue.top();
    queue.pop();
    const auto next = taken.upper_bound(candidate.begin);
    if (next != taken.begin()) {
      const Match& before = std::prev(next)->second;
      if (before.begin + before.size > candidate.begin) continue;
    }
    const size_t room = (next == taken.end() ? text.size() : next->first) - candidate.begin;
    if (candidate.size <= room) {
      taken.emplace_hint(next, candidate.begin,
                         Match{candidate.begin, candidate.size, nodes_[candidate.node].id});
      continue;
    }
    // A match that was taken overlaps its end. A shorter token that starts here may still fit.
    while (candidate.node != kNone && nodes_[candidate.node].depth > room) {
      candidate.node = nodes_[nodes_[candidate.node].fail].match;
    }
    if (candidate.node == kNone) continue;
    candidate.size = nodes_[candidate.node].depth;
    queue.push(candidate);
  }

  std::vector<Match> out;
  out.reserve(taken.size());
  for (const auto& [begin, match] : taken) out.push_back(match);
  return out;
}

}  // namespace sluice
