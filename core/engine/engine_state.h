// The state of Engine, for its own source files.
#pragma once  // inside

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "engine/plan_override.h"
#include "gguf/gguf.h"
#include "gguf/model_parser.h"
#include "session/clock.h"
#include "session/runtime.h"

namespace sluice {

// How a model is loaded. What its sessions need is in Runtime.
struct Engine::State : Runtime {
  // The threads that bring weights end before anything else: they write here.
  ~State() { source.reset(); }

  LoadOptions options;
  PlanOverride plan_override;  // set by tests alone
  Clock::time_point load_started;
  uint64_t total_size = 0;  // of all files; 0: unknown
  Access access = Access::sequential;
  std::atomic<uint64_t> taken{0};  // bytes of the file that have arrived
  uint64_t left_out = 0;           // of the file, that never come whole; once has_layout
  ModelParser parser;
  std::vector<uint8_t> staging;  // header bytes on their way to the parser
  size_t staged = 0;             // where the next bytes go in `staging`
  // Weights that came behind headers, before they had a place.
  struct Early {
    uint64_t offset;
    std::vector<uint8_t> bytes;
  };
  std::vector<Early> early;
  PackedKeeper* packed_keeper = nullptr;

  // Model and weights are set once has_layout; tokenizer and session once has_tokenizer.
  std::atomic<bool> has_layout{false};
  std::atomic<bool> has_tokenizer{false};
  Gguf header;
  MemoryPlan plan;
  std::unique_ptr<Weights::Cursor> identifying;  // while identify() waits for weights
  std::unique_ptr<Session> session;              // the engine's own

  Status prepare(const LoadOptions& load_options);
  Status open(ModelFiles files, const LoadOptions& load_options);
  std::span<uint8_t> header_place();
  Status take_header(uint64_t offset, uint64_t n);
  Status take_weights(uint64_t offset, uint64_t n, Form form);
  Status bind(Gguf&& gguf);
  Status read_vocabulary();
  void become_ready();
  void record_load_time();
  bool take_identity();
};

}  // namespace sluice
