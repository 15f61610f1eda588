// What to do when a text doesn't fit the context.
#pragma once

#include <string_view>

#include "engine.h"

namespace sluice::cli {

// The core's figures with advice for a command line: `advice`, like "shorten the prompt", and which
// -c this model takes, if that helps. Another error than context_full stays as it is.
Error with_context_advice(const Engine& engine, std::string_view advice, Error error);

}  // namespace sluice::cli
