// Where the time of a pass goes, by phase. It is counted if LoadOptions::profile is set.
#pragma once  // face

#include <cstddef>
#include <cstdint>

namespace sluice {

// The phases, in the order of a layer. `rows` (norms and quantizing) and `rope` are phases only for
// several tokens; for a single one the next phase does their work. What a layer has in place of
// attention is in its phases; a delta net's convolution is in `rope`. `router` chooses experts.
// `layer_input` makes what layers get beside the residual, and multiplies by it. `branch` norms the
// result of `output`, `down` or `layer_input` before it is added, in families that do so, and adds
// what experts computed.
enum class Phase : uint8_t {
  embedding,
  rows,
  qkv,
  rope,
  attention,
  output,
  router,
  gate_up,
  down,
  layer_input,
  branch,
  head,
  count
};
inline constexpr size_t kPhases = static_cast<size_t>(Phase::count);
inline constexpr const char* kPhaseNames[kPhases] = {
    "embedding", "norm, quantize", "q, k, v", "rope, store", "attention", "output",
    "router",    "gate, up",       "down",    "layer input", "norm, add", "head"};

// Seconds of one worker.
struct PhaseSeconds {
  double wall[kPhases] = {};  // with waiting for other workers
  double busy[kPhases] = {};  // without
};

// A phase over all workers.
struct PhaseTime {
  const char* name;
  double wall_ms;         // worker 0's, with waiting
  double busy_ms;         // the sum of all workers', without waiting
  uint64_t weight_bytes;  // bytes of the weights that it multiplies by
  uint64_t weights;       // their number
};

}  // namespace sluice
