// Session: its tokens and clones, how its runs begin, their events and logits. (session/run.cc does
// the work.)
#include <algorithm>
#include <bit>
#include <random>

#include "base/format.h"
#include "engine/engine_state.h"
#include "options/rows.h"

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
  copy->resume_point = s.resume_point;
  return std::unique_ptr<Session>(new Session(std::move(copy)));
}

std::span<const TokenId> Session::tokens() const { return state_->cached; }

std::vector<TokenId> Session::written() const {
  std::vector<TokenId> all = state_->cached;
  if (state_->resume_point.last) all.push_back(*state_->resume_point.last);
  return all;
}

void Session::truncate(size_t n) {
  State& s = *state_;
  if (running()) s.end_run();
  if (n <= s.cached.size()) s.resume_point.last.reset();
  if (n == 0) s.resume_point = ResumePoint();
  s.cached.resize(std::min(s.cached.size(), n));
}

uint64_t Session::held_bytes() const { return state_->held_bytes(); }

Stats Session::stats() const {
  const State& s = *state_;
  Stats stats = s.stats;
  s.engine.add_to(stats);
  if (running()) stats.reread_bytes = s.engine.weights->refilled_bytes() - s.run.refilled_before;
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

SamplerOptions sampler_options(const GenerateOptions& options, uint64_t seed, uint64_t draws) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .top_n_sigma = options.top_n_sigma,
          .typical_p = options.typical_p,
          .xtc_probability = options.xtc_probability,
          .xtc_threshold = options.xtc_threshold,
          .seed = seed,
          .draws = draws};
}

PenaltyOptions penalty_options(const GenerateOptions& options, size_t prompt_tokens) {
  return {.logit_bias = options.logit_bias,
          .repeat_penalty = options.repeat_penalty,
          .repeat_last_n = options.repeat_last_n,
          .presence_penalty = options.presence_penalty,
          .frequency_penalty = options.frequency_penalty,
          .prompt_tokens = prompt_tokens,
          .dry = {.multiplier = options.dry_multiplier,
                  .base = options.dry_base,
                  .allowed_length = options.dry_allowed_length,
                  .last_n = options.dry_penalty_last_n,
                  .breakers = options.dry_sequence_breakers}};
}

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 21 ^ device();  // below 2^53: a JavaScript number holds it
}

}  // namespace

Status Session::start(std::string_view prompt, const GenerateOptions& options) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_generate(options, *s.engine.tokenizer));
  const Clock::time_point asked = Clock::now();
  SLUICE_TRY(s.check_room(Encoding(*s.engine.tokenizer, prompt, options.special)));
  s.begin_run(Run::Kind::generate, asked);
  s.run.options = options;
  s.run.prompt = std::make_unique<PromptEncoding>(*s.engine.tokenizer, prompt, options.special);
  // Encodes the first slice now, so that an error in a short prompt is returned here.
  const Status begun = s.encode_slice();
  if (!begun) s.end_run();
  return begun;
}

// Fails with context_full as soon as the text is sure to have too many tokens.
Status Session::State::check_room(const Encoding& encoding) const {
  if (encoding.min_ids() < engine.context_size) return {};
  return with_facts(
      fail(Code::context_full, "the prompt has ", counted(encoding.min_ids(), "token"),
           " or more, but the context holds ", engine.context_size,
           " and the answer needs room, too; shorten the prompt or load with a larger context"),
      {{"tokens", encoding.min_ids()}, {"room", engine.context_size - 1}});
}

// Encodes a slice of the prompt's text. After the last slice the run begins.
Status Session::State::encode_slice() {
  if (run.prompt->encoding.step()) return check_room(run.prompt->encoding);
  const std::vector<TokenId> ids = engine.tokenizer->with_prefix(run.prompt->encoding.take());
  const GenerateOptions how = std::move(run.options);
  return begin(ids, how, run.asked);
}

Status Session::start(std::span<const TokenId> prompt, const GenerateOptions& options) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_generate(options, *s.engine.tokenizer));
  return s.begin(prompt, options, Clock::now());
}

Status Session::start_reply(std::span<const TokenId> prompt, const GenerateOptions& options,
                            const ReplyFormat& format, int64_t thinking_tokens,
                            std::optional<Clock::time_point> asked) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_generate(options, *s.engine.tokenizer));
  SLUICE_TRY(s.begin(prompt, options, asked.value_or(Clock::now())));
  std::vector<std::string> stop = options.stop;
  stop.insert(stop.end(), format.stop.begin(), format.stop.end());
  s.run.text.start(&*s.engine.tokenizer, s.engine.tokenizer->is_special(prompt.back()),
                   std::move(stop), format);
  s.run.end_tokens = format.end_tokens;
  s.run.think_close = format.think_close;
  s.run.thinking_tokens = thinking_tokens;
  return {};
}

