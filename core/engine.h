// Sluice's only public header. The program and the wasm module are built on it.
//
// An Engine is a model with its weights. A Session is a timeline of that model: its tokens, its KV
// cache and its run. Session::start() begins a run, each step() does a small piece of it and
// returns what came of it, and cancel() ends it. Except open(), wait() and wait_ready(), no call
// blocks for long. Nothing throws, or calls back but to a PackedKeeper.
//
// Threads: only one at a time may use an engine and its sessions. Meanwhile any other thread may
// call has_layout(), has_tokenizer(), ready(), loaded() and progress(), and once has_layout() also
// those that bring weights (wants, filled, filled_packed, row_wants, rows_filled, end_of_file) and
// files() and memory_plan(). The engine has worker threads of its own.
#pragma once  // face

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/makes.h"
#include "base/result.h"
#include "options/options.h"
#include "sample/raw_logits.h"

namespace sluice {

// Types of the core, each in a header of its own.
class ModelFiles;
class Observer;
class PackedKeeper;
class Tokenizer;
struct AttentionLayer;
struct FilePlace;
struct Gguf;
struct PhaseTime;
struct ReplyFormat;
struct Results;
struct Runtime;
struct StatesWanted;
struct Want;

// How the caller brings the bytes of the file. sequential: each byte once, in the file's order.
// any_order: each byte once. rereadable: any bytes, as often as they are wanted; only then can a
// model be larger than its memory.
enum class Access : uint8_t { sequential, any_order, rereadable };

enum class Finish { eos, length, stop, aborted, context };
std::string_view finish_name(Finish finish);

// The result of a step().
struct Event {
  enum class Kind {
    working,  // part of the prompt is encoded or computed
    waiting,  // the weights that are needed next have not arrived yet
    token,
    done,
  };
  Kind kind = Kind::working;
  // Of a token. `text` is valid UTF-8 without a half character or a part of a stop text; may be "".
  TokenId id = -1;
  std::string text;
  float logprob = 0;                           // of the raw logits
  std::vector<std::pair<TokenId, float>> top;  // the top_logprobs likeliest, best first
  // Of a token of a reply: it belongs to the reasoning. The marks around that do as well, and have
  // no text.
  bool reasoning = false;
  std::optional<RawLogits> raw;  // with GenerateOptions::trace: what it was chosen from
  Finish finish = Finish::eos;   // of done
};

// In JSON the fields have the library's names: kernels, threads, loadMs, ttftMs, ...
struct Stats {
  std::string kernels;
  int32_t threads = 0;         // the caller's thread is one of them
  int32_t decode_threads = 0;  // how many of them decode now
  uint32_t context_size = 0;
  double load_ms = 0;
  double ttft_ms = 0;            // from when the run was asked for (start(), or `asked` of
                                 // start_reply()) to its first token, without waited_ms
  double waited_ms = 0;          // time that the last run waited for weights
  int64_t prompt_tokens = 0;     // of the last run, with reused_tokens
  int64_t reused_tokens = 0;     // prompt tokens that the cache had already
  double prompt_tps = 0;         // prompt tokens computed per second, without waited_ms and without
                                 // the time to encode the prompt
  int64_t tokens = 0;            // generated
  int64_t reasoning_tokens = 0;  // of these, the ones of a reply's reasoning
  double tps = 0;                // tokens generated per second, after the first one
  uint64_t resident_bytes = 0;   // memory held now: weights, scratch, activations, sessions
  uint64_t reread_bytes = 0;     // of weights that were read again since the last run began
  uint64_t memory_budget = 0;    // 0: none
  uint64_t bytes_per_token = 0;  // weight bytes read to decode one token
  uint64_t seed = 0;
};

// How far the prompt of a run is.
struct PromptProgress {
  // Tokens, with those that were reused: the share of the pass that is computed, of its tokens (a
  // pass takes all of them through one layer after the other). It never falls, and becomes `total`.
  int64_t computed = 0;
  int64_t total = 0;                   // 0 until the prompt's text is encoded
  int64_t reused = 0;                  // that the cache had already
  std::optional<double> seconds_left;  // at the rate so far; none before a layer was computed
  bool waiting = false;                // for weights that have not arrived yet
};

struct LoadProgress {
  uint64_t loaded = 0;   // bytes of the file that have arrived
  uint64_t total = 0;    // 0 while unknown; without a table of which only single rows come
  uint64_t brought = 0;  // bytes that have arrived, those that came again as well
  int32_t layers_ready = 0;
  int32_t layers_total = 0;
};

// How a part of the model is doing: an embedding's vectors, a layer, (a part of) the head, or the
// embedding's table where it comes last.
struct SlotView {  // a layer's has its experts'
  enum class Kind : uint8_t { embedding, layer, head, table };
  enum class State : uint8_t { absent, arriving, resident, computing };
  Kind kind = Kind::layer;
  State state = State::absent;
  uint64_t bytes = 0;    // of the file
  uint64_t arrived = 0;  // of these, since it last began to arrive
  bool reread = false;   // it shares places with others and is read again for every pass
  double fills = 0;      // how often it has become resident; with experts the mean of its bytes
};

// Bytes that a model takes, computed from its header: with LoadOptions::sessions that fill the
// context, one of them with the logits of LoadOptions::logit_positions.
//
// Whatever else sessions want is taken from what is left (Engine::memory_left), and what all of
// them have counts together: a session that is half full leaves room for another. A start or a
// step() for which there is too little left fails with out_of_memory and the figures; it takes
// nothing, and the session keeps what it has.
struct MemoryPlan {
  uint32_t context_size = 0;  // tokens: Engine::context_size()
  // Tokens of the longest text that kv and activations are for: the context's. A model that writes
  // no text has one as long as it allows, unless another was asked for: of this, at most 4096. The
  // memory of a longer text is taken when it comes, if it is there.
  uint32_t planned_tokens = 0;
  uint64_t weights = 0;
  uint64_t kv = 0;           // keys and values of all sessions, for planned_tokens, and what
                             // recurrent layers keep
  uint64_t kv_chunk = 0;     // of kv, what each 256 tokens of the context add; the rest, of windows
                             // and of recurrent states, is bounded, however long the context
  uint64_t activations = 0;  // for a prompt of planned_tokens, and the logits
  uint64_t constant = 0;     // threads' scratch, header, tokenizer, code and stacks
  uint64_t budget = 0;       // that was asked for; 0: none
  uint64_t least = 0;        // the least budget that would do with this context; total() where the
                             // bytes come only once, because all of them must then be in memory
  uint64_t all = 0;          // total() if all weights stayed in memory
  // Bytes that are read again for every pass; of experts those that a token uses, at most.
  uint64_t reread = 0;
  uint64_t per_token = 0;  // weight bytes read to decode one token
  uint64_t left_out = 0;   // bytes of the file in a table of which only rows are read
  uint64_t session = 0;    // what a further session takes at most, of keys and values, activations
                           // and logits of one position
  uint64_t total() const { return weights + kv + activations + constant; }
  // Held before the first token; cache and activations grow with the text.
  uint64_t before_first_token() const { return weights + constant; }
};

class Session;
class SessionWriter;

class Engine {
 public:
  // --- loading -------------------------------------------------------------------------------
  // Opens a model on disk (native builds only). Returns when has_tokenizer(),
  // so that sessions can run; threads of the engine's own go on to read the
  // weights, in the order of execution. `path` may be any file of a split model,
  // NAME-0000I-of-0000N.gguf; the others must be beside it. Fails with bad_file if a file can't be
  // read or becomes shorter meanwhile, and as filled() does; what fails later is returned by
  // step(), wait() and wait_ready().
  static Result<std::unique_ptr<Engine>> open(const std::string& path, const LoadOptions& options);
  static Result<std::unique_ptr<Engine>> open(ModelFiles files, const LoadOptions& options);
  // When step() has returned `waiting`: blocks until more weights have arrived, for 0.1 s at most.
  // Then step() is worth another try. For an engine that was opened.
  Status wait();
  // Blocks until ready(). For an engine that was opened.
  Status wait_ready();
  // Makes an engine whose file the caller brings: see wants(). `file_sizes` has the size of each
  // file that the caller brings, 0 if unknown: one, or all files of a split model in their order.
  // If it is empty, the first header says how many there are. Fails with invalid_argument if an
  // option is wrong.
  //
  // The files of a split model lie end to end, as one: all offsets here are in that space, and
  // files() tells where each begins.
  static Result<std::unique_ptr<Engine>> create(const LoadOptions& options,
                                                std::vector<uint64_t> file_sizes,
                                                Access access = Access::sequential);
  ~Engine();

