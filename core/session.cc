// Session: encodes prompts, computes passes and samples tokens, in slices.
#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "base/format.h"
#include "base/math.h"
#include "base/stopwatch.h"
#include "engine_inside.h"
#include "engine_state.h"
#include "options.h"

namespace sluice {

std::string_view finish_name(Finish finish) {
  switch (finish) {
    case Finish::eos:
      return "eos";
    case Finish::length:
      return "length";
    case Finish::stop:
      return "stop";
    case Finish::aborted:
      return "aborted";
    case Finish::context:
      return "context";
  }
  return "eos";
}

namespace {

std::unexpected<Error> busy() {
  return fail(Code::busy, "the session is generating; wait for its end or cancel it");
}

}  // namespace

// --- sessions, clones and tokens -----------------------------------------------------------------

Session::State::State(Engine::State& of)
    : engine(of), cache(of.model->layers(), kv_type_named(of.options.kv_type)) {
  engine.sessions.push_back(this);
}

Session::State::~State() { std::erase(engine.sessions, this); }

Session::Session(Engine& engine) : state_(std::make_unique<State>(*engine.state_)) {}
Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::clone() const {
  if (running()) return busy();
  const State& s = *state_;
  auto copy = std::make_unique<State>(s.engine);
  SLUICE_ASSIGN(copy->cache, s.cache.clone());
  copy->cached = s.cached;
  return std::unique_ptr<Session>(new Session(std::move(copy)));
}

std::span<const TokenId> Session::tokens() const { return state_->cached; }

void Session::truncate(size_t n) {
  State& s = *state_;
  if (running()) s.end_run(Finish::aborted);
  s.cached.resize(std::min(s.cached.size(), n));
}

uint64_t Session::held_bytes() const { return state_->held_bytes(); }

Stats Session::stats() const {
  const State& s = *state_;
  Stats stats = s.stats;
  s.engine.add_to(stats);
  if (running()) stats.streamed_bytes = s.engine.weights->refilled_bytes() - s.run.refilled_before;
  return stats;
}

// --- starting ------------------------------------------------------------------------------------

namespace {

Status check_prompt(std::span<const TokenId> ids, const Tokenizer& tokenizer) {
  if (ids.empty()) {
    return fail(Code::invalid_argument, "the prompt is empty; give at least one token");
  }
  for (const TokenId id : ids) {
    if (id < 0 || id >= tokenizer.vocab_size()) {
      return fail(Code::invalid_argument, "token ", id,
                  " is not in the vocabulary, whose ids are 0 to ", tokenizer.vocab_size() - 1);
    }
  }
  return {};
}

// Ends the run: after an overflow the text would be meaningless.
std::unexpected<Error> overflow(std::string_view where) {
  return fail(Code::bad_file, "the model's numbers overflow in ", where,
              ": its weights are finite, but too large to compute with. The file is damaged or was "
              "converted wrongly: download it again or take another file");
}

// log(sum(exp(logits))). A logit minus this is its log-probability.
double log_sum_exp(const Kernels& kernels, std::span<const float> logits) {
  const auto n = static_cast<int64_t>(logits.size());
  const float max = kernels.max(logits.data(), n);
  return static_cast<double>(max) +
         log_f64(static_cast<double>(kernels.sum_exp(logits.data(), n, max)));
}

SamplerOptions sampler_options(const GenerateOptions& options, uint64_t seed) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repeat_penalty = options.repeat_penalty,
          .seed = seed};
}

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 21 ^ device();  // below 2^53: a JavaScript number holds it
}

}  // namespace

Status Session::start(std::string_view prompt, const GenerateOptions& options) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_options(options));
  SLUICE_TRY(s.check_room(Encoding(*s.engine.tokenizer, prompt, options.special)));
  s.run = Run();
  s.run.kind = Run::Kind::generate;
  s.run.options = options;
  s.run.prompt = std::make_unique<Prompt>(*s.engine.tokenizer, prompt, options.special);
  // Encodes the first slice now, so that an error in a short prompt is returned here.
  const Status begun = s.encode_slice();
  if (!begun) s.end_run(Finish::aborted);
  return begun;
}

// Fails with context_full as soon as the text is sure to have too many tokens.
Status Session::State::check_room(const Encoding& encoding) const {
  if (encoding.min_ids() < engine.context_size) return {};
  return fail(Code::context_full, "the prompt has ", encoding.min_ids(),
              " tokens or more, but the context holds ", engine.context_size,
              " and the answer needs room, too; shorten the prompt or load with a larger context");
}

