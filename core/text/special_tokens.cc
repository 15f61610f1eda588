#include "text/special_tokens.h"

#include <span>

#include "base/order.h"

namespace sluice {
namespace {

uint64_t edge_hash(uint32_t parent, uint8_t byte) {
  return hash_mix(0, static_cast<uint64_t>(parent) << 8 | byte);
}

}  // namespace

bool SpecialTokens::add(std::string_view text, TokenId id, bool user_defined, bool guarded) {
  if (text.size() > kMaxBytes) return false;
  if (!text.empty()) added_.push_back({text, id, {user_defined, !guarded, true}});
  return true;
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
    if (node == kRoot) return kRoot;
    node = nodes_[node].fail;
  }
}

void SpecialTokens::finish() {
  constexpr std::array<uint32_t, kKinds> kNoMatch = {kNone, kNone, kNone};
  size_t bytes = 1;
  for (const Added& each : added_) bytes += each.text.size();
  edges_.reset(bytes);
  nodes_.assign(1, Node{kNone, kRoot, kNoMatch, 0, kNoToken, 0});
  std::array<std::array<bool, kMaxBytes + 1>, kKinds> lengths{};
  for (const Added& each : added_) {
    uint32_t node = kRoot;
    for (size_t i = each.text.size(); i-- > 0;) {
      const auto byte = static_cast<uint8_t>(each.text[i]);
      uint32_t next = child(node, byte);
      if (next == kNone) {
        next = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back(Node{node, kRoot, kNoMatch, nodes_[node].depth + 1, kNoToken, byte});
        edges_.insert(edge_hash(node, byte), next, [](uint32_t) { return false; });
      }
      node = next;
    }
    nodes_[node].id = each.id;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (!each.is[kind]) continue;
      nodes_[node].match[kind] = node;
      ends_[kind][static_cast<uint8_t>(each.text.back())] = true;
      lengths[kind][each.text.size()] = true;
    }
  }
  for (size_t kind = 0; kind < kKinds; ++kind)
    for (size_t length = 1; length <= kMaxBytes; ++length)
      if (lengths[kind][length]) reach_[kind] += length;
  added_ = {};

  // In order of depth: a node's links need those of all nodes above.
  const auto order = order_of(
      nodes_.size(), [&](uint32_t a, uint32_t b) { return nodes_[a].depth < nodes_[b].depth; });
  for (const uint32_t i : std::span(order).subspan(1)) {  // without the root
    Node& node = nodes_[i];
    node.fail = node.parent == kRoot ? kRoot : step(nodes_[node.parent].fail, node.byte);
    for (size_t kind = 0; kind < kKinds; ++kind)
      if (node.match[kind] == kNone) node.match[kind] = nodes_[node.fail].match[kind];
  }
}

}  // namespace sluice
