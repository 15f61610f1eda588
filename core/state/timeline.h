// What a session remembers: its tokens and, for each layer, the state of their past.
//
// Only this folder and the steps (pass/steps.cc) know the kinds of state. All above go by tokens:
// they ask how much of a past can be kept (reach), and frame each pass by begin() and commit() or
// abandon().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "kernels/kernels.h"
#include "state/kv_cache.h"
#include "state/layer_shape.h"

namespace sluice {

// Of the names f32, f16 and q8_0.
KvType kv_type_named(std::string_view name);

class Timeline {
 public:
  // An empty past for these layers, which are copied. Takes no memory yet.
  Timeline(std::span<const LayerShape> layers, KvType type) : kv_(layers, type) {}
  // Bytes that so many positions take in all layers together.
  uint64_t bytes_for(int64_t positions) const { return kv_.bytes_for(positions); }

  // The tokens whose state is here; a pass under way doesn't count.
  std::span<const TokenId> tokens() const { return tokens_; }
  int64_t positions() const { return static_cast<int64_t>(tokens_.size()); }

  // How many of the first n positions stay if the rest goes: n, or fewer where a state can't be cut
  // just there.
  int64_t reach(int64_t n) const;
  // Keeps the first reach(n) positions. The memory stays, for those that come. No pass may be under
  // way.
  void cut(int64_t n);

  // Begins a pass over `tokens`, at positions() and behind. The steps then write the state of all
  // of them. Fails with out_of_memory; the timeline is then as before.
  Status begin(std::span<const TokenId> tokens);
  void commit();   // the pass has run: its tokens belong to the past
  void abandon();  // it will not be run to its end. Does nothing if no pass is under way

  // A second timeline with the same past. A change of one doesn't change the other.
  Timeline clone() const;
  // Bytes that cut(keep) and then begin() up to `end` positions would allocate.
  uint64_t growth(int64_t keep, int64_t end) const { return kv_.growth(keep, end); }
  uint64_t bytes() const { return kv_.bytes(); }  // what n timelines share counts 1 / n in each
  uint64_t own_bytes() const { return kv_.own_bytes(); }  // only what no other timeline shares

  // The keys and values of the layers that attend, for steps. Those of a pass under way have their
  // places.
  KvCache& keys_values() { return kv_; }
  const KvCache& keys_values() const { return kv_; }

 private:
  KvCache kv_;
  std::vector<TokenId> tokens_;
  std::vector<TokenId> pass_;  // of the pass under way
};

}  // namespace sluice
