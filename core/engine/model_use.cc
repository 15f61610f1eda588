#include "engine/model_use.h"

#include "models/registry.h"

namespace sluice {

Result<ModelUse> model_use(const Gguf& header) {
  SLUICE_ASSIGN(const auto model, make_model(header));
  return ModelUse{model->makes(), model->pooling(), model->vector_width()};
}

}  // namespace sluice
