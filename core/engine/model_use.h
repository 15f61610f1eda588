// What a model makes of texts, from its header.
#pragma once  // face

#include <cstdint>

#include "base/makes.h"
#include "base/result.h"
#include "gguf/gguf.h"

namespace sluice {

struct ModelUse {
  ModelMakes makes;
  Pooling pooling = Pooling::none;  // as Engine::file_pooling()
  int64_t vector_width = 0;         // as Engine::vector_width()
};

// Fails as loading would, but for its memory.
Result<ModelUse> model_use(const Gguf& header);

}  // namespace sluice
