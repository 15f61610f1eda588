// What each layer of a model would have said of the next token: the logit lens (nostalgebraist,
// 2020). The final norm and the head make logits of the residual stream after that layer.
#pragma once  // face

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "engine.h"

namespace sluice {

// A cell is a position at a layer. Both lists ascend, each entry once.
struct LensWanted {
  std::vector<int64_t> positions = {};  // empty: all
  std::vector<int64_t> layers = {};     // from 0; empty: all
  int top = 3;                          // likeliest tokens of each cell
};

// The cells, by layer and then by position. The residual after the last layer is what the model
// says itself.
struct LensCells {
  int top = 0;                     // tokens of each cell: fewer if the vocabulary has fewer
  std::vector<TokenId> ids;        // [cells][top], the likeliest first
  std::vector<float> logprobs;     // [cells][top]
  std::vector<float> entropies;    // [cells], nats
  std::vector<float> divergences;  // [cells], from the last layer's: Jensen-Shannon, 0 to ln 2
};

// Computes them in slices, by runs of a session. Beside the session's own state and the cells it
// has the states of 128 positions at a time, and about 32 MB of logits (those of one position at
// all layers, if that is more); less if the memory allows no more.
class LensRun {
 public:
  // The session gets `ids`, up to the last position, as its tokens; what it has of them isn't
  // computed again. Engine and session must outlive this. Fails with invalid_argument for positions
  // and layers that aren't there, or for too many numbers in all; and as Session::start_results()
  // does.
  static Result<std::unique_ptr<LensRun>> start(Engine& engine, Session& session,
                                                std::vector<TokenId> ids, LensWanted wanted);
  // Does a slice, as Session::step() does: `working`, or `waiting` for weights, or `done`. Fails as
  // that does, and as Session::start_head() does; it is done then.
  Result<Event::Kind> step();
  // Ends it, and the session's run. The next step() returns done.
  void cancel();
  // Cells that are computed, of all.
  size_t done() const { return done_; }
  size_t total() const { return cells_.entropies.size(); }
  // Whole once all are computed.
  const LensCells& cells() const { return cells_; }
  const std::vector<int64_t>& positions() const { return wanted_.positions; }
  const std::vector<int64_t>& layers() const { return wanted_.layers; }

 private:
  LensRun(Engine& engine, Session& session, std::vector<TokenId> ids, LensWanted wanted);
  Status start_states();
  Status start_head();
  Status next();
  void finish_row();
  // Of a row of the head's: the indexes of its position and its layer.
  size_t position_of(size_t row) const { return position_ + row / layers_.size(); }
  size_t layer_of(size_t row) const { return n_layers() - row % layers_.size(); }
  size_t n_layers() const { return layers_.size() - 1; }

  Session& session_;
  const std::vector<TokenId> ids_;
  const LensWanted wanted_;
  std::vector<int64_t> layers_;  // whose states are taken: those that are wanted, and the last
  const size_t n_vocab_;
  LensCells cells_;
  size_t done_ = 0;
  bool ended_ = false;

  // Positions of which the session has states: [states_begin_, states_end_) of the wanted ones.
  size_t states_begin_ = 0, states_end_ = 0;
  // Those of which the head makes logits, at all layers, the last one first.
  size_t position_ = 0, n_positions_ = 0;
  size_t row_ = 0, n_rows_ = 0;  // of logits that are there: which comes next
  bool head_ = false;            // the session's run is that of the head, not of states
  // The probabilities of a position, relative to the likeliest: the last layer's, and another's.
  struct Said {
    std::vector<float> weights;
    double sum = 0;      // of these
    double log_sum = 0;  // of the logits
    double entropy = 0;
  };
  static void hear(std::span<const float> logits, Said& said);
  Said last_, other_;
};

}  // namespace sluice
