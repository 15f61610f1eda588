// Where the time of a pass goes, by phase: counted where LoadOptions::profile asks for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// In the order of a layer. `branch` (the norm of what a branch gives, before it is added) comes
// after output and down, in families that have it. `rows` (norms and quantizing, a phase of its own
// only for several tokens) and `rope` (likewise) are otherwise part of what follows them.
enum class Phase : uint8_t {
  embedding,
  rows,
  qkv,
  rope,
  attention,
  output,
  gate_up,
  down,
  branch,
  head,
  count
};
inline constexpr size_t kPhases = static_cast<size_t>(Phase::count);
inline constexpr const char* kPhaseNames[kPhases] = {
    "embedding", "norm, quantize", "q, k, v", "rope, store", "attention",
    "output",    "gate, up",       "down",    "norm, add",   "head"};

// Seconds of one worker.
struct PhaseSeconds {
  double wall[kPhases] = {};  // of a phase, waiting for others included
  double busy[kPhases] = {};  // of its own part
};

// A phase over all workers.
struct PhaseTime {
  const char* name;
  double wall_ms;         // as the thread that drives the engine sees it
  double busy_ms;         // of all threads, without waiting
  uint64_t weight_bytes;  // of the weights that it multiplies by
  uint64_t weights;       // how many these are
};

}  // namespace sluice
