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

// A model whose head has a bias, a scale and a cap.
inline std::string bent_bytes() {
  GgufBuilder file = tiny_model_file(tiny_model_named("gemma3-q8_0"));
  file.kv_f32("gemma3.final_logit_softcapping", 0.75f);
  const auto n_vocab = static_cast<size_t>(file.find_tensor("token_embd.weight").dims[1]);
  file.tensor("output.bias", Type::F32, {n_vocab}, bytes_of(test_values(n_vocab, 3)));
  file.tensor("output.scale", Type::F32, {1}, bytes_of(std::vector<float>{0.625f}));
  return file.build();
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