Status Session::resume(const GenerateOptions& options) {
  State& s = *state_;
  if (running()) return busy();
  SLUICE_TRY(check_generate(options, *s.engine.tokenizer));
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
void Session::State::begin_run(Run::Kind kind, Clock::time_point asked) {
  run = Run();
  run.kind = kind;
  run.asked = asked;
  run.refilled_before = engine.weights->refilled_bytes();
  n_logits = 0;
  stats.ttft_ms = stats.waited_ms = stats.prompt_tps = stats.tps = 0;
  stats.prompt_tokens = stats.reused_tokens = stats.tokens = stats.reasoning_tokens = 0;
}

Status Session::State::begin(std::span<const TokenId> prompt, const GenerateOptions& how,
                             Clock::time_point asked, const ResumePoint& from) {
  SLUICE_TRY(check_prompt(prompt, *engine.tokenizer));
  if (prompt.size() >= engine.context_size) {
    return with_facts(
        fail(Code::context_full, "the prompt has ", counted(prompt.size(), "token"),
             ", but the context holds ", engine.context_size,
             " and the answer needs room, too; shorten the prompt or load with a larger context"),
        {{"tokens", prompt.size()}, {"room", engine.context_size - 1}});
  }
  // The last token of the prompt is always computed: its logits are needed.
  const size_t limit = std::min(cached.size(), prompt.size() - 1);
  size_t reused = 0;
  while (reused < limit && cached[reused] == prompt[reused]) ++reused;
  SLUICE_TRY(admit(reused, prompt.size(), prompt.size() - reused, 1));
  begin_run(Run::Kind::generate, asked);
  // Those of a logits run, before the passes want their memory: admit() counted on it.
  if (logits.size() > logits_bytes(1)) logits = AlignedBuffer();
  run.options = how;
  const uint64_t seed = how.seed ? *how.seed : random_seed();
  run.answer = std::min(from.answer.value_or(prompt.size()), prompt.size());
  run.sampler.emplace(sampler_options(how, seed, from.draws), penalty_options(how, run.answer),
                      [&tokenizer = *engine.tokenizer](TokenId id) { return tokenizer.piece(id); });
  resume_point = ResumePoint();
  run.text.start(&*engine.tokenizer, engine.tokenizer->is_special(prompt.back()), how.stop);
  run.tokens.assign(prompt.begin(), prompt.end());
  run.n_prompt = prompt.size();
  run.started = Clock::now();
  run.pass_begin = reused;
  run.pass_end = prompt.size();
  stats.prompt_tokens = static_cast<int64_t>(prompt.size());
  stats.reused_tokens = static_cast<int64_t>(reused);
  stats.seed = seed;
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
    return with_facts(fail(Code::context_full, "the input has ", counted(ids.size(), "token"),
                           ", but the context holds ", s.engine.context_size,
                           "; give fewer or load with a larger context"),
                      {{"tokens", ids.size()}, {"room", s.engine.context_size}});
  }
  const size_t rows = all_positions ? ids.size() : 1;
  const size_t pass_tokens =
      batch == 0 ? ids.size() : std::min(ids.size(), static_cast<size_t>(batch));
  SLUICE_TRY(s.admit(0, ids.size(), pass_tokens, rows));
  s.n_logits = 0;
  SLUICE_TRY(s.make_room_for_logits(rows));
  s.resume_point = ResumePoint();
  s.begin_run(Run::Kind::logits, Clock::now());
  s.n_logits = rows * static_cast<size_t>(s.n_vocab());
  s.run.tokens.assign(ids.begin(), ids.end());
  s.run.n_prompt = ids.size();
  s.run.batch = pass_tokens;
  s.run.pass_end = pass_tokens;
  s.run.all_positions = all_positions;
  s.run.started = s.run.asked;
  s.stats.prompt_tokens = static_cast<int64_t>(ids.size());
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
    s.end_run();
    event.finish = Finish::aborted;
    return event;
  }
  if (const Status source = s.engine.check_source(); !source) {
    s.end_run();
    return std::unexpected(source.error());
  }
  if (run.events.empty() && !run.finish.has_value()) {
    if (s.engine.source != nullptr && !s.engine.seen) s.engine.seen = s.engine.weights->arrivals();
    const Result<bool> worked = s.slice();
    if (!worked.has_value()) {
      s.end_run();
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
  s.end_run();
  return event;
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
  return hexadecimal(hash);
}

std::vector<std::pair<TokenId, float>> top_logprobs(std::span<const float> logits, int n) {
  const Kernels& kernels = **(all_kernels().end() - 1);  // all give the same bits
  return best_logprobs(logits, n, log_sum_exp(kernels, logits));
}

}  // namespace sluice
