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
#include "session/run_clock.h"
#include "session/runtime.h"
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
// the run generates (`generation`). A logits run has neither.
struct Run {
  std::optional<PromptEncoding> encoding;
  PassCursor cursor;
  std::optional<Generation> generation;
  RunClock clock;
  uint64_t refilled_before = 0;  // Weights::refilled_bytes() when it began
  bool cancelled = false;
  std::optional<Finish> finish;  // once decided; the generation's events come first

  bool computes_logits() const { return !encoding && !generation; }
  bool has_events() const { return generation && !generation->events.empty(); }
};

// What a run leaves behind for one that goes on after it (Session::resume).
struct ResumePoint {
  std::optional<TokenId> last;   // the last token that was written; it isn't computed yet
  std::optional<uint64_t> seed;  // of the last run that generated
  uint64_t draws = 0;            // of that seed's random numbers
  std::optional<size_t> answer;  // so many tokens stand before what that run wrote
};

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
  AlignedBuffer logits;
  size_t n_logits = 0;
  Stats stats;

  int64_t n_vocab() const { return runtime.n_vocab(); }
  uint64_t held_bytes() const { return timeline.bytes() + pass.x.size() + logits.size(); }
  // Whether there is memory for passes of `pass_tokens` over the positions from `begin` to `end`,
  // and for so many rows of logits. Fails with out_of_memory.
  Status check_memory_for(size_t begin, size_t end, size_t pass_tokens, size_t rows) const;
  // The slot that a pass under way computes; -1: none is.
  int slot_now() const { return run ? run->cursor.slot(*runtime.model) : -1; }

  // Beginning a run (session/session.cc).
  Status check_room(const Encoding& encoding) const;
  Status encode_slice();
  Status begin(std::span<const TokenId> prompt, const GenerateOptions& how, Clock::time_point asked,
               const ResumePoint& from = {});
  Run& reset_run(Clock::time_point asked);
  void end_run();

  // Its slices (session/run.cc). False: it waits for weights.
  Result<bool> slice();
  Result<bool> compute_slice();
  Weights::Cursor& weights_cursor();
  bool reach_slot(int slot);
  bool reach_rows(std::span<const TokenId> rows);
  void record_waiting(bool waiting);
  void mark_progress();
  Status begin_pass();
  bool embed();
  // How the head's slice ended: it waits for weights, it has computed a part, or all is done.
  enum class HeadSlice : uint8_t { waits, computed, done };
  Result<HeadSlice> run_head();
  size_t logits_stride() const;
  uint64_t logits_bytes(size_t rows) const;
  Status make_room_for_logits(size_t rows);
  void compact_logits();
  Status after_pass();
  Status sample_token();

  // Its file (session/writer.cc).
  Result<std::unique_ptr<SessionWriter>> make_writer(bool piece, size_t first) const;
};

}  // namespace sluice
