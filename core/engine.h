// Sluice's only public header: what the program and the wasm module are built on.
//
// An Engine is a model with its weights; a Session is a timeline of it (tokens, KV cache, a run).
// A session is driven in small slices: start() says what to do, step() does a bounded piece of work
// and reports. Nothing blocks for long, nothing throws, nothing calls back; a caller that wants to
// stop calls cancel(). An Engine and its sessions are used by one thread at a time; the engine owns
// its worker threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice {

// What engine_inside.h shows more of.
class File;
class Tokenizer;
struct Config;
struct Gguf;
struct PhaseTime;
struct Want;

using TokenId = int32_t;  // an index into a model's vocabulary

// How a source brings the file: a stream has each byte once, in the file's order.
enum class Arrival : uint8_t { file_order, any_order };

struct LoadOptions {
  // The load options of options.json.
  // Tokens that prompt and answer may have together; 1 to 1048576; 0: the model's own, at most
  // 4096.
  uint32_t context_size = 0;
  // Worker threads; 1 to 64; 0: one for each core, at most 8, or fewer where they decode faster.
  int32_t threads = 0;
  // Of the threads as many decode as do it fastest.
  bool tune_threads = false;
  // What the KV cache holds; f32, f16 or q8_0.
  std::string kv_type = "f16";
  // Memory that the model may take; where it needs more, loading fails at once with
  // budget_too_small; 0: what the machine has.
  uint64_t memory_budget = 0;
  // The kernel table to use, by name: in a browser 'wasm-simd', or 'wasm-relaxed' with a relaxed
  // flavour; "": the best that runs here.
  std::string kernels;
  // (The end of the load options.)

  // What of the model is in memory at a time, for a source that goes on serving wants: a stream is
  // refused with budget_too_small, a file that open() reads with invalid_argument. Where not all is
  // held, loaded() stays false.
  int32_t layer_places = 0;  // layers, and parts of the head; the others take turns. 0: all
  int32_t head_parts = 0;    // pieces that the head comes in. 0: one
  // Rows of the embedding. 0: all. Needed where a head in parts is the embedding, too.
  int64_t embedding_rows = 0;
  bool profile = false;  // count where the time goes, for Engine::take_profile
  // Where Engine::open counts the bytes that it has read, for another thread to show.
  std::atomic<uint64_t>* bytes_read = nullptr;
};

struct GenerateOptions {
  // The generate options of options.json.
  // Tokens to write at most; -1: until the text or the context ends.
  int64_t max_tokens = -1;
  // How even the odds are; 0 takes the likeliest token; 0 to 100.
  float temperature = 0.8f;
  // Choose among the K likeliest tokens; 0: all.
  int32_t top_k = 40;
  // Choose among the likeliest that make up P together; 1: all; 0 to 1.
  float top_p = 0.95f;
  // Leave out tokens less likely than P times the likeliest; 0: none; 0 to 1.
  float min_p = 0.05f;
  // Divides the odds of the last 64 tokens; 1: off; 0.01 to 100.
  float repeat_penalty = 1.f;
  // The same seed gives the same text on every machine.
  std::optional<uint64_t> seed;
  // Ends the text before this one; several may be given; at most 64, each of 1 to 1024 bytes.
  std::vector<std::string> stop;
  // Go on where the model would end.
  bool ignore_eos = false;
  // Special tokens written out in the text count as such.
  bool special = false;
  // Gives with each token the N likeliest ones (the program with --json); 0 to 100.
  int32_t top_logprobs = 0;
  // (The end of the generate options.)
};

enum class Finish { eos, length, stop, aborted, context };
std::string_view finish_name(Finish finish);

// What one step() brought.
struct Event {
  enum class Kind {
    working,  // part of the prompt is encoded or computed
    waiting,  // the weights that come next have not arrived yet
    token,
    done,
  };
  Kind kind = Kind::working;
  // token: `text` is valid UTF-8 and never half a character or part of a stop string; it may be "".
  TokenId id = -1;
  std::string text;
  float logprob = 0;                           // of the raw logits
  std::vector<std::pair<TokenId, float>> top;  // top_logprobs best, best first
  Finish finish = Finish::eos;                 // done
};

