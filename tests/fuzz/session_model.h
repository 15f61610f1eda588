// The engine that fuzz_session's sessions belong to, and the bytes of a session.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "engine.h"
#include "fuzz_support.h"
#include "make/tiny_models.h"
#include "session/session_file.h"
#include "support/drive.h"
#include "support/stream.h"

namespace sluice {

// What its layers keep: all keys and values; those of a window; a window's, and recurrent states;
// a window's, which a later layer reads as well; or all of one layer, and recurrent states.
enum class Kept : uint8_t { all, window, recurrent, shared, nets };
inline constexpr size_t kKinds = 5;

// `kv`: the type of its keys and values, as a session's file has it: 0 f32, 1 f16, 2 q8_0.
inline std::unique_ptr<Engine> session_engine(size_t kv, Kept kept) {
  const char* const types[] = {"f32", "f16", "q8_0"};
  const char* const names[] = {"llama-q8_0", "gemma3-q8_0", "lfm2-q8_0", "gemma4-q8_0",
                               "qwen35-q8_0"};
  const uint32_t n_layers[] = {1, 1, 3, 4, 2};
  TinyModel model = tiny_model_named(names[static_cast<size_t>(kept)]);
  model.n_layers = n_layers[static_cast<size_t>(kept)];
  if (kept == Kept::recurrent || kept == Kept::shared) model.window = 10;
  model.n_shared = kept == Kept::shared ? 1 : 0;
  model.attends = 2;
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

// The numbers in the part `kept` of a session's file whose tokens lie in one chunk.
inline size_t kept_windows(Kept kept) { return kept == Kept::all || kept == Kept::nets ? 0 : 1; }
inline size_t kept_numbers(Kept kept) {
  const bool states = kept == Kept::recurrent || kept == Kept::nets;
  return kept_windows(kept) + (states ? kPiecePositions / 8 : 0);
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