  // The bytes of the file that are needed next, and where they go. Before has_layout() there is
  // one want, the next bytes of the header: fill any part of it from its beginning on, then ask
  // again. (After the header of a split model's first file comes that of the second, and so on.
  // Bytes behind a header are taken as weights, up to the end of that file.) After that come wants
  // of weights, about `bytes` bytes, in the order of execution, each once. If there are none now,
  // more may come later, until loaded(): ask again after filled(), step() and cancel().
  std::vector<Want> wants(uint64_t bytes);
  // Call this when the n bytes from `offset` on are in place. Fails if they show that the file
  // can't be used; the engine can't be used then, either. Once has_layout(), any thread may call
  // this and its kin, also during build_tokenizer() and step().
  Status filled(uint64_t offset, uint64_t n);
  // The same for rows of the embedding that a prompt waits for, and of a table that gives each
  // layer an input of its own, which for a rereadable source never comes whole. They are needed
  // before all wants() and may be a part of these, too. None while the header is read.
  std::vector<Want> row_wants();
  Status rows_filled(uint64_t offset, uint64_t n);
  // Weights that are read again needn't be packed again: filled() gives `keeper` (null: nobody)
  // chunks that can be kept, and brought with filled_packed() when they are wanted again
  // (Weights::keep_packed). No thread may call filled() meanwhile.
  void keep_packed(PackedKeeper* keeper);
  // As filled(), for what a PackedKeeper was given by a core with the same kPackedLayout.
  Status filled_packed(uint64_t offset, uint64_t n);
  // The file has only `size` bytes. (Of a split model: one of its files ends at this offset.) Fails
  // with bad_file if some are missing.
  Status end_of_file(uint64_t size);
  bool has_layout() const;  // the weights have places, so wants() gives them
  // Call this once, after has_layout(). It takes 0.1 s for a large vocabulary, so let the weights
  // come meanwhile. Fails with bad_file; the engine can't be used then.
  Status build_tokenizer();
  bool has_tokenizer() const;  // the vocabulary is built: all functions below work, sessions too
  bool ready() const;          // all weights that can stay in memory are there, too
  // All weights are: nothing more is wanted. Never under a budget that is too small for all, and
  // never of a model with a table of which only single rows come, as long as text is written.
  bool loaded() const;
  // The files known so far, in their order; see create(). While a header is read, the last one is
  // its file, with 0 bytes.
  std::span<const FilePlace> files() const;
  // Of all files together: as create() was told, otherwise as their headers say; 0 while neither
  // is known. More than progress().total if a table is not loaded.
  uint64_t file_bytes() const;
  LoadProgress progress() const;
  // What tells this model from others in a session's file (weights/identity.h). True: it is known.
  // False: it waits for weights, as a step() that returns `waiting` does, then call it again. If
  // weights are read again for every token, this may read all of them once. While it is false, the
  // engine's sessions wait for it, too: go on, or give up with stop_identifying().
  Result<bool> identify();
  void stop_identifying();
  // Once identify() has returned true: the same model has the same number, however it was loaded.
  uint64_t identity() const;
  std::vector<SlotView> slots() const;  // in the order of execution; none before has_layout()

