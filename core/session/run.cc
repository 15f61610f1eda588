// The runs of a session, in slices: computing passes, sampling tokens, and the text that is
// certain.
#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "base/math.h"
#include "base/stopwatch.h"
#include "engine/engine_state.h"

namespace sluice {
namespace {

// Ends the run: after an overflow the text would be meaningless.
std::unexpected<Error> overflow(std::string_view where) {
  return fail(Code::bad_file, "the model's numbers overflow in ", where,
              ": its weights are finite, but too large to compute with. The file is damaged or was "
              "converted wrongly: download it again or take another file");
}

}  // namespace

double log_sum_exp(const Kernels& kernels, std::span<const float> logits) {
  const auto n = static_cast<int64_t>(logits.size());
  const float max = kernels.max(logits.data(), n);
  return static_cast<double>(max) +
         log_f64(static_cast<double>(kernels.sum_exp(logits.data(), n, max)));
}

// False: it waits for weights.
Result<bool> Session::State::slice() {
  if (!run.prompt) return compute_slice();
  SLUICE_TRY(encode_slice());
  return true;
}

void Run::release(std::vector<ReplyText>& texts) {
  for (ReplyText& one : texts) {
    undecided.front().text = std::move(one.text);
    undecided.front().reasoning = one.reasoning;
    events.push_back(std::move(undecided.front()));
    undecided.pop_front();
  }
}

bool Run::add_token(Event event) {
  std::vector<ReplyText> certain;
  const bool stopped = text.push(event.id, certain);
  undecided.push_back(std::move(event));
  release(certain);
  return stopped;
}

bool Run::flush_text() {
  std::vector<ReplyText> certain;
  const bool stopped = text.flush(certain);
  release(certain);
  return stopped;
}

void Run::add_waiting(bool go_on) {
  const Clock::time_point now = Clock::now();
  if (waiting_since) waited_ms += milliseconds(*waiting_since, now);
  waiting_since = go_on ? std::optional(now) : std::nullopt;
}

Weights::Cursor& Session::State::cursor() {
  if (run.cursor == nullptr) run.cursor = std::make_unique<Weights::Cursor>(*engine.weights);
  return *run.cursor;
}

// True if the slot is resident. It stays so until the run comes to another. If false, the slice
// ends.
bool Session::State::come_to_slot(int slot) {
  // If all weights are resident, they stay so without cursors, which would take a hundredth of a
  // small model's time for a token.
  if (engine.weights->resident() && !run.waiting_since) return true;
  const bool moves = cursor().slot() != slot;
  const bool here = cursor().at(slot);
  if (moves && engine.source != nullptr) engine.source->wake();
  record_waiting(!here);
  // Later another slot has this one's place.
  if (here && !engine.weights->stays(slot) && engine.identity->lacks(slot))
    engine.identity->take(*engine.weights, slot);
  return here;
}

// The same for rows of the embedding.
bool Session::State::come_to_rows(std::span<const TokenId> rows) {
  const bool here = cursor().rows(rows);
  if (!here && engine.source != nullptr) engine.source->wake();
  record_waiting(!here);
  return here;
}

int Session::State::slot_now() const {
  if (!run.pass_started) return -1;
  const Model& model = *engine.model;
  if (run.layer < engine.n_layers()) return model.layer_slot(run.layer);
  return model.head_part_slot(std::min(run.head_part, model.n_head_parts() - 1));
}

void Session::State::record_waiting(bool waiting) {
  if (waiting || run.waiting_since) run.add_waiting(waiting);
  stats.waited_ms = run.waited_ms;
}

Status Session::State::begin_pass() {
  // Before anything changes, so that a session that is refused keeps what it has.
  SLUICE_TRY(admit(run.pass_begin, run.pass_end, run.pass_end - run.pass_begin, 0));
  // truncate() may keep fewer positions than it was asked to. Those are computed again.
  run.pass_begin = static_cast<size_t>(cache.truncate(static_cast<int64_t>(run.pass_begin)));
  cached.resize(std::min(cached.size(), run.pass_begin));
  SLUICE_TRY(engine.pass->begin(
      pass, cache, std::span(run.tokens).subspan(run.pass_begin, run.pass_end - run.pass_begin)));
  run.pass_started = true;
  run.embedded = run.layer = run.block = 0;
  run.head_part = 0;
  run.mark.reset();
  return {};
}

// Embeds the tokens of the pass, at most as many at a time as rows are held. False: it waits for
// rows.
bool Session::State::embed() {
  const bool by_rows = engine.model->single_rows() && !engine.weights->resident();
  while (run.embedded < pass.n_tokens) {
    int64_t n = pass.n_tokens - run.embedded;
    if (by_rows) {
      n = std::min(n, engine.row_places);
      const size_t first = run.pass_begin + static_cast<size_t>(run.embedded);
      if (!come_to_rows(std::span(run.tokens).subspan(first, static_cast<size_t>(n)))) return false;
    }
    engine.pass->embed(pass, run.embedded, n);
    if (by_rows) cursor().rows_used();
    run.embedded += n;
  }
  return true;
}

// A slice of a pass: all layers for a single token, else one block of one layer. False: it waits
// for weights.
Result<bool> Session::State::compute_slice() {
  if (!run.pass_started) {
    if (!come_to_slot(engine.model->embedding_slot())) return false;
    SLUICE_TRY(begin_pass());
  }
  if (!embed()) return false;
  const bool whole = run.pass_end - run.pass_begin == 1;
  const bool decoding = whole && run.kind == Run::Kind::generate;
  // With the time that it waits for layers that take turns. While weights are still arriving for
  // the first time, it would say nothing.
  if (decoding && run.layer == 0 && !run.pass_watch && engine.weights->ready())
    run.pass_watch.emplace();
  engine.pool->limit(decoding ? engine.tuner.threads() : engine.pool->size());
  while (run.layer < engine.n_layers()) {
    if (!come_to_slot(engine.model->layer_slot(run.layer))) return false;
    if (!whole) mark_progress();
    if (!engine.pass->run_block(pass, run.layer, run.block))
      return overflow(concat("layer ", run.layer));
    if (++run.block == engine.pass->n_blocks(pass)) {
      run.block = 0;
      ++run.layer;
    }
    if (!whole) return true;
  }
  SLUICE_ASSIGN(const bool head_done, run_head());
  if (!head_done) return false;
  SLUICE_TRY(after_pass());
  if (run.pass_watch) engine.tuner.add(run.pass_watch->seconds());
  run.pass_watch.reset();
  return true;
}

// Computes the logits that are needed of this pass, one part of the head after the other. A
// generation needs those of the last token. A logits run needs those of all tokens, or only of the
// prompt's last. False: it waits for weights.
Result<bool> Session::State::run_head() {
  const bool generating = run.kind == Run::Kind::generate;
  if (generating) SLUICE_TRY(make_room_for_logits(1));
  const size_t end = run.pass_end;
  const size_t first = run.all_positions                   ? run.pass_begin
                       : generating || end == run.n_prompt ? end - 1
                                                           : end;
  if (first == end) return true;
  for (; run.head_part < engine.model->n_head_parts(); ++run.head_part) {
    // The norm is in the head's own slot. If that has parts, it stays once it is resident, and the
    // run doesn't go back to it.
    const int head = engine.model->head_slot();
    if (engine.weights->state(head) != SlotState::resident && !come_to_slot(head)) return false;
    if (!come_to_slot(engine.model->head_part_slot(run.head_part))) return false;
    for (size_t i = first; i < end; ++i) {
      float* out = logits.as<float>() + (run.all_positions ? i : 0) * logits_stride();
      const auto index = static_cast<int64_t>(i - run.pass_begin);
      if (!engine.pass->run_head(pass, index, run.head_part, out)) return overflow("the head");
    }
  }
  return true;
}

// Floats from one row of logits to the next while they are computed: whole strips.
size_t Session::State::logits_stride() const { return static_cast<size_t>(padded_rows(n_vocab())); }

uint64_t Session::State::logits_bytes(size_t rows) const {
  return 4 * static_cast<uint64_t>(rows) * logits_stride();
}

Status Session::State::make_room_for_logits(size_t rows) {
  const uint64_t bytes = logits_bytes(rows);
  if (logits.size() == bytes) return {};
  logits = AlignedBuffer();  // so that there aren't two at a time
  SLUICE_ASSIGN(logits, AlignedBuffer::allocate(bytes, "the logits"));
  return {};
}

Status Session::State::admit(size_t begin, size_t end, size_t pass_tokens, size_t rows) const {
  uint64_t more = cache.growth(static_cast<int64_t>(begin), static_cast<int64_t>(end));
  const uint64_t x = 4 * pass_tokens * static_cast<uint64_t>(engine.model->config().n_embd);
  if (x > pass.x.size()) more += x - pass.x.size();
  if (rows > 0) more += logits_bytes(rows);
  const uint64_t freed = rows > 0 ? logits.size() : 0;
  return engine.admit(more > freed ? more - freed : 0, end,
                      concat("a session of ", counted(end, "token"),
                             rows > 1 ? concat(" with the logits of ", rows, " positions") : ""));
}

// Moves the rows of logits together, [rows][n_vocab], as logits() returns them.
void Session::State::compact_logits() {
  const auto n = static_cast<size_t>(n_vocab());
  if (n == logits_stride()) return;
  for (size_t row = 1; row * n < n_logits; ++row)
    std::memmove(logits.as<float>() + row * n, logits.as<float>() + row * logits_stride(), 4 * n);
}

Status Session::State::after_pass() {
  cached.insert(cached.end(), run.tokens.begin() + static_cast<ptrdiff_t>(run.pass_begin),
                run.tokens.begin() + static_cast<ptrdiff_t>(run.pass_end));
  run.pass_started = false;
  const bool prompt_done = run.pass_end >= run.n_prompt;
  if (run.kind == Run::Kind::logits) {
    run.pass_begin = run.pass_end;
    run.pass_end = std::min(run.n_prompt, run.pass_begin + run.batch);
    if (prompt_done) {
      compact_logits();
      run.prompt_ms = run.worked_ms(run.started, Clock::now());
      stats.prompt_tps = static_cast<double>(run.n_prompt) / std::max(run.prompt_ms, 1e-6) * 1e3;
      run.finish = Finish::length;
    }
    return {};
  }
  if (run.prompt_ms == 0) {
    run.prompt_ms = std::max(run.worked_ms(run.started, Clock::now()), 1e-6);
    stats.prompt_tps =
        static_cast<double>(run.n_prompt - static_cast<size_t>(stats.reused_tokens)) /
        run.prompt_ms * 1e3;
  }
  if (run.options.max_tokens == 0) {
    run.finish = Finish::length;
    return {};
  }
  return sample_token();
}

// The likeliest or a random token, or the next one of those that end a reasoning that is too long.
TokenId Session::State::next_token(std::span<const float> all) {
  const bool too_long = run.thinking_tokens >= 0 && stats.reasoning_tokens >= run.thinking_tokens;
  if (too_long && run.text.thinking()) {
    run.thinking_tokens = -1;
    for (const TokenId id : engine.tokenizer->encode(run.think_close, true))
      run.forced_tokens.push_back(id);
  }
  if (run.forced_tokens.empty()) return run.sampler->sample(all, run.tokens);
  const TokenId id = run.forced_tokens.front();
  run.forced_tokens.pop_front();
  return id;
}

bool Session::State::ends_run(TokenId id) const {
  if (run.options.ignore_eos) return false;
  return engine.tokenizer->is_end(id) ||
         std::ranges::find(run.end_tokens, id) != run.end_tokens.end();
}

// Samples the next token from the logits and decides whether the run ends.
Status Session::State::sample_token() {
  const std::span<const float> all(logits.as<float>(), static_cast<size_t>(n_vocab()));
  const TokenId id = next_token(all);
  if (ends_run(id)) {
    run.finish = run.flush_text() ? Finish::stop : Finish::eos;
    return {};
  }
  Event event;
  event.kind = Event::Kind::token;
  event.id = id;
  const double log_sum = log_sum_exp(*engine.kernels, all);
  event.logprob = static_cast<float>(static_cast<double>(all[static_cast<size_t>(id)]) - log_sum);
  if (run.options.top_logprobs > 0)
    event.top = best_logprobs(all, run.options.top_logprobs, log_sum);

  run.last_token = Clock::now();
  if (stats.tokens == 0) {
    run.first_token = run.last_token;
    stats.ttft_ms = run.worked_ms(run.asked, run.first_token);
  } else {
    stats.tps = static_cast<double>(stats.tokens) /
                std::max(milliseconds(run.first_token, run.last_token), 1e-6) * 1e3;
  }
  ++stats.tokens;
  stats.reasoning_tokens += run.text.thinking();
  run.tokens.push_back(id);
  if (run.add_token(std::move(event))) {
    run.finish = Finish::stop;
  } else if (stats.tokens == run.options.max_tokens) {
    run.finish = run.flush_text() ? Finish::stop : Finish::length;
  } else if (run.tokens.size() >= engine.context_size) {
    run.finish = run.flush_text() ? Finish::stop : Finish::context;
  }
  run.pass_begin = run.tokens.size() - 1;
  run.pass_end = run.tokens.size();
  return {};
}

void Session::State::end_run() {
  stats.reread_bytes = engine.weights->refilled_bytes() - run.refilled_before;
  if (run.sampler) {
    resume_point.seed = stats.seed;
    resume_point.draws = run.sampler->draws();
    resume_point.answer = run.answer;
    if (run.tokens.size() > run.n_prompt && run.tokens.size() == cached.size() + 1)
      resume_point.last = run.tokens.back();
  }
  run = Run();
  // Places may be free again.
  if (engine.source != nullptr) engine.source->wake();
}

}  // namespace sluice
