// Small vocabularies for the tiny models, made from rules. They are enough to write English.
#pragma once

#include <cstdint>

#include "tiny_models.h"

namespace sluice {

// Puts tokenizer.ggml.* for a vocabulary of n tokens into the file's metadata.
void add_vocabulary(GgufBuilder& file, Vocabulary vocabulary, uint32_t n);

}  // namespace sluice