  // --- the model -----------------------------------------------------------------------------
  const Gguf& header() const;
  // The context that the model was trained for; 0: its file doesn't say.
  uint64_t trained_context() const;
  const Tokenizer& tokenizer() const;
  uint32_t context_size() const;
  // What the model makes of texts, how its file pools vectors (Session::start_vectors), and how
  // many numbers these have.
  ModelMakes makes() const;
  Pooling file_pooling() const;
  int64_t vector_width() const;
  int64_t state_width() const;  // the numbers of a hidden state: n_embd
  MemoryPlan memory_plan() const;
  // Bytes that sessions can still take: of the budget (without one, of the machine's memory) what
  // is neither the model's nor in a session. 0 before has_layout().
  uint64_t memory_left() const;
  Stats stats() const;
  // What one should know of the model and its run (base/result.h): the tokenizer's warnings,
  // sampling values of the file that can't be used, a context longer than the model's own, fewer
  // threads than asked for. Empty before has_tokenizer().
  Notes notes() const;
  // The time that each phase has taken since the last call. Empty without LoadOptions::profile.
  std::vector<PhaseTime> take_profile();

  // --- running -------------------------------------------------------------------------------
  // The engine's own session, which exists once has_tokenizer(). Others may be made besides.
  Session& session();

 private:
  friend class Session;
  friend class SessionReader;
  friend struct PlannedEngine;  // of the tests: says what stays in memory
  Engine();
  Runtime& runtime();
  struct State;
  std::unique_ptr<State> state_;
};

// A timeline of an engine's model: its tokens, the state that they left in every layer, and its
// run. An engine may have any number of sessions, which share its model, weights and threads. To
// run several, call step() of each in turn: each gives the same bits as it would alone. Only one
// thread at a time may use an engine's sessions. The engine must outlive them.
class Session {
 public:
  // A session without tokens. The engine must be has_tokenizer().
  explicit Session(Engine& engine);
  ~Session();
  // A session with the same tokens and no run. The two share the state of the layers; a chunk is
  // copied when one of them writes to it. Fails with busy during a run, or with out_of_memory.
  Result<std::unique_ptr<Session>> clone() const;

