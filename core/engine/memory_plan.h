// The memory that a file takes, from its header.
#pragma once  // face

#include "engine.h"

namespace sluice {

// Fails as loading would (unsupported_type, ...), but doesn't check the budget. Unless the model's
// bytes can be read again all weights stay, also a table of which only rows are needed; `least` is
// still what would do if they could.
Result<MemoryPlan> plan_memory(const Gguf& header, const LoadOptions& options,
                               Access access = Access::rereadable);
// Whether a model whose bytes come so can be loaded here: fails as loading would, also with
// budget_too_small and out_of_memory.
Status check_memory(const Gguf& header, const LoadOptions& options, Access access);

}  // namespace sluice
