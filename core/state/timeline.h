// What a session remembers: its tokens and, for each layer, the state of their past. (One for
// passes that nothing comes after has only what a layer needs while it is computed.)
//
// Only this folder and the steps (pass/steps.cc) know the kinds of state. All above go by tokens:
// they ask from where a pass can go on (reach), frame each pass by begin() and commit() or
// abandon(), and say where a prompt has ended (mark).
//
// Keys and values of layers that see all can be cut anywhere. What can't (a window lets go of what
// no later token sees, a recurrent state sums up all) can be cut at marks: the ends of the last
// prompt and of the one before always (or a place in them: mark_later), and positions at doubling
// distances back, as much as the allowance for them permits. At the end of a prompt it can be cut
// before the last token, so that this one can be computed again: only there if a state is
// recurrent.
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
#include "state/recurrent.h"

namespace sluice {

// Of the names f32, f16 and q8_0.
KvType kv_type_named(std::string_view name);

class Timeline {
 public:
  // An empty past for these layers, which are copied. Takes no memory yet. `allowance`: bytes for
  // marks besides the ends of prompts.
  Timeline(std::span<const LayerShape> layers, KvType type, uint64_t allowance);
  // One for passes that begin at position 0 and are abandoned: it keeps nothing of them. Its keys
  // and values are f32.
  explicit Timeline(std::span<const LayerShape> layers);

  // Bytes of so many positions at most, with all marks that may be there.
  uint64_t bytes_for(int64_t positions) const;
  // Of these, those that each chunk of kKvChunk positions adds. The others are bounded: of windows,
  // of recurrent states and of marks.
  uint64_t bytes_per_chunk() const;

  // The tokens that were computed; a pass under way doesn't count.
  std::span<const TokenId> tokens() const { return tokens_; }
  int64_t positions() const { return static_cast<int64_t>(tokens_.size()); }

  // The last position up to n from which a pass can go on, once the rest is cut.
  int64_t reach(int64_t n) const;
  // Keeps the first n tokens, and of their state what there is: a pass can go on from reach(n). The
  // memory stays, for what comes. No pass may be under way.
  void cut(int64_t n);

  // Begins a pass over `tokens`, at positions(), which must be in reach. The steps then write the
  // state of all of them. First lets go of the marks that will make room for those of the pass.
  // Fails with out_of_memory; the timeline then has the tokens that it had. `places`: how many the
  // caches have for the pass, if that differs.
  Status begin(std::span<const TokenId> tokens, int64_t places = 0);
  void commit();   // the pass has run: its tokens belong to the past
  void abandon();  // it will not be run to its end. Does nothing if no pass is under way
  // A prompt ends at positions(): the past can be cut there until the prompt after the next one has
  // ended.
  void mark();
  // The same for a position that later passes come to; one that none comes to is forgotten with the
  // next call. 0: none.
  void mark_later(int64_t position) { later_ = position; }

  // A second timeline with the same past. A change of one doesn't change the other.
  Timeline clone() const;
  // Bytes that cut(keep) and then begin() up to `end` positions would add; 0 if they free more.
  uint64_t growth(int64_t keep, int64_t end) const;
  uint64_t bytes() const;      // what n timelines share counts 1 / n in each
  uint64_t own_bytes() const;  // only what no other timeline shares

  // For steps: the cache that has the keys and values of a layer, which is its own (LayerShape's
  // cache). Those of a pass under way have their places.
  KvCache& keys_values(int64_t layer) { return caches_[index_of(layer)]; }
  const KvCache& keys_values(int64_t layer) const { return caches_[index_of(layer)]; }

  // The states of recurrent layers, likewise.
  const RecurrentState& recurrent() const { return recurrent_; }
  RecurrentState& recurrent() { return recurrent_; }

  // For files (state/timeline_rows.h): all caches, those with a window behind the one without, by
  // ascending windows; and the marks, which ascend.
  std::span<const KvCache> caches() const { return caches_; }
  std::span<const int64_t> prompt_ends() const { return marks_.prompt_ends; }
  // Adds the state of `tokens` of a file, at most up to the next chunk's begin, as if passes had
  // written it. kept[i]: whether cache i has their rows. Fails with out_of_memory. Where the past
  // can be cut by what was kept, there are marks, as many as the allowance permits. What the file
  // has besides stays until the next pass.
  Status restore(std::span<const TokenId> tokens, std::span<const uint8_t> kept);
  // Adds a place for the recurrent state at a position that restore() has added, which must ascend.
  Status restore_state(int64_t position);
  // The ends of prompts of a file whose tokens have all been restored: at most two, which ascend.
  void restore_prompt_ends(std::span<const int64_t> ends);

 private:
  // Positions to which the past can be cut, besides its end. Both ascend.
  struct Marks {
    std::vector<int64_t> prompt_ends;  // at most two
    std::vector<int64_t> more;
    std::vector<int64_t> all() const;     // in no order
    std::vector<int64_t> states() const;  // where recurrent states are kept for them; in no order
  };
  Timeline() = default;
  bool has_windows() const { return !caches_.empty() && caches_.back().window() > 0; }
  bool needs_marks() const { return has_windows() || recurrent_.any(); }
  void mark_restored(int64_t position);
  size_t index_of(int64_t layer) const { return cache_of_[static_cast<size_t>(layer)]; }
  Marks marks_up_to(int64_t n) const;
  Marks marks_of_pass(int64_t begin, int64_t end) const;
  void thin(Marks& marks, int64_t end) const;
  void add_prompt_end(Marks& marks, int64_t position) const;

  std::vector<KvCache> caches_;
  std::vector<uint8_t> cache_of_;  // by layer
  RecurrentState recurrent_;
  uint64_t allowance_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<TokenId> pass_;  // of the pass under way
  Marks marks_;
  Marks pass_marks_;   // as they will be when the pass has run
  int64_t later_ = 0;  // of mark_later()
};

}  // namespace sluice
