// How far a run is with its prompt.
#include <algorithm>

#include "engine/engine_state.h"

namespace sluice {

// Blocks of layers that are computed in this pass. The head counts as one.
double Session::State::blocks_done() const {
  const double parts = run.head_part / static_cast<double>(engine.model->n_head_parts());
  return static_cast<double>(run.layer * engine.pass->n_blocks(pass) + run.block) + parts;
}

// The rate is measured from here on. Once all that stays in memory has arrived it begins anew: what
// the prompt waited for until then won't come again.
void Session::State::mark_progress() {
  const bool arriving = !engine.weights->ready();
  if (run.mark && run.mark->arriving == arriving) return;
  run.mark = {.at = Clock::now(), .blocks = blocks_done(), .arriving = arriving};
}

PromptProgress Session::prompt_progress() const {
  const State& s = *state_;
  const Run& run = s.run;
  PromptProgress progress;
  progress.total = static_cast<int64_t>(run.n_prompt);
  if (progress.total == 0) return progress;
  progress.reused = s.stats.reused_tokens;
  if (run.prompt_ms > 0) {
    progress.computed = progress.total;
    return progress;
  }
  progress.computed = static_cast<int64_t>(run.pass_begin);
  progress.waiting = run.waiting_since.has_value() && !s.engine.weights->ready();
  if (!run.pass_started) return progress;
  const int64_t n_blocks = s.engine.pass->n_blocks(s.pass);
  const double blocks = static_cast<double>(s.engine.n_layers() * n_blocks) + 1;
  const double done = s.blocks_done();
  const auto tokens = static_cast<double>(s.pass.n_tokens);
  progress.computed += static_cast<int64_t>(done / blocks * tokens);
  // A whole layer says enough. (Later blocks of a layer take longer than its first ones.)
  if (!run.mark || done - run.mark->blocks < static_cast<double>(n_blocks)) return progress;
  const double seconds_per_block =
      milliseconds(run.mark->at, Clock::now()) / 1e3 / (done - run.mark->blocks);
  const auto later = static_cast<double>(run.n_prompt - run.pass_end) / tokens * blocks;
  progress.seconds_left = seconds_per_block * (blocks - done + later);
  return progress;
}

}  // namespace sluice
