// The texts of which a run makes vectors (Session::start_vectors), or gives hidden states
// (Session::start_states).
#pragma once  // inside

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/makes.h"
#include "pass/observer.h"
#include "pass/texts.h"
#include "session/states.h"
#include "state/timeline.h"

namespace sluice {

// The run's tokens are those of all texts, one after the other.
struct TextRun {
  explicit TextRun(std::span<const LayerShape> layers) : timeline(layers) {}

  Timeline timeline;                   // keeps nothing
  std::vector<size_t> ends;            // of the texts, in the run's tokens
  Pooling pooling = Pooling::mean;     // of vectors
  std::optional<StatesWanted> states;  // what it gives in place of vectors
  std::unique_ptr<Observer> keeper;    // keeps them, attached to the session's passes
  size_t batch = 0;                    // tokens of a pass, unless one text has more
  size_t done = 0;                     // texts that are computed
  std::vector<PassText> now;           // those of the pass
  AlignedBuffer pooled;                // [now][n_embd], if dense layers make vectors of it

  uint64_t bytes() const { return timeline.bytes() + pooled.size(); }
};

}  // namespace sluice
