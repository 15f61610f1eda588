// Session: its tokens and clones, how its runs begin, their events and logits. (session/run.cc does
// the work.)
#include <algorithm>
#include <random>

#include "base/format.h"
#include "options/rows.h"
#include "session/observe.h"
#include "session/session_state.h"

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

// --- sessions, clones and tokens -----------------------------------------------------------------

Session::State::State(Runtime& of)
    : runtime(of), timeline(make_timeline(*of.model, of.kv_type, of.snapshot_memory)) {
  runtime.sessions.push_back(this);
}

Status Session::State::check_idle() const {
  if (!run) return {};
  return fail(Code::busy, "the session is generating; wait for its end or cancel it");
}

Session::State::~State() { std::erase(runtime.sessions, this); }

Session::Session(Engine& engine) : state_(std::make_unique<State>(engine.runtime())) {}
Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::clone() const {
  SLUICE_TRY(state_->check_idle());
  const State& s = *state_;
  auto copy = std::make_unique<State>(s.runtime);
  copy->timeline = s.timeline.clone();
  copy->resume_point = s.resume_point;
  return std::unique_ptr<Session>(new Session(std::move(copy)));
}

Status set_observer(Session& session, Observer* observer) {
  Session::State& s = *session.state_;
  SLUICE_TRY(s.check_idle());
  s.runtime.pass->set_observer(s.pass, observer);
  return {};
}

std::span<const TokenId> Session::tokens() const { return state_->timeline.tokens(); }

std::vector<TokenId> Session::written() const {
  const std::span<const TokenId> computed = tokens();
  std::vector<TokenId> all(computed.begin(), computed.end());
  if (state_->resume_point.last) all.push_back(*state_->resume_point.last);
  return all;
}

size_t Session::reusable(std::span<const TokenId> prompt) const { return state_->reusable(prompt); }

size_t Session::State::reusable(std::span<const TokenId> prompt) const {
  if (prompt.empty()) return 0;
  // The last token of the prompt is always computed: its logits are needed.
  const auto before = prompt.first(prompt.size() - 1);
  const auto same = std::ranges::mismatch(before, timeline.tokens()).in1 - before.begin();
  return static_cast<size_t>(timeline.reach(same));
}

void Session::truncate(size_t n) {
  State& s = *state_;
  if (running()) s.end_run();
  if (n <= tokens().size()) s.resume_point.last.reset();
  if (n == 0) s.resume_point = ResumePoint();
  if (n < tokens().size()) s.timeline.cut(static_cast<int64_t>(n));
}

uint64_t Session::held_bytes() const { return state_->held_bytes(); }

Stats Session::stats() const {
  const State& s = *state_;
  Stats stats = s.stats;
  s.runtime.add_to(stats);
  if (s.run) stats.reread_bytes = s.runtime.weights->refilled_bytes() - s.run->refilled_before;
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

Status check_generate(const GenerateOptions& options, const Tokenizer& tokenizer) {
  SLUICE_TRY(check_options(options));
  for (const auto& [id, bias] : options.logit_bias) {
    if (id < tokenizer.vocab_size()) continue;
    return fail(Code::invalid_argument, "a logit bias is for the token ", id,
                ", which is not in the vocabulary; its ids are 0 to ", tokenizer.vocab_size() - 1);
  }
  return {};
}

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 21 ^ device();  // below 2^53: a JavaScript number holds it
}

}  // namespace

Status Session::start(std::string_view prompt, const GenerateOptions& options) {
  State& s = *state_;
  SLUICE_TRY(state_->check_idle());
  SLUICE_TRY(check_writes_text(*s.runtime.model));
  SLUICE_TRY(check_generate(options, *s.runtime.tokenizer));
  const Clock::time_point asked = Clock::now();
  SLUICE_TRY(s.check_room(Encoding(*s.runtime.tokenizer, prompt, options.special)));
  s.reset_run(asked).encoding.emplace(*s.runtime.tokenizer, prompt, options);
  // Encodes the first slice now, so that an error in a short prompt is returned here.
  const Status begun = s.encode_slice();
  if (!begun) s.end_run();
  return begun;
}

