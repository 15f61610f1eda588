// What of a model stays in memory: all of it, or what a budget allows.
//
// Under a budget that is too small for all, the embedding is held as single rows and the head is
// divided into parts about as large as a layer. Some of the layers and parts, spread over the
// model, keep places of their own. The others share a few places and are read again for every pass.
// Of a mixture of experts all layers stay, and as many parts of the head as can; its experts and
// the other parts share as many places as there can be.
#pragma once

#include <memory>

#include "engine.h"
#include "engine/plan_override.h"
#include "pass/model.h"
#include "weights/weights.h"

namespace sluice {

struct Plan {
  std::unique_ptr<Model> model;
  SharedPlaces shared;
  SingleRows rows;
  MemoryPlan memory;
  uint64_t fixed = 0;  // of memory.total(): weights, constant and what sessions share
  uint64_t ropes = 0;  // of fixed: the tables of RoPE
  uint64_t limit = 0;  // what all may take together
};

// Fails with invalid_argument, also if the kernels that the options name don't run here.
Status check_load_options(const LoadOptions& options);
// Fails with unsupported_model etc. if the file can't be computed, with budget_too_small or, if
// there is no budget, out_of_memory if the memory doesn't suffice for weights that arrive so.
Result<Plan> plan_engine(const Gguf& header, const LoadOptions& options, Access access,
                         const PlanOverride& told = {});

int32_t thread_count(const LoadOptions& options);

}  // namespace sluice
