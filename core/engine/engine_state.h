// The state of Engine and Session, for their own source files.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "engine.h"
#include "gguf/gguf.h"
#include "gguf/model_parser.h"
#include "models/registry.h"
#include "pass/pass.h"
#include "reply/pending_text.h"
#include "sample/sampler.h"
#include "session/thread_tuner.h"
#include "state/kv_cache.h"
#include "weights/identity.h"
#include "weights/weights.h"
#include "weights/weights_source.h"

namespace sluice {

using Clock = std::chrono::steady_clock;
inline double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// A prompt's text while it is encoded.
struct PromptEncoding {
  PromptEncoding(const Tokenizer& tokenizer, std::string_view of, bool special)
      : text(of), encoding(tokenizer, text, special) {}
  PromptEncoding(const PromptEncoding&) = delete;
  PromptEncoding& operator=(const PromptEncoding&) = delete;
  std::string text;
  Encoding encoding;
};

// The run that start() began, and how far it has come: a pass takes several slices.
struct Run {
  enum class Kind { none, generate, logits };
  Kind kind = Kind::none;
  bool cancelled = false;
  std::unique_ptr<PromptEncoding> prompt;  // until all of it is encoded
  std::vector<TokenId> tokens;             // the prompt, then what was generated
  size_t n_prompt = 0;
  // The pass in progress computes tokens[pass_begin, pass_end).
  size_t pass_begin = 0;
  size_t pass_end = 0;
  bool pass_started = false;
  int64_t embedded = 0;  // tokens of the pass that are embedded
  int64_t layer = 0;
  int64_t block = 0;
  int head_part = 0;
  struct Mark {  // from where the rate of the prompt is measured
    Clock::time_point at;
    double blocks;
    bool arriving;  // weights arrived for the first time
  };
  std::optional<Mark> mark;
  std::optional<Stopwatch> pass_watch;  // of a decoding pass
  std::optional<Finish> finish;         // once decided; `events` come first
  std::deque<Event> events;

  GenerateOptions options;
  std::optional<Sampler> sampler;
  size_t answer = 0;  // so many tokens stand before the answer: n_prompt, unless it goes on
  PendingText text;
  std::deque<Event> undecided;  // tokens whose text is not certain yet
  // Of a reply.
  std::vector<TokenId> end_tokens;
  std::string think_close;
  int64_t thinking_tokens = -1;       // of reasoning, at most; -1: any number
  std::deque<TokenId> forced_tokens;  // they are written next, whatever is likely
  size_t batch = 0;                   // of a logits run: tokens per pass
  bool all_positions = false;

  Clock::time_point asked;    // when the caller asked for it
  Clock::time_point started;  // when its tokens were known
  Clock::time_point first_token;
  Clock::time_point last_token;
  double prompt_ms = 0;                            // without waited_ms
  double waited_ms = 0;                            // for weights
  std::unique_ptr<Weights::Cursor> cursor;         // while weights may be missing
  uint64_t refilled_before = 0;                    // Weights::refilled_bytes() when it began
  std::optional<Clock::time_point> waiting_since;  // while it waits: waited_ms counts up to here

  // add_token() takes the event of a token, without its text; flush_text() ends the text. Both move
  // the events whose text is certain now to `events`. True: a stop text was found.
  bool add_token(Event event);
  bool flush_text();
  void release(std::vector<ReplyText>& texts);
  // Adds the time of waiting up to now to waited_ms. `go_on`: the run still waits.
  void add_waiting(bool go_on);
  // From one time to another, without waited_ms.
  double worked_ms(Clock::time_point from, Clock::time_point to) const {
    return milliseconds(from, to) - waited_ms;
  }
};

// log(sum(exp(logits))). A logit minus this is its log-probability.
double log_sum_exp(const Kernels& kernels, std::span<const float> logits);
// Adds a note if a context is longer than the one that the model was trained for.
void add_context_note(uint64_t context, uint64_t trained, Notes& notes);

struct Engine::State {
  LoadOptions options;
  const Kernels* kernels = nullptr;
  Clock::time_point load_started;

  // Loading.
  uint64_t total_size = 0;  // of all files; 0: unknown
  Access access = Access::sequential;
  std::atomic<uint64_t> taken{0};  // bytes of the file that have arrived
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