// Field names in JSON are the library's: kernels, threads, loadMs, ttftMs, ...
struct Stats {
  std::string kernels;
  int32_t threads = 0;         // that there are
  int32_t decode_threads = 0;  // of them, those that decode now: as many as do it fastest
  uint32_t context_size = 0;
  double load_ms = 0;
  double ttft_ms = 0;         // start() to the first token, without waited_ms
  double waited_ms = 0;       // of the last run: for weights that had not arrived
  int64_t prompt_tokens = 0;  // of the last run, with those reused from the cache
  int64_t reused_tokens = 0;
  double prompt_tps = 0;  // computed prompt tokens a second, without waited_ms
  int64_t tokens = 0;     // generated
  double tps = 0;
  uint64_t resident_bytes = 0;  // weights that have arrived, KV cache and activations held now
  uint64_t streamed_bytes = 0;
  uint64_t bytes_per_token = 0;  // weight bytes read to decode one token
  uint64_t seed = 0;
};

struct LoadProgress {
  uint64_t loaded = 0;  // bytes of the file that are there
  uint64_t total = 0;   // 0 while unknown
  int32_t layers_ready = 0;
  int32_t layers_total = 0;
};

// Bytes that a model will take, from its header alone.
struct MemoryPlan {
  uint64_t weights = 0;
  uint64_t kv = 0;           // for the whole context
  uint64_t activations = 0;  // for the longest slice of a prompt
  uint64_t constant = 0;     // threads' scratch, tables, tokenizer
  uint64_t total() const { return weights + kv + activations + constant; }
  // Held from the start; cache and activations grow with the text.
  uint64_t start() const { return weights + constant; }
};

class Session;

class Engine {
 public:
  // --- loading -------------------------------------------------------------------------------
  // A file, read and packed at once (native builds only; bad_file where it can't be read, or gets
  // shorter meanwhile). `file` isn't needed afterwards.
  static Result<std::unique_ptr<Engine>> open(const std::string& path, const LoadOptions& options);
  static Result<std::unique_ptr<Engine>> open(const File& file, const LoadOptions& options);
  // An engine whose file is brought by the caller, a source that serves wants. file_size 0:
  // unknown. Options are validated here.
  static Result<std::unique_ptr<Engine>> create(const LoadOptions& options, uint64_t file_size,
                                                Arrival arrival = Arrival::file_order);
  ~Engine();

  // What is wanted next, and where it goes (a Want): first the header, in one piece of
  // which any part, from its beginning on, may be filled, and whose rest is void once
  // header_ready(); then the weights, in the order of execution, each want once.
  std::vector<Want> wants(uint64_t bytes);
  // The n bytes from `offset` on are where wants() said. Fails when they show that the file is no
  // good; the engine is then of no more use. Once header_ready(), both may be called by several
  // threads, also while step() computes. An empty answer of wants() doesn't mean that nothing more
  // will be wanted, unless loaded().
  Status filled(uint64_t offset, uint64_t n);
  // The source has no more than `size` bytes: bad_file if that isn't all.
  Status end_of_file(uint64_t size);
  bool header_ready() const;  // the header is here: everything below works, start() too
  bool loaded() const;        // all weights are resident
  LoadProgress progress() const;

  // --- the model -----------------------------------------------------------------------------
  const Gguf& header() const;
  const Config& config() const;
  const Tokenizer& tokenizer() const;
  uint32_t context_size() const;
  MemoryPlan memory_plan() const;
  Stats stats() const;
  // What a user should know of this model and engine, a sentence or two each: the tokenizer's
  // warning, a context beyond the model's own, fewer threads than asked for. Empty before
  // header_ready().
  std::vector<std::string> notes() const;
  // What each phase of the computing has taken since the last call; nothing unless loaded with
  // LoadOptions::profile.
  std::vector<PhaseTime> take_profile();

