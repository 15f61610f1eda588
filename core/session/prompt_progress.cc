// How far a run is with its prompt.
#include <algorithm>

#include "session/session_state.h"

namespace sluice {

// The rate is measured from here on. Once all that stays in memory has arrived it begins anew: what
// the prompt waited for until then won't be waited for again.
void Session::State::mark_progress() {
  const bool arriving = !runtime.weights->ready();
  std::optional<RunClock::Mark>& mark = run->clock.mark;
  if (mark && mark->arriving == arriving) return;
  const int64_t n_blocks = runtime.pass->n_blocks(pass);
  mark = {.at = Clock::now(),
          .blocks = run->cursor.blocks_done(*runtime.model, n_blocks, pass.stages.size()),
          .arriving = arriving};
}

PromptProgress Session::prompt_progress() const {
  const State& s = *state_;
  PromptProgress progress;
  if (!s.run || s.run->cursor.n_prompt == 0) return progress;
  const PassCursor& cursor = s.run->cursor;
  const RunClock& clock = s.run->clock;
  progress.total = static_cast<int64_t>(cursor.n_prompt);
  progress.reused = s.stats.reused_tokens;
  if (clock.prompt_ms > 0) {
    progress.computed = progress.total;
    return progress;
  }
  progress.computed = static_cast<int64_t>(cursor.begin);
  progress.waiting = clock.waiting_since.has_value() && !s.runtime.weights->ready();
  if (!cursor.pass_started) return progress;
  const int64_t n_blocks = s.runtime.pass->n_blocks(s.pass);
  const double blocks = static_cast<double>(s.n_layers_now() * n_blocks) + 1;
  const double done = cursor.blocks_done(*s.runtime.model, n_blocks, s.pass.stages.size());
  const auto tokens = static_cast<double>(s.pass.n_tokens);
  progress.computed += static_cast<int64_t>(done / blocks * tokens);
  // A whole layer says enough. (Later blocks of a layer take longer than its first ones.)
  if (!clock.mark || done - clock.mark->blocks < static_cast<double>(n_blocks)) return progress;
  const double seconds_per_block =
      milliseconds(clock.mark->at, Clock::now()) / 1e3 / (done - clock.mark->blocks);
  const auto later = static_cast<double>(cursor.n_prompt - cursor.end) / tokens * blocks;
  progress.seconds_left = seconds_per_block * (blocks - done + later);
  return progress;
}

}  // namespace sluice
