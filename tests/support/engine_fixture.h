// Engines for tests of an engine's behaviour: one with a tiny model with random weights, and one
// with the bundled model, which writes real text.
#pragma once

#include <memory>
#include <string>

#include "make/tiny_models.h"
#include "model_test.h"

namespace sluice {

inline const std::string& tiny_bytes() {
  static const std::string bytes = build_tiny_model(tiny_model_named("qwen2-q8_0"));
  return bytes;
}

inline LoadOptions small(uint32_t context = 0) {
  LoadOptions options;
  options.threads = 1;
  options.context_size = context;
  return options;
}

inline std::unique_ptr<Engine> tiny_engine(uint32_t context = 0) {
  return load_bytes(tiny_bytes(), small(context));
}

inline std::unique_ptr<Engine> stories() {
  LoadOptions options;
  options.threads = 2;
  return open_file(std::string(SLUICE_ROOT) + "/web/app/public/models/stories-q8_0.gguf", options);
}

}  // namespace sluice