  // --- running -------------------------------------------------------------------------------
  // The engine's own session, only once header_ready(); what follows is that session's. Before
  // header_ready() a start fails with invalid_argument.
  Session& session();
  Status start(std::span<const TokenId> prompt, const GenerateOptions& options);
  Status start(std::string_view prompt, const GenerateOptions& options);
  Status start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions = false);
  Result<Event> step();
  void cancel();
  bool running() const;
  std::span<const float> logits() const;
  void reset();

 private:
  friend class Session;
  Engine();
  struct State;
  std::unique_ptr<State> state_;
};

// A timeline of an engine's model: its tokens, the state that they left in every layer, its run.
// Any number of sessions may live; they share the model and its weights and, by slices, its
// threads: whoever has several that run calls step() of each in turn, and each gets the bits that
// it would get alone. All are used by the engine's one thread. The engine outlives them.
class Session {
 public:
  // Without a token. The engine must be header_ready().
  explicit Session(Engine& engine);
  ~Session();
  // With the same tokens and no run; busy while this one runs. The layers' state is shared until
  // one of the two writes to it, chunk by chunk.
  Result<std::unique_ptr<Session>> clone() const;

  // Begins a generation after `prompt` (taken as it is, or encoded with the prefix that the file
  // asks for). invalid_argument for bad options, ids outside the vocabulary or an empty prompt;
  // context_full when the prompt leaves no room; busy while another runs. What the prompt shares
  // with the cache is not computed again. A long text is encoded by the first calls of step(),
  // which then fail in the same ways; context_full comes as soon as it is certain.
  Status start(std::span<const TokenId> prompt, const GenerateOptions& options);
  Status start(std::string_view prompt, const GenerateOptions& options);
  // Begins computing logits[n_vocab] of the last of `ids` (all_positions: of each), `batch` tokens
  // a pass (0: all in one). The cache is not used, but left filled.
  Status start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions = false);
  // One slice of the work: some text of the prompt encoded, at most one layer of one block of it,
  // or one token. With nothing started: Event done.
  Result<Event> step();
  // Ends what runs; the cache stays consistent. The next step() gives done, aborted, with no more
  // text.
  void cancel();
  bool running() const;
  // After done of start_logits: [n_vocab] of the last position, or [ids][n_vocab] with
  // all_positions.
  std::span<const float> logits() const;
  // Forgets all tokens (memory stays).
  void reset() { truncate(0); }

  // --- its tokens ----------------------------------------------------------------------------
  // Those that have a state; a run adds to them. Valid until the next call that isn't const.
  std::span<const TokenId> tokens() const;
  // Forgets all but the first n tokens; a run that is under way ends without another event.
  void truncate(size_t n);
  // Of the last run, and of the engine.
  Stats stats() const;
  // Of memory: what it shares with clones counts in equal parts.
  uint64_t held_bytes() const;

 private:
  friend class Engine;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// FNV-1a (64 bits) over logits as little-endian f32, as 16 hexadecimal digits.
std::string logits_hash(std::span<const float> logits);
// The n best of one position's logits with their log-probabilities, best first.
std::vector<std::pair<TokenId, float>> top_logprobs(std::span<const float> logits, int n);

// --- JSON, the same for the program and the library ----------------------------------------------
// Options by their names in options.json. Unknown names, wrong types and values out of range are
// invalid_argument; "" and "{}" are the defaults.
Result<LoadOptions> load_options_from_json(std::string_view json);
Result<GenerateOptions> generate_options_from_json(std::string_view json);
std::string event_json(const Event& event,
                       const Stats& stats);  // DESIGN 5: token, done; working and waiting likewise
std::string stats_json(const Stats& stats);
// Of one position's logits {"top":[[id,logprob],..]}, the `top` best; with `hash` their hash, too:
// {"hash":"..","top":[..]}.
std::string logits_json(std::span<const float> logits, int top, bool hash);
std::string notes_json(const std::vector<std::string>& notes);  // ["..",..]
std::string error_json(const Error& error);  // {"event":"error","code":..,"message":..}
}  // namespace sluice
