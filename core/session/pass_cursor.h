// Where a run is in its passes.
#pragma once  // inside

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/token.h"
#include "pass/model.h"
#include "weights/weights.h"

namespace sluice {

// A run computes its tokens in passes, and a pass one block of one stage of a layer after the
// other: it takes several slices.
struct PassCursor {
  std::vector<TokenId> tokens;  // the prompt, then what was generated
  size_t n_prompt = 0;
  size_t mark = 0;  // in the prompt or its end, to where the session can go back (Timeline::mark)
  // The pass computes tokens[begin, end).
  size_t begin = 0;
  size_t end = 0;
  bool pass_started = false;
  int64_t embedded = 0;  // tokens of the pass that are embedded
  int64_t layer = 0;
  size_t stage = 0;  // of the layer
  int64_t block = 0;
  int head_part = 0;
  bool output_done = false;  // what is asked for of the final norm is computed
  size_t head_rows = 0;      // of the pass's logits, the rows that have this part
  size_t batch = 0;          // tokens per pass of a run over given tokens, at most
  size_t alone = SIZE_MAX;   // a position of it whose pass has no other token
  // Holds the slot that is computed. Null while all weights are resident.
  std::unique_ptr<Weights::Cursor> weights;

  size_t n_tokens() const { return end - begin; }
  // Of the pass from `begin` on, of a run over given tokens.
  size_t next_end() const {
    const size_t most = std::min(n_prompt, begin + batch);
    return begin > alone ? most : std::min(most, begin == alone ? begin + 1 : alone);
  }
  // For Timeline::mark_later: the prompt's end is marked when it is computed.
  int64_t mark_ahead() const { return mark < n_prompt ? static_cast<int64_t>(mark) : 0; }
  std::span<const TokenId> pass_tokens() const {
    return std::span(tokens).subspan(begin, n_tokens());
  }

  void start_pass() {
    pass_started = true;
    embedded = layer = block = 0;
    stage = 0;
    head_part = 0;
    head_rows = 0;
    output_done = false;
  }
  // After a block of a stage that has n_blocks, in a layer of n_stages.
  void next_block(int64_t n_blocks, size_t n_stages) {
    if (++block < n_blocks) return;
    block = 0;
    if (++stage < n_stages) return;
    stage = 0;
    ++layer;
  }
  // The slot that a pass under way computes, of its layer or the head; -1: none is.
  int slot(const Model& model) const {
    if (!pass_started) return -1;
    if (layer < model.config().n_layers) return model.layer_slot(layer);
    return model.head_part_slot(std::min(head_part, model.n_head_parts() - 1));
  }
  // Blocks of layers that are computed in this pass. The head counts as one. In a layer of several
  // stages the first counts as half of it.
  double blocks_done(const Model& model, int64_t n_blocks, size_t n_stages) const {
    const double all = static_cast<double>(n_blocks);
    double in_layer = static_cast<double>(block);
    if (layer < model.config().n_layers && model.has_more_stages(layer)) {
      in_layer = stage == 0
                     ? in_layer / 2
                     : all / 2 * (1 + static_cast<double>(stage) / static_cast<double>(n_stages));
    }
    return static_cast<double>(layer) * all + in_layer +
           head_part / static_cast<double>(std::max(model.n_head_parts(), 1));
  }
};

}  // namespace sluice
