// The state of a session, for its own source files and the engine's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "engine.h"
#include "session/generation.h"
#include "session/pass_cursor.h"
#include "session/result_rows.h"
#include "session/run_clock.h"
#include "session/runtime.h"
#include "session/vectors.h"
#include "state/timeline.h"

namespace sluice {

// A prompt's text while it is encoded, and how to generate after it.
struct PromptEncoding {
  PromptEncoding(const Tokenizer& tokenizer, std::string_view of, const GenerateOptions& how)
      : text(of), options(how), encoding(tokenizer, text, how.special) {}
  PromptEncoding(const PromptEncoding&) = delete;
  PromptEncoding& operator=(const PromptEncoding&) = delete;
  std::string text;
  GenerateOptions options;
  Encoding encoding;
};

// The run that start() began, and how far it has come. A text is encoded first (`encoding`); then
// the run generates (`generation`). A run over given tokens has neither.
struct Run {
  std::optional<PromptEncoding> encoding;
  PassCursor cursor;
  Results results;  // one that generates: the logits of the last token
  std::optional<Generation> generation;
  // Of a run that makes vectors of texts, or gives states of them.
  std::optional<TextRun> texts;
  bool head_alone = false;  // it gives the logits of rows (Session::start_head)
  RunClock clock;
  uint64_t refilled_before = 0;  // Weights::refilled_bytes() when it began
  bool cancelled = false;
  std::optional<Finish> finish;  // once decided; the generation's events come first

  bool gives_results() const { return !encoding && !generation; }
  bool has_events() const { return generation && !generation->events.empty(); }
};

// What a run leaves behind for one that goes on after it (Session::resume).
struct ResumePoint {
  std::optional<TokenId> last;   // the last token that was written; it isn't computed yet
  std::optional<uint64_t> seed;  // of the last run that generated
  uint64_t draws = 0;            // of that seed's random numbers
  std::optional<size_t> answer;  // so many tokens stand before what that run wrote
};

// The error of a pass that computes numbers that are too large. `where`: in what part of the model.
std::unexpected<Error> overflow(std::string_view where);

struct Session::State {
  explicit State(Runtime& of);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Runtime& runtime;
  Timeline timeline;
  ResumePoint resume_point;
  PassState pass;
  std::optional<Run> run;
  ResultRows rows_given;
  Stats stats;

  int64_t n_vocab() const { return runtime.n_vocab(); }
  int64_t n_embd() const { return runtime.model->config().n_embd; }
  uint64_t held_bytes() const {
    const uint64_t texts = run && run->texts ? run->texts->bytes() : 0;
    return timeline.bytes() + pass.x.size() + rows_given.bytes() + texts;
  }
  // Whether there is memory for passes of `pass_tokens` over the positions from `begin` to `end`,
  // and for these results instead of those that the session has (null: it keeps them). Fails with
  // out_of_memory, naming the session and `with`.
  Status check_memory_for(size_t begin, size_t end, size_t pass_tokens,
                          const ResultBytes* results = nullptr, std::string_view with = "") const;
  // The layers that the run's passes go through: to the last one whose states are wanted, or all.
  int64_t n_layers_now() const {
    const bool fewer = run->texts && run->texts->states;
    return fewer ? run->texts->states->layers.back() + 1 : runtime.n_layers();
  }
  // The slot that a pass under way computes; -1: none is.
  int slot_now() const { return run ? run->cursor.slot(*runtime.model) : -1; }

  // Beginning a run (session/session.cc).
  Status check_idle() const;  // fails with busy during a run
  size_t reusable(std::span<const TokenId> prompt) const;
  Status check_room(const Encoding& encoding) const;
  Status encode_slice();
  // `mark`: of PassCursor, if it lies behind what is reused; else the prompt's end.
  Status begin(std::span<const TokenId> prompt, const GenerateOptions& how, Clock::time_point asked,
               const ResumePoint& from = {}, size_t mark = SIZE_MAX);
  Run& reset_run(Clock::time_point asked);
  void end_run();

  // Its slices (session/run.cc). False: it waits for weights.
  Result<bool> slice();
  Result<bool> compute_slice();
  Weights::Cursor& weights_cursor();
  bool reach_slot(int slot);
  void choose_slots();
  bool reach_rows(std::span<const TokenId> rows);
  void record_waiting(bool waiting);
  void mark_progress();
  Status begin_pass();
  bool brings_rows() const;
  Result<bool> embed();
  Status after_pass();
  void record_prompt();
  void finish_prompt();
  Status sample_token();

  // What it gives (session/results.cc). How such a slice ended: it waits for weights, it has
  // computed a part, or all is done.
  enum class ResultSlice : uint8_t { waits, computed, done };
  Result<ResultSlice> run_results();
  Result<ResultSlice> run_head();
  bool run_output();
  bool reach_head();
  void keep_hidden(int64_t layer);
  float* hidden_row(int64_t layer_index, size_t row) const;
  size_t logits_stride() const;
  void compact_logits();

  // Rows that the head alone is for (session/head.cc).
  Result<bool> head_slice();

  // Vectors (session/vectors.cc) and states (session/states.cc) of several texts.
  class StatesKeeper;
  Status start_texts(TextRun texts, std::vector<std::vector<TokenId>> ids, int64_t batch);
  uint64_t pass_growth(const TextRun& of, std::span<const PassText> texts) const;
  Status begin_texts();
  Result<ResultSlice> run_vectors();
  bool pool_texts();
  bool pool_texts(float* vectors);
  void after_texts();

  // Its file (session/writer.cc).
  Result<std::unique_ptr<SessionWriter>> make_writer(bool piece, size_t first) const;
};

}  // namespace sluice