  // Begins to generate after `prompt`: ids as they are, or a text, which is encoded and gets the
  // prefix that the file asks for. Fails with invalid_argument for bad options, ids outside the
  // vocabulary or an empty prompt; with context_full if the prompt leaves no room; with busy during
  // a run. Tokens at the prompt's beginning that the session has already are not computed again.
  // The first calls of step() encode a long text and may fail in the same ways. Fails with
  // out_of_memory if too little is left of the memory for the prompt (MemoryPlan); so may step()
  // when the text grows.
  Status start(std::span<const TokenId> prompt, const GenerateOptions& options);
  Status start(std::string_view prompt, const GenerateOptions& options);
  // As start(), for a reply to a chat. `format` (reply/find_format.h finds it) says what ends the
  // reply and what of it is reasoning. Reasoning of more than `thinking_tokens` is ended by writing
  // its end mark; 0: at once, -1: never. Stop texts are looked for in the content alone. `asked`:
  // when the reply was asked for, so that ttft_ms counts the time to make the prompt; nothing: now.
  Status start_reply(std::span<const TokenId> prompt, const GenerateOptions& options,
                     const ReplyFormat& format, int64_t thinking_tokens = -1,
                     std::optional<std::chrono::steady_clock::time_point> asked = {});
  // Begins to compute the logits [n_vocab] of the last of `ids`, or of each with all_positions.
  // Each pass computes `batch` tokens (0: all; a model that writes no text has one pass). All ids
  // are computed; they are the session's tokens afterwards. Fails as start() does. The logits of
  // all positions take 4 * n_vocab bytes for each: say so when the model is loaded
  // (LoadOptions::logit_positions). They are freed by the next run.
  Status start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions = false);
  // The same for other results, or several (session/results.h says which there are). Also fails
  // with invalid_argument for positions or layers that aren't there, and with unsupported_model if
  // the model has no head and is to give logits. With Results::reuse not all ids are computed.
  Status start_results(std::span<const TokenId> ids, int64_t batch, const Results& wanted);
  // Begins to compute a vector of each text: of its ids, as they are, the rows of the final norm,
  // pooled; not normed to length 1. Texts are computed side by side, in their order, as many in a
  // pass as the memory and `batch` tokens allow (0: chosen), and at least one. Each has the same
  // bits as it has alone. The session's tokens stay. prompt_progress() counts the tokens of all
  // texts. Fails with invalid_argument for no text, an empty one or ids outside the vocabulary,
  // with context_full for a text longer than the context, with busy during a run, and with
  // out_of_memory; so may step().
  Status start_vectors(std::vector<std::vector<TokenId>> texts, Pooling pooling, int64_t batch = 0);
  // The same for hidden states of each text (session/states.h), in place of a vector, of all
  // models. Layers behind the last one that is wanted aren't computed. Also fails with
  // invalid_argument for layers that aren't there.
  Status start_states(std::vector<std::vector<TokenId>> texts, const StatesWanted& wanted,
                      int64_t batch = 0);
  // Begins to compute the logits that the head makes of `rows`, [n][n_embd] of the residual stream
  // as start_results gives them of a layer (hidden(), which stays and may be `rows`): by final
  // norm, head, scale and cap. logits() has [n][n_vocab] after done. The session's tokens stay, and
  // prompt_progress() counts none. Fails with invalid_argument for no row, a part of one, or
  // numbers that aren't finite or are 2^48 or more, with unsupported_model if the model writes no
  // text, with busy during a run, and with out_of_memory.
  Status start_head(std::span<const float> rows);
  // Begins to generate after all that the session has, where its last run ended: the last token
  // that was written is the next to be computed. Without a seed the random numbers go on as well,
  // as if that run had not ended. Fails as start() does, with invalid_argument if there is nothing.
  Status resume(const GenerateOptions& options);
  // Does a slice of the work: encodes a part of the prompt's text, computes one layer or one part
  // of the head for one block of tokens, or computes one token. Returns done if there is no run.
  Result<Event> step();
  // Ends the run. The next step() returns done with Finish::aborted and no more text. The session
  // keeps the tokens that were computed.
  void cancel();
  bool running() const;
  // The results of start_logits or start_results, after done and until the next run begins; empty
  // where none were asked for. (Those of start_head: see there.) logits() has [n_vocab] of each
  // position that was asked for, hidden() [layers][positions][n_embd], pooled() [n_embd], and
  // attention() [attention_layers()][heads][position + 1].
  std::span<const float> logits() const;
  std::span<const float> hidden() const;
  std::span<const float> pooled() const;
  std::span<const float> attention() const;
  // The model's layers that attend, ascending. Others have something else in its place.
  std::vector<AttentionLayer> attention_layers() const;
  // The results of start_vectors or start_states, those of the texts that are done so far, the
  // first texts_done(): Engine::vector_width() numbers of each, or [layers][positions][n_embd].
  // Until the next run begins.
  std::span<const float> vectors() const;
  std::span<const float> states() const;
  size_t texts_done() const;
  // Forgets all tokens. The memory stays.
  void reset() { truncate(0); }

