// Advice for a text that doesn't fit the context.
#pragma once

#include <string_view>

#include "engine.h"

namespace sluice::cli {

// Replaces the advice in a context_full error by advice for a command line: `advice`, like "shorten
// the prompt", and the -c that this model takes, if that helps. Other errors stay unchanged.
Error with_context_advice(const Engine& engine, std::string_view advice, Error error);

}  // namespace sluice::cli
