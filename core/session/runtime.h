// What the sessions of an engine share: the model, its weights, the threads and the memory.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "engine.h"
#include "models/registry.h"
#include "pass/pass.h"
#include "session/thread_tuner.h"
#include "text/tokenizer.h"
#include "weights/identity.h"
#include "weights/weights.h"
#include "weights/weights_source.h"

namespace sluice {

// The kernels and what was asked for are there from the beginning; the tokenizer comes last, all
// else with the header. Sessions exist only once there is a tokenizer.
struct Runtime {
  const Kernels* kernels = nullptr;
  KvType kv_type = KvType::f32;
  uint64_t memory_budget = 0;    // that was asked for; 0: none
  uint64_t snapshot_memory = 0;  // of each session, for marks besides the ends of prompts

  std::unique_ptr<const Model> model;
  std::optional<Tokenizer> tokenizer;
  std::optional<Weights> weights;
  std::optional<Identity> identity;
  std::optional<Pass> pass;
  uint32_t context_size = 0;
  uint64_t memory_limit = 0;       // the budget or, if that is less, what the machine has
  uint64_t fixed_memory = 0;       // what is planned for all but the sessions
  uint64_t planned_ropes = 0;      // of fixed_memory: the tables of RoPE
  uint64_t bytes_per_token = 0;    // weight bytes read to decode one token
  int64_t row_places = 0;          // rows of the embedding that can be brought alone at a time
  std::atomic<double> load_ms{0};  // any thread may bring the last weights
  ThreadTuner tuner{1, false};
  std::vector<const Session::State*> sessions;  // all of this engine

  // Of an engine that was opened, until all weights are resident. `seen`: the arrivals before the
  // first step() since wait().
  std::unique_ptr<WeightsSource> source;
  std::optional<uint64_t> seen;

  std::unique_ptr<Pool> pool;  // last, so that its threads end before the data that they read

  int64_t n_layers() const { return model->config().n_layers; }
  int64_t n_vocab() const { return model->config().n_vocab; }
  // Fails as reading has failed. Ends the source's threads when they have nothing more to do.
  Status check_or_close_source();
  void wake_source() {
    if (source != nullptr) source->wake();
  }
  // What comes after this is seen by the next wait().
  void note_arrivals() {
    if (source != nullptr && !seen) seen = weights->arrivals();
  }
  // Bytes that the tables of RoPE have beyond what is planned, or will have for positions below
  // `end`.
  uint64_t unplanned_ropes(int64_t end = 0) const;
  uint64_t session_memory() const;  // that sessions hold now
  uint64_t memory_left() const;
  // Whether a session may take so many bytes more, for `tokens` in all. Fails with out_of_memory,
  // naming what they are for.
  Status check_memory(uint64_t more, uint64_t tokens, std::string_view what) const;
  // Whether sessions keep a past, which can be saved. Fails with unsupported_model.
  Status check_keeps() const;
  void add_to(Stats& stats) const;  // the fields that aren't a session's
};

}  // namespace sluice