// Fails with context_full as soon as the text is sure to have too many tokens.
Status Session::State::check_room(const Encoding& encoding) const {
  if (encoding.min_ids() < runtime.context_size) return {};
  return with_facts(
      fail(Code::context_full, "the prompt has ", counted(encoding.min_ids(), "token"),
           " or more, but the context holds ", runtime.context_size,
           " and the answer needs room, too; shorten the prompt or load with a larger context"),
      {{"tokens", encoding.min_ids()}, {"room", runtime.context_size - 1}});
}

// Encodes a slice of the prompt's text. After the last slice the run begins.
Status Session::State::encode_slice() {
  Encoding& encoding = run->encoding->encoding;
  if (encoding.step()) return check_room(encoding);
  const std::vector<TokenId> ids = runtime.tokenizer->with_prefix(encoding.take());
  const GenerateOptions how = std::move(run->encoding->options);
  return begin(ids, how, run->clock.asked);
}

Status Session::start(std::span<const TokenId> prompt, const GenerateOptions& options) {
  State& s = *state_;
  SLUICE_TRY(state_->check_idle());
  SLUICE_TRY(check_generate(options, *s.runtime.tokenizer));
  return s.begin(prompt, options, Clock::now());
}

namespace {

// Behind a chat's last message, and before what asks for the reply: perhaps the marks of a
// reasoning, which templates leave out where the reply is in the past. So this is where the next
// prompt has still the same tokens. All of the prompt if there is no such place near its end.
size_t end_of_messages(std::span<const TokenId> prompt, const Tokenizer& tokenizer) {
  constexpr size_t kMostBehind = 32;
  const size_t n = prompt.size();
  for (size_t end = n; end > 1 && n - end < kMostBehind; --end)
    if (tokenizer.is_end(prompt[end - 1])) return end;
  return n;
}

}  // namespace

Status Session::start_reply(std::span<const TokenId> prompt, const GenerateOptions& options,
                            const ReplyFormat& format, int64_t thinking_tokens,
                            std::optional<Clock::time_point> asked) {
  State& s = *state_;
  SLUICE_TRY(state_->check_idle());
  SLUICE_TRY(check_generate(options, *s.runtime.tokenizer));
  SLUICE_TRY(s.begin(prompt, options, asked.value_or(Clock::now()), {},
                     end_of_messages(prompt, *s.runtime.tokenizer)));
  s.run->generation->write_reply(format, thinking_tokens,
                                 s.runtime.tokenizer->is_special(prompt.back()));
  return {};
}

Status Session::resume(const GenerateOptions& options) {
  State& s = *state_;
  SLUICE_TRY(state_->check_idle());
  SLUICE_TRY(check_generate(options, *s.runtime.tokenizer));
  const Clock::time_point asked = Clock::now();
  const std::vector<TokenId> all = written();
  if (all.empty()) {
    return fail(Code::invalid_argument,
                "the session has no tokens to go on after; give a prompt first");
  }
  GenerateOptions how = options;
  const bool goes_on = !how.seed && s.resume_point.seed;
  if (goes_on) how.seed = s.resume_point.seed;
  ResumePoint from = s.resume_point;
  if (!goes_on) from.draws = 0;
  return s.begin(all, how, asked, from);
}

// The figures are those of the run that begins, from now on.
Run& Session::State::reset_run(Clock::time_point asked) {
  run.emplace();
  run->clock.asked = asked;
  run->refilled_before = runtime.weights->refilled_bytes();
  rows_given.n_logits = rows_given.n_texts = rows_given.n_states = 0;
  stats.ttft_ms = stats.waited_ms = stats.prompt_tps = stats.tps = 0;
  stats.prompt_tokens = stats.reused_tokens = stats.tokens = stats.reasoning_tokens = 0;
  return *run;
}

