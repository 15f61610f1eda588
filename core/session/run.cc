// The runs of a session, in slices: computing passes and sampling tokens.
#include <algorithm>

#include "base/format.h"
#include "session/logits.h"
#include "session/session_state.h"

namespace sluice {

// Ends the run: after an overflow what it gives would be meaningless.
std::unexpected<Error> overflow(std::string_view where) {
  return fail(Code::bad_file, "the model's numbers overflow in ", where,
              ": its weights are finite, but too large to compute with. The file is damaged or was "
              "converted wrongly: download it again or take another file");
}

Result<bool> Session::State::slice() {
  if (!run->encoding) return compute_slice();
  SLUICE_TRY(encode_slice());
  return true;
}

Weights::Cursor& Session::State::weights_cursor() {
  std::unique_ptr<Weights::Cursor>& cursor = run->cursor.weights;
  if (cursor == nullptr) cursor = std::make_unique<Weights::Cursor>(*runtime.weights);
  return *cursor;
}

// True if the slot is resident. It stays so for this slice. If false, the slice ends.
bool Session::State::reach_slot(int slot) {
  // If all weights are resident, they stay so without cursors, which would take a hundredth of a
  // small model's time for a token.
  if (runtime.weights->slots_resident() && !run->clock.waiting_since) return true;
  const bool moves = weights_cursor().slot() != slot;
  const bool here = weights_cursor().move_to(slot);
  // If it waits again, others may count as paused now, and more is wanted.
  if (moves || !here) runtime.wake_source();
  record_waiting(!here);
  // Its place is another slot's later.
  if (here && !runtime.weights->stays(slot) && runtime.identity->lacks(slot))
    runtime.identity->take(*runtime.weights, slot);
  return here;
}

// The slots of the experts that the layer's router chose are used next.
void Session::State::choose_slots() {
  if (runtime.weights->slots_resident()) return;
  std::vector<int> slots;
  for (size_t stage = 1; stage < pass.stages.size(); ++stage) {
    const int slot = runtime.pass->slot(pass, run->cursor.layer, stage);
    if (runtime.model->manifest().is_optional(slot)) slots.push_back(slot);
  }
  weights_cursor().choose(std::move(slots));
}

// The same for rows of the embedding.
bool Session::State::reach_rows(std::span<const TokenId> rows) {
  const bool here = weights_cursor().reach_rows(rows);
  if (!here) runtime.wake_source();
  record_waiting(!here);
  return here;
}

void Session::State::record_waiting(bool waiting) {
  RunClock& clock = run->clock;
  if (waiting || clock.waiting_since) clock.add_waiting(waiting);
  stats.waited_ms = clock.waited_ms;
}

Status Session::State::begin_pass() {
  if (run->texts) return begin_texts();
  PassCursor& cursor = run->cursor;
  // Before anything changes, so that a session that is refused keeps what it has.
  SLUICE_TRY(check_memory_for(cursor.begin, cursor.end, cursor.n_tokens()));
  timeline.cut(static_cast<int64_t>(cursor.begin));
  timeline.mark_later(cursor.mark_ahead());
  SLUICE_TRY(runtime.pass->begin(pass, timeline, cursor.pass_tokens()));
  if (run->results.attention == cursor.begin) pass.attention = rows_given.attention.as<float>();
  cursor.start_pass();
  run->clock.mark.reset();
  return {};
}

bool Session::State::brings_rows() const {
  return runtime.model->single_rows() && !runtime.weights->all_resident();
}

// Embeds the tokens of the pass, at most as many at a time as rows are held; one block, if that
// takes long. False: it waits for rows.
Result<bool> Session::State::embed() {
  PassCursor& cursor = run->cursor;
  const bool by_rows = brings_rows(), slow = runtime.model->all_inputs() > 0;
  const int64_t begin = cursor.embedded;
  while (cursor.embedded < pass.n_tokens && !(slow && cursor.embedded > begin)) {
    int64_t n = pass.n_tokens - cursor.embedded;
    if (slow) n = std::min(n, Pass::kBlockTokens);
    if (by_rows) {
      n = std::min(n, runtime.row_places);
      const auto first = static_cast<size_t>(cursor.embedded);
      if (!reach_rows(cursor.pass_tokens().subspan(first, static_cast<size_t>(n)))) return false;
    }
    if (!runtime.pass->embed(pass, cursor.embedded, n)) return overflow("the embedding");
    if (by_rows) weights_cursor().rows_used();
    cursor.embedded += n;
  }
  return true;
}

// A slice of a pass: all layers for a single token; else about one block of one stage of a layer.
// False: it waits for weights.
Result<bool> Session::State::compute_slice() {
  if (run->head_alone) return head_slice();
  PassCursor& cursor = run->cursor;
  RunClock& clock = run->clock;
  if (!cursor.pass_started) {
    if (!reach_slot(runtime.model->embedding_slot())) return false;
    SLUICE_TRY(begin_pass());
  }
  SLUICE_ASSIGN(const bool rows_here, embed());
  if (!rows_here) return false;
  if (cursor.embedded < pass.n_tokens) return true;
  const bool whole = cursor.n_tokens() == 1;
  const bool decoding = whole && run->generation;
  // Includes waiting for streamed layers; not measured during the first load.
  if (decoding && cursor.layer == 0 && !clock.decode_pass && runtime.weights->ready())
    clock.decode_pass.emplace();
  runtime.pool->limit(decoding ? runtime.tuner.threads() : runtime.pool->size());
  const int64_t enough = std::min(pass.n_tokens, Pass::kBlockTokens);
  for (int64_t computed = 0; cursor.layer < n_layers_now();) {
    const int slot = runtime.pass->slot(pass, cursor.layer, cursor.stage);
    if (slot >= 0 && !reach_slot(slot)) return false;
    if (!whole) mark_progress();
    const size_t stage = cursor.stage;
    const int64_t layer = cursor.layer, n_blocks = runtime.pass->n_blocks(pass, stage);
    if (!runtime.pass->run_block(pass, layer, stage, cursor.block))
      return overflow(concat("layer ", layer));
    computed += std::min(pass.stages[stage].n_tokens, enough);
    cursor.next_block(n_blocks, pass.stages.size());
    if (stage == 0 && cursor.stage == 1 && runtime.model->experts().n > 0) choose_slots();
    if (cursor.layer > layer) {
      pass.stages.resize(1);
      keep_hidden(layer);
    }
    // Of an expert there may be few tokens.
    if (!whole && computed >= enough) return true;
  }
  SLUICE_ASSIGN(const ResultSlice results, run_results());
  if (results != ResultSlice::done) return results == ResultSlice::computed;
  SLUICE_TRY(after_pass());
  if (clock.decode_pass) runtime.tuner.add(clock.decode_pass->seconds());
  clock.decode_pass.reset();
  return true;
}

Status Session::State::check_memory_for(size_t begin, size_t end, size_t pass_tokens,
                                        const ResultBytes* results, std::string_view with) const {
  uint64_t more = timeline.growth(static_cast<int64_t>(begin), static_cast<int64_t>(end));
  const uint64_t x = Pass::state_bytes(*runtime.model, static_cast<int64_t>(pass_tokens));
  if (x > pass.x.size()) more += x - pass.x.size();
  more += runtime.unplanned_ropes(static_cast<int64_t>(end)) - runtime.unplanned_ropes();
  if (results != nullptr) more += results->total();
  const uint64_t freed = results != nullptr ? rows_given.bytes() : 0;
  return runtime.check_memory(more > freed ? more - freed : 0, end,
                              concat("a session of ", counted(end, "token"), with));
}

// What the prompt took, at the rate of the tokens that were computed.
void Session::State::record_prompt() {
  RunClock& clock = run->clock;
  clock.prompt_ms = std::max(clock.worked_ms(clock.started, Clock::now()), 1e-6);
  const auto computed = run->cursor.n_prompt - static_cast<size_t>(stats.reused_tokens);
  stats.prompt_tps = static_cast<double>(computed) / clock.prompt_ms * 1e3;
}

// A run that gives results has computed all of its tokens.
void Session::State::finish_prompt() {
  record_prompt();
  run->finish = Finish::length;
}

Status Session::State::after_pass() {
  PassCursor& cursor = run->cursor;
  if (run->texts) {
    after_texts();
    return {};
  }
  timeline.commit();
  cursor.pass_started = false;
  const bool prompt_done = cursor.end >= cursor.n_prompt;
  if (cursor.end == cursor.n_prompt && cursor.mark == cursor.n_prompt) timeline.mark();
  if (run->gives_results()) {
    cursor.begin = cursor.end;
    cursor.end = cursor.next_end();
    if (prompt_done) {
      compact_logits();
      finish_prompt();
    }
    return {};
  }
  if (run->clock.prompt_ms == 0) record_prompt();
  if (run->generation->options().max_tokens == 0) {
    run->finish = Finish::length;
    return {};
  }
  return sample_token();
}

// Samples the next token from the logits and decides whether the run ends.
Status Session::State::sample_token() {
  PassCursor& cursor = run->cursor;
  RunClock& clock = run->clock;
  Generation& generation = *run->generation;
  const GenerateOptions& options = generation.options();
  const std::span<const float> all(rows_given.logits.as<float>(), static_cast<size_t>(n_vocab()));
  const uint64_t draws = generation.draws();
  const TokenId id = generation.next_token(all, cursor.tokens, stats.reasoning_tokens);
  if (generation.is_end_token(id)) {
    run->finish = generation.flush_text() ? Finish::stop : Finish::eos;
    return {};
  }
  Event event;
  event.kind = Event::Kind::token;
  event.id = id;
  const double log_sum = log_sum_exp(*runtime.kernels, all);
  event.logprob = static_cast<float>(static_cast<double>(all[static_cast<size_t>(id)]) - log_sum);
  if (options.top_logprobs > 0) event.top = best_logprobs(all, options.top_logprobs, log_sum);
  if (options.trace > 0) {
    event.raw = raw_logits(*runtime.kernels, all, options.trace);
    event.raw->draws = draws;
  }

  clock.last_token = Clock::now();
  if (stats.tokens == 0) {
    clock.first_token = clock.last_token;
    stats.ttft_ms = clock.worked_ms(clock.asked, clock.first_token);
  } else {
    stats.tps = static_cast<double>(stats.tokens) /
                std::max(milliseconds(clock.first_token, clock.last_token), 1e-6) * 1e3;
  }
  ++stats.tokens;
  stats.reasoning_tokens += generation.thinking();
  cursor.tokens.push_back(id);
  if (generation.add_token(std::move(event))) {
    run->finish = Finish::stop;
  } else if (stats.tokens == options.max_tokens) {
    run->finish = generation.flush_text() ? Finish::stop : Finish::length;
  } else if (cursor.tokens.size() >= runtime.context_size) {
    run->finish = generation.flush_text() ? Finish::stop : Finish::context;
  }
  cursor.begin = cursor.tokens.size() - 1;
  cursor.end = cursor.tokens.size();
  run->results.logits.chosen = {cursor.begin};
  if (!run->finish && brings_rows() && !weights_cursor().expect_rows(cursor.pass_tokens()))
    runtime.wake_source();
  return {};
}

}  // namespace sluice
