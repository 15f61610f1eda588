// What of a model stays in memory, as a test says it. The product chooses it itself
// (engine/plan.h).
#pragma once  // inside

#include <cstdint>

namespace sluice {

// 0 in all: it is chosen.
struct PlanOverride {
  int layer_places = 0;        // places that the layers and the head's parts share
  int head_parts = 0;          // parts that the head is divided into, at most 1024
  int64_t embedding_rows = 0;  // rows of the embedding in memory, at most 16384

  bool set() const { return layer_places > 0 || head_parts > 0 || embedding_rows > 0; }
};

}  // namespace sluice