Status Session::State::begin(std::span<const TokenId> prompt, const GenerateOptions& how,
                             Clock::time_point asked, const ResumePoint& from, size_t mark) {
  SLUICE_TRY(check_writes_text(*runtime.model));
  SLUICE_TRY(check_prompt(prompt, *runtime.tokenizer));
  if (prompt.size() >= runtime.context_size) {
    return with_facts(
        fail(Code::context_full, "the prompt has ", counted(prompt.size(), "token"),
             ", but the context holds ", runtime.context_size,
             " and the answer needs room, too; shorten the prompt or load with a larger context"),
        {{"tokens", prompt.size()}, {"room", runtime.context_size - 1}});
  }
  const size_t reused = reusable(prompt);
  mark = mark <= reused ? prompt.size() : std::min(mark, prompt.size());
  timeline.mark_later(mark < prompt.size() ? static_cast<int64_t>(mark) : 0);
  Results results;
  results.logits.chosen = {prompt.size() - 1};
  const ResultBytes bytes = result_bytes(*runtime.model, results, prompt.size());
  SLUICE_TRY(check_memory_for(reused, prompt.size(), prompt.size() - reused, &bytes));
  reset_run(asked);
  run->results = std::move(results);
  // Frees those of the last run now: check_memory_for() counted their memory as free.
  rows_given.keep_only(bytes);
  const uint64_t seed = how.seed ? *how.seed : random_seed();
  const size_t answer = std::min(from.answer.value_or(prompt.size()), prompt.size());
  run->generation.emplace(*runtime.tokenizer, how, prompt, answer, seed, from.draws);
  resume_point = ResumePoint();
  run->clock.started = Clock::now();
  run->cursor.tokens.assign(prompt.begin(), prompt.end());
  run->cursor.n_prompt = run->cursor.end = prompt.size();
  run->cursor.mark = mark;
  run->cursor.begin = reused;
  stats.prompt_tokens = static_cast<int64_t>(prompt.size());
  stats.reused_tokens = static_cast<int64_t>(reused);
  stats.seed = seed;
  return {};
}

Status Session::start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions) {
  Results wanted;
  wanted.logits.all = all_positions;
  if (!all_positions && !ids.empty()) wanted.logits.chosen = {ids.size() - 1};
  return start_results(ids, batch, wanted);
}

Status Session::start_results(std::span<const TokenId> ids, int64_t batch, const Results& wanted) {
  State& s = *state_;
  SLUICE_TRY(state_->check_idle());
  SLUICE_TRY(check_prompt(ids, *s.runtime.tokenizer));
  if (batch < 0)
    return fail(Code::invalid_argument, "the batch is ", batch,
                "; expected 1 or more tokens, or 0 for all");
  if (ids.size() > s.runtime.context_size) {
    return with_facts(fail(Code::context_full, "the input has ", counted(ids.size(), "token"),
                           ", but the context holds ", s.runtime.context_size,
                           "; give fewer or load with a larger context"),
                      {{"tokens", ids.size()}, {"room", s.runtime.context_size}});
  }
  const Model& model = *s.runtime.model;
  SLUICE_TRY(check_results(model, wanted, ids.size()));
  const size_t reused =
      wanted.reuse ? s.reusable(ids.first(wanted.first_position(ids.size()) + 1)) : 0;
  const bool whole = batch == 0 || !model.makes().text;
  const size_t computed = ids.size() - reused;
  const size_t pass_tokens = whole ? computed : std::min(computed, static_cast<size_t>(batch));
  const ResultBytes bytes = result_bytes(model, wanted, ids.size());
  const size_t rows = wanted.logits.count(ids.size());
  SLUICE_TRY(s.check_memory_for(reused, ids.size(), pass_tokens, &bytes,
                                rows > 1 ? concat(" with the logits of ", rows, " positions")
                                : bytes.hidden > 0 ? std::string(" with hidden states")
                                                   : std::string()));
  s.rows_given.n_logits = 0;
  SLUICE_TRY(s.rows_given.make_room(bytes));
  s.resume_point = ResumePoint();
  Run& run = s.reset_run(Clock::now());
  s.rows_given.n_logits = rows * static_cast<size_t>(s.n_vocab());
  run.clock.started = run.clock.asked;
  run.results = wanted;
  run.cursor.tokens.assign(ids.begin(), ids.end());
  run.cursor.n_prompt = run.cursor.mark = ids.size();
  run.cursor.begin = reused;
  run.cursor.batch = pass_tokens;
  run.cursor.alone = wanted.attention.value_or(SIZE_MAX);
  run.cursor.end = run.cursor.next_end();
  s.stats.prompt_tokens = static_cast<int64_t>(ids.size());
  s.stats.reused_tokens = static_cast<int64_t>(reused);
  return {};
}

