// Notes of a model and its run that its header already tells.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace sluice {

// Adds a note if a context is longer than the one that the model was trained for.
void add_context_note(uint64_t context, uint64_t trained, Notes& notes);

}  // namespace sluice