// Encodes a slice of the prompt's text. After the last slice the run begins.
Status Session::State::encode_slice() {
  if (run.prompt->encoding.step()) return check_room(run.prompt->encoding);
  const std::vector<TokenId> text = run.prompt->encoding.take();
  std::vector<TokenId> ids(engine.tokenizer->prefix().begin(), engine.tokenizer->prefix().end());
  // A text that begins with BOS itself gets no second one.
  if (!ids.empty() && !text.empty() && text.front() == ids.back()) ids.clear();
  ids.insert(ids.end(), text.begin(), text.end());
  const GenerateOptions how = std::move(run.options);
  return begin(ids, how);
}

Status Session::start(std::span<const TokenId> prompt, const GenerateOptions& options) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_options(options));
  return s.begin(prompt, options);
}

Status Session::State::begin(std::span<const TokenId> prompt, const GenerateOptions& how) {
  SLUICE_TRY(check_prompt(prompt, *engine.tokenizer));
  if (prompt.size() >= engine.context_size) {
    return fail(
        Code::context_full, "the prompt has ", counted(prompt.size(), "token"),
        ", but the context holds ", engine.context_size,
        " and the answer needs room, too; shorten the prompt or load with a larger context");
  }
  run = Run();
  run.kind = Run::Kind::generate;
  run.options = how;
  const uint64_t seed = how.seed ? *how.seed : random_seed();
  run.sampler.emplace(sampler_options(how, seed));
  run.text.start(&*engine.tokenizer, engine.tokenizer->is_special(prompt.back()), how.stop);
  run.tokens.assign(prompt.begin(), prompt.end());
  run.n_prompt = prompt.size();
  run.started = Clock::now();
  run.refilled_before = engine.weights->refilled_bytes();
  // The last token of the prompt is always computed: its logits are needed.
  const size_t limit = std::min(cached.size(), prompt.size() - 1);
  while (run.pass_begin < limit && cached[run.pass_begin] == prompt[run.pass_begin])
    ++run.pass_begin;
  run.pass_end = prompt.size();
  stats.ttft_ms = stats.waited_ms = stats.prompt_tps = stats.tps = 0;
  stats.tokens = 0;
  stats.prompt_tokens = static_cast<int64_t>(prompt.size());
  stats.reused_tokens = static_cast<int64_t>(run.pass_begin);
  stats.seed = seed;
  if (how.max_tokens == 0) run.finish = Finish::length;
  return {};
}

Status Session::start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_prompt(ids, *s.engine.tokenizer));
  if (batch < 0)
    return fail(Code::invalid_argument, "the batch is ", batch,
                "; expected 1 or more tokens, or 0 for all");
  if (ids.size() > s.engine.context_size) {
    return fail(Code::context_full, "the input has ", counted(ids.size(), "token"),
                ", but the context holds ", s.engine.context_size,
                "; give fewer or load with a larger context");
  }
  const size_t rows = all_positions ? ids.size() : 1;
  SLUICE_TRY(s.make_room_for_logits(rows));
  s.n_logits = rows * static_cast<size_t>(s.n_vocab());
  s.run = Run();
  s.run.kind = Run::Kind::logits;
  s.run.tokens.assign(ids.begin(), ids.end());
  s.run.n_prompt = ids.size();
  s.run.batch = batch == 0 ? ids.size() : std::min(ids.size(), static_cast<size_t>(batch));
  s.run.pass_end = s.run.batch;
  s.run.all_positions = all_positions;
  s.run.started = Clock::now();
  s.run.refilled_before = s.engine.weights->refilled_bytes();
  s.stats.prompt_tokens = static_cast<int64_t>(ids.size());
  s.stats.reused_tokens = s.stats.tokens = 0;
  s.stats.ttft_ms = s.stats.waited_ms = s.stats.prompt_tps = s.stats.tps = 0;
  return {};
}

// --- stepping ------------------------------------------------------------------------------------

Result<Event> Session::step() {
  State& s = *state_;
  Run& run = s.run;
  Event event;
  event.kind = Event::Kind::done;
  if (run.kind == Run::Kind::none) return event;
  if (run.cancelled) {
    s.end_run(Finish::aborted);
    event.finish = Finish::aborted;
    return event;
  }
  if (const Status source = s.engine.check_source(); !source) {
    s.end_run(Finish::aborted);
    return std::unexpected(source.error());
  }
  if (run.events.empty() && !run.finish.has_value()) {
    if (s.engine.source != nullptr && !s.engine.seen) s.engine.seen = s.engine.weights->arrivals();
    const Result<bool> worked = s.slice();
    if (!worked.has_value()) {
      s.end_run(Finish::aborted);
      return std::unexpected(worked.error());
    }
    event.kind = *worked ? Event::Kind::working : Event::Kind::waiting;
    if (run.events.empty() && !run.finish.has_value()) return event;
  }
  if (!run.events.empty()) {
    event = std::move(run.events.front());
    run.events.pop_front();
    return event;
  }
  event.kind = Event::Kind::done;
  event.finish = *run.finish;
  s.end_run(*run.finish);
  return event;
}