// --- stepping ------------------------------------------------------------------------------------

Result<Event> Session::step() {
  State& s = *state_;
  Event event;
  event.kind = Event::Kind::done;
  if (!s.run) return event;
  Run& run = *s.run;
  if (run.cancelled) {
    s.end_run();
    event.finish = Finish::aborted;
    return event;
  }
  if (const Status source = s.runtime.check_or_close_source(); !source) {
    s.end_run();
    return std::unexpected(source.error());
  }
  if (!run.has_events() && !run.finish) {
    s.runtime.note_arrivals();
    const Result<bool> worked = s.slice();
    if (!worked.has_value()) {
      s.end_run();
      return std::unexpected(worked.error());
    }
    event.kind = *worked ? Event::Kind::working : Event::Kind::waiting;
    if (!run.has_events() && !run.finish) return event;
  }
  if (run.has_events()) {
    event = std::move(run.generation->events.front());
    run.generation->events.erase(run.generation->events.begin());
    return event;
  }
  event.kind = Event::Kind::done;
  event.finish = *run.finish;
  s.end_run();
  return event;
}

void Session::State::end_run() {
  stats.reread_bytes = runtime.weights->refilled_bytes() - run->refilled_before;
  timeline.abandon();
  if (run->generation) {
    const std::vector<TokenId>& tokens = run->cursor.tokens;
    resume_point.seed = stats.seed;
    resume_point.draws = run->generation->draws();
    resume_point.answer = run->generation->answer_begin();
    if (tokens.size() > run->cursor.n_prompt && tokens.size() == timeline.tokens().size() + 1)
      resume_point.last = tokens.back();
  }
  if (run->texts || run->head_alone) pass.x = AlignedBuffer();  // perhaps of a large batch
  run.reset();
  // The places of its weights may be free now.
  runtime.wake_source();
}

void Session::cancel() {
  if (state_->run) state_->run->cancelled = true;
}

size_t Session::answer_begin() const {
  if (state_->run && state_->run->generation) return state_->run->generation->answer_begin();
  return state_->resume_point.answer.value_or(0);
}

bool Session::running() const { return state_->run.has_value(); }

std::span<const float> Session::logits() const {
  return {state_->rows_given.logits.as<float>(), state_->rows_given.n_logits};
}

std::span<const float> Session::hidden() const {
  return {state_->rows_given.hidden.as<float>(), state_->rows_given.hidden.size() / 4};
}

std::span<const float> Session::attention() const {
  return {state_->rows_given.attention.as<float>(), state_->rows_given.attention.size() / 4};
}

std::vector<AttentionLayer> Session::attention_layers() const {
  std::vector<AttentionLayer> all;
  const std::vector<LayerShape>& layers = state_->runtime.model->layers();
  for (size_t l = 0; l < layers.size(); ++l)
    if (layers[l].n_heads > 0) all.push_back({static_cast<int64_t>(l), layers[l].n_heads});
  return all;
}

std::span<const float> Session::pooled() const {
  return {state_->rows_given.pooled.as<float>(), state_->rows_given.pooled.size() / 4};
}

}  // namespace sluice