  // --- its tokens ----------------------------------------------------------------------------
  // The tokens whose state the session has. A run adds to them. Valid until the next call that
  // isn't const.
  std::span<const TokenId> tokens() const;
  // tokens(), and the token that was written last, whose state it doesn't have yet.
  std::vector<TokenId> written() const;
  // So many tokens stand before what the current run writes, or the last one wrote; 0 if none did.
  // Presence and frequency penalties count those behind them.
  size_t answer_begin() const;
  // How many tokens of a prompt a run need not compute: those that it shares with tokens(), as far
  // back as the state lets a run go on. At most prompt.size() - 1, because the last token is always
  // computed; 0 for an empty prompt. Fewer than are shared if layers with a window have let go of
  // the state before.
  size_t reusable(std::span<const TokenId> prompt) const;
  // Keeps the first n tokens. A run ends without another event.
  void truncate(size_t n);
  // The session as a file, from which SessionReader makes it again. Fails with busy during a run,
  // or with invalid_argument unless the engine is identified (Engine::identify).
  Result<std::unique_ptr<SessionWriter>> save() const;
  // For a store that keeps the session while it grows: the session in pieces of 256 positions, from
  // which SessionReader makes it again, one after the other. Each is a file of its own. A piece
  // that is not the last never changes unless tokens do. Fails as save() does, and with
  // invalid_argument unless there are more than `piece` pieces.
  Result<std::unique_ptr<SessionWriter>> save_piece(size_t piece) const;
  size_t pieces() const;
  uint64_t piece_bytes() const;  // the most bytes that a piece can have
  // Figures of the last run and of the engine.
  Stats stats() const;
  // Of the run; nothing if there is none.
  PromptProgress prompt_progress() const;
  // Bytes of memory. What n sessions share counts 1 / n in each.
  uint64_t held_bytes() const;