  // The model, set once has_layout; tokenizer and session once has_tokenizer.
  std::atomic<bool> has_layout{false};
  std::atomic<bool> has_tokenizer{false};
  Gguf header;
  std::unique_ptr<const Model> model;
  std::optional<Tokenizer> tokenizer;
  std::optional<Weights> weights;
  std::optional<Identity> identity;
  std::unique_ptr<Weights::Cursor> identifying;  // while identify() waits for weights
  uint32_t context_size = 0;
  MemoryPlan plan;
  uint64_t memory_limit = 0;  // the budget or, if that is less, what the machine has
  uint64_t fixed_memory = 0;  // what is planned for all but the sessions
  int64_t row_places = 0;     // rows of the embedding that can be brought by themselves at a time

  // Running.
  std::optional<Pass> pass;
  std::atomic<double> load_ms{0};  // any thread may bring the last weights
  ThreadTuner tuner{1, false};
  std::vector<const Session::State*> sessions;  // all of this engine
  std::unique_ptr<Session> session;             // the engine's own, once has_tokenizer

  // Of an engine that was opened, until all weights are resident. `seen`: the arrivals before the
  // first step() since wait().
  std::unique_ptr<WeightsSource> source;
  std::optional<uint64_t> seen;

  std::unique_ptr<Pool> pool;  // last, so that its threads end before the data that they read

  int64_t n_layers() const { return model->config().n_layers; }
  int64_t n_vocab() const { return model->config().n_vocab; }
  Status prepare(const LoadOptions& load_options);
  std::span<uint8_t> header_place();
  Status take_header(uint64_t offset, uint64_t n);
  Status take_weights(uint64_t offset, uint64_t n, Form form);
  Status bind(Gguf&& gguf);
  Status read_vocabulary();
  void become_ready();
  void record_load_time();
  Status check_source();
  bool take_identity();
  uint64_t session_memory() const;  // that sessions hold now
  uint64_t memory_left() const;
  // Whether a session may take so many bytes more, for `tokens` in all. Fails with out_of_memory,
  // naming what they are for.
  Status admit(uint64_t more, uint64_t tokens, std::string_view what) const;
  void add_to(Stats& stats) const;  // the fields that aren't a session's
};

// What a run leaves behind for one that goes on after it (Session::resume).
struct ResumePoint {
  std::optional<TokenId> last;   // the last token that was written; it isn't computed yet
  std::optional<uint64_t> seed;  // of the last run that generated
  uint64_t draws = 0;            // of that seed's random numbers
  std::optional<size_t> answer;  // so many tokens stand before what that run wrote
};

struct Session::State {
  explicit State(Engine::State& of);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Engine::State& engine;
  // The cache has the keys and values of these tokens, and perhaps of more.
  KvCache cache;
  std::vector<TokenId> cached;
  ResumePoint resume_point;
  PassState pass;
  Run run;
  AlignedBuffer logits;
  size_t n_logits = 0;
  Stats stats;

  int64_t n_vocab() const { return engine.n_vocab(); }
  uint64_t held_bytes() const { return cache.bytes() + pass.x.size() + logits.size(); }
  // Whether there is memory for passes of `pass_tokens` over the positions from `begin` to `end`,
  // and for so many rows of logits. Fails with out_of_memory.
  Status admit(size_t begin, size_t end, size_t pass_tokens, size_t rows) const;
  int slot_now() const;  // that a pass under way is at; -1: none
  Weights::Cursor& cursor();
  bool come_to_slot(int slot);
  bool come_to_rows(std::span<const TokenId> rows);
  void record_waiting(bool waiting);
  Status check_room(const Encoding& encoding) const;
  Status encode_slice();
  Status begin(std::span<const TokenId> prompt, const GenerateOptions& how, Clock::time_point asked,
               const ResumePoint& from = {});
  void begin_run(Run::Kind kind, Clock::time_point asked);
  Result<bool> slice();
  Result<bool> compute_slice();
  double blocks_done() const;
  void mark_progress();
  Status begin_pass();
  bool embed();
  Result<bool> run_head();
  size_t logits_stride() const;
  uint64_t logits_bytes(size_t rows) const;
  Status make_room_for_logits(size_t rows);
  void compact_logits();
  Status after_pass();
  TokenId next_token(std::span<const float> all);
  bool ends_run(TokenId id) const;
  Status sample_token();
  void end_run();
  Result<std::unique_ptr<SessionWriter>> write(bool piece, size_t first) const;
};

}  // namespace sluice
