// The engine that fuzz_session's sessions belong to, and the bytes of a session.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "engine.h"
#include "fuzz_support.h"
#include "make/tiny_models.h"
#include "support/drive.h"
#include "support/stream.h"

namespace sluice {

// `kv`: the type of its keys and values, as a session's file has it: 0 f32, 1 f16, 2 q8_0.
// `windows`: its layer sees a window only.
inline std::unique_ptr<Engine> session_engine(size_t kv, bool windows) {
  const char* const types[] = {"f32", "f16", "q8_0"};
  TinyModel model = tiny_model_named(windows ? "gemma3-q8_0" : "llama-q8_0");
  model.n_layers = 1;
  const std::string bytes = build_tiny_model(model);
  LoadOptions options;
  options.threads = 1;
  options.context_size = 16;
  options.kv_type = types[kv];
  auto engine = Engine::create(options, {bytes.size()});
  require(engine.has_value());
  Stream stream(**engine);
  require(stream.push(as_bytes(bytes)).has_value());
  require((*engine)->identify().value_or(false));
  return std::move(*engine);
}

inline std::vector<uint8_t> session_bytes(const Session& session) {
  const auto writer = session.save();
  require(writer.has_value());
  std::vector<uint8_t> bytes(static_cast<size_t>((*writer)->bytes()));
  require((*writer)->next(bytes) == bytes.size());
  return bytes;
}

// Steps to the end. False: a number overflowed.
inline bool finish_session(Session& session) {
  const auto finish = drive(session, [](const Event&) {});
  require(finish || finish.error().code == Code::bad_file);
  return finish.has_value();
}

}  // namespace sluice