 private:
  friend class Engine;
  friend class SessionReader;
  friend class SessionWriter;
  friend struct Runtime;
  friend Status set_observer(Session& session, Observer* observer);
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The bytes of a saved session, piece by piece; session/session_file.h describes them. The session
// may go on meanwhile: the two share its past as clones do. The engine must outlive it.
class SessionWriter {
 public:
  ~SessionWriter();
  uint64_t bytes() const;  // of the whole file
  // Writes the next bytes to `out`, as many as fit; 0: there are no more.
  size_t next(std::span<uint8_t> out);

 private:
  friend class Session;
  struct State;
  explicit SessionWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Makes a session from the bytes of such a file, which may be hostile. It may have been written
// with other kernels, threads or options, but for the same model and type of the KV cache. Memory
// is taken as bytes come. The engine must be identified, and outlive this.
class SessionReader {
 public:
  // `file_bytes`: 0 if unknown. The engine must have its tokenizer. With `onto`, the file is the
  // piece that follows the tokens of that session of this engine. The session may go meanwhile, or
  // change: push() and finish() then fail, and it keeps what it has.
  explicit SessionReader(Engine& engine, uint64_t file_bytes = 0, Session* onto = nullptr);
  ~SessionReader();
  // Takes the next bytes. Fails with bad_file if they are damaged; with invalid_argument if they
  // belong to another model, were computed in another way, or are of a newer version; with
  // context_full if the session is longer than the engine's context; with out_of_memory; of a piece
  // with busy while its session runs, and with invalid_argument if that is gone or of another
  // engine. All later calls then fail in the same way.
  Status push(std::span<const uint8_t> bytes);
  // The session, once all bytes were taken; call it once. Fails with bad_file if some are missing.
  // Of a piece: null, and its session has the tokens and their state only now. Fails with
  // bad_file, too, if the piece doesn't follow that session's tokens any more, else as push() does.
  Result<std::unique_ptr<Session>> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// FNV-1a (64 bits) over logits as little-endian f32, as 16 hexadecimal digits.
std::string logits_hash(std::span<const float> logits);
// The n likeliest tokens of one position with their log-probabilities, best first.
std::vector<std::pair<TokenId, float>> top_logprobs(std::span<const float> logits, int n);
// What a token is chosen from at one position: its n best logits, with the figures of all. The same
// bits as Event::raw, but for `draws`, which stays 0.
RawLogits raw_logits(std::span<const float> logits, int n);

}  // namespace sluice