// False: it waits for weights.
Result<bool> Session::State::slice() {
  if (!run.prompt) return compute_slice();
  SLUICE_TRY(encode_slice());
  return true;
}

void Run::release(const std::vector<std::string>& texts) {
  for (const std::string& one : texts) {
    undecided.front().text = one;
    events.push_back(std::move(undecided.front()));
    undecided.pop_front();
  }
}

bool Run::add_token(Event event) {
  std::vector<std::string> certain;
  const bool stopped = text.push(event.id, certain);
  undecided.push_back(std::move(event));
  release(certain);
  return stopped;
}

bool Run::flush_text() {
  std::vector<std::string> certain;
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
  // truncate() may keep fewer positions than it was asked to. Those are computed again.
  run.pass_begin = static_cast<size_t>(cache.truncate(static_cast<int64_t>(run.pass_begin)));
  cached.resize(std::min(cached.size(), run.pass_begin));
  SLUICE_TRY(engine.pass->begin(
      pass, cache, std::span(run.tokens).subspan(run.pass_begin, run.pass_end - run.pass_begin)));
  run.pass_started = true;
  run.embedded = run.layer = run.block = 0;
  run.head_part = 0;
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
    engine.pass->run_block(pass, run.layer, run.block);
    if (engine.pass->overflowed()) return overflow(concat("layer ", run.layer));
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
      engine.pass->run_head(pass, static_cast<int64_t>(i - run.pass_begin), run.head_part, out);
    }
    if (engine.pass->overflowed()) return overflow("the head");
  }
  return true;
}

// Floats from one row of logits to the next while they are computed: whole strips.
size_t Session::State::logits_stride() const { return static_cast<size_t>(padded_rows(n_vocab())); }

Status Session::State::make_room_for_logits(size_t rows) {
  const uint64_t bytes = 4 * static_cast<uint64_t>(rows) * logits_stride();
  if (logits.size() >= bytes) return {};
  SLUICE_ASSIGN(logits, AlignedBuffer::allocate(bytes, "the logits"));
  return {};
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
      run.prompt_ms = run.worked_ms(Clock::now());
      stats.prompt_tps = static_cast<double>(run.n_prompt) / std::max(run.prompt_ms, 1e-6) * 1e3;
      run.finish = Finish::length;
    }
    return {};
  }
  if (run.prompt_ms == 0) {
    run.prompt_ms = std::max(run.worked_ms(Clock::now()), 1e-6);
    stats.prompt_tps =
        static_cast<double>(run.n_prompt - static_cast<size_t>(stats.reused_tokens)) /
        run.prompt_ms * 1e3;
  }
  return sample_token();
}

// Samples the next token from the logits and decides whether the run ends.
Status Session::State::sample_token() {
  const std::span<const float> all(logits.as<float>(), static_cast<size_t>(n_vocab()));
  const TokenId id = run.sampler->sample(all, run.tokens);
  if (engine.tokenizer->is_end(id) && !run.options.ignore_eos) {
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
    stats.ttft_ms = run.worked_ms(run.first_token);
  } else {
    stats.tps = static_cast<double>(stats.tokens) /
                std::max(milliseconds(run.first_token, run.last_token), 1e-6) * 1e3;
  }
  ++stats.tokens;
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

void Session::State::end_run(Finish) {
  stats.streamed_bytes = engine.weights->refilled_bytes() - run.refilled_before;
  run = Run();
  // Places may be free again.
  if (engine.source != nullptr) engine.source->wake();
}

void Session::cancel() { state_->run.cancelled = true; }

bool Session::running() const { return state_->run.kind != Run::Kind::none; }

std::span<const float> Session::logits() const {
  return {state_->logits.as<float>(), state_->n_logits};
}

// --- logits --------------------------------------------------------------------------------------

std::string logits_hash(std::span<const float> logits) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : logits) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash ^= bits >> shift & 0xffu;
      hash *= 0x100000001b3u;
    }
  }
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 0xf];
  return text;
}

std::vector<std::pair<TokenId, float>> top_logprobs(std::span<const float> logits, int n) {
  const Kernels& kernels = **(all_kernels().end() - 1);  // all give the same bits
  return best_logprobs(logits, n, log_sum_exp(kernels, logits));
}

}  // namespace sluice
