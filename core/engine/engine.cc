// Engine: loading, and facts about the model. Running is in session/session.cc.
#include "engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/format.h"
#include "engine/engine_state.h"
#include "engine/plan.h"
#include "options/rows.h"

namespace sluice {
namespace {

constexpr size_t kStagingBytes = 256 * 1024;
// Wanted at once of a split model's later headers, which are small: what is behind them is kept.
constexpr size_t kLaterHeaderBytes = 16 * 1024;

// 0 if one is unknown (0), or if the sum is too large.
uint64_t sum_of(const std::vector<uint64_t>& sizes) {
  uint64_t sum = 0;
  for (const uint64_t size : sizes) {
    if (size == 0 || size > UINT64_MAX - sum) return 0;
    sum += size;
  }
  return sum;
}

}  // namespace

Engine::Engine() : state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

Status Engine::State::prepare(const LoadOptions& load_options) {
  SLUICE_TRY(check_load_options(load_options));
  options = load_options;
  kernels = choose_kernels(options.kernels);
  load_started = Clock::now();
  return {};
}

Result<std::unique_ptr<Engine>> Engine::create(const LoadOptions& options,
                                               std::vector<uint64_t> file_sizes, Access access) {
  std::unique_ptr<Engine> engine(new Engine());
  State& s = *engine->state_;
  SLUICE_TRY(s.prepare(options));
  s.total_size = sum_of(file_sizes);
  s.access = access;
  s.parser = ModelParser(std::move(file_sizes));
  s.staging.resize(kStagingBytes);
  return engine;
}

// The header is complete. Checks everything about the model and allocates the memory for its
// weights, before the first weight is read.
Status Engine::State::bind(Gguf&& gguf) {
  header = std::move(gguf);
  SLUICE_ASSIGN(Plan planned, plan_engine(header, options, access));
  model = std::move(planned.model);
  context_size = context_of(model->config(), options);
  plan = planned.memory;
  memory_limit = planned.limit;
  fixed_memory = planned.fixed;
  pool = std::make_unique<Pool>(thread_count(options));
  tuner = ThreadTuner(pool->size(), options.threads == 0 || options.tune_threads);
  weights.emplace(model->manifest(), planned.shared, planned.rows);
  weights->keep_packed(packed_keeper);
  identity.emplace(header, model->manifest());
  row_places = planned.rows.places;
  SLUICE_TRY(weights->allocate());
  pass.emplace(*model, *weights, *kernels, *pool, options.profile);
  return pass->prepare();
}

// Builds the tokenizer. This takes longer than the rest of the header.
Status Engine::State::read_vocabulary() {
  SLUICE_ASSIGN(tokenizer, Tokenizer::from_gguf(header));
  const int64_t rows = model->config().n_vocab;
  if (tokenizer->vocab_size() != rows) {
    return fail(Code::bad_file, "the vocabulary has ",
                counted(static_cast<uint64_t>(tokenizer->vocab_size()), "token"),
                ", but token_embd.weight has ", counted(static_cast<uint64_t>(rows), "row"),
                "; the file is damaged");
  }
  return {};
}

void Engine::State::become_ready() {
  session.reset(new Session(std::make_unique<Session::State>(*this)));
  has_tokenizer = true;
  record_load_time();
}

std::span<uint8_t> Engine::State::header_place() {
  const std::span<uint8_t> place = std::span(staging).subspan(staged);
  if (parser.files().size() == 1) return place;
  return place.first(std::min(place.size(), kLaterHeaderBytes));
}

std::vector<Want> Engine::wants(uint64_t bytes) {
  State& s = *state_;
  if (s.has_layout) return s.weights->wants(bytes);
  return {{s.parser.position(), s.header_place(), 1}};
}

Status Engine::filled(uint64_t offset, uint64_t n) {
  State& s = *state_;
  return s.has_layout ? s.take_weights(offset, n, Form::file) : s.take_header(offset, n);
}

Status Engine::filled_packed(uint64_t offset, uint64_t n) {
  if (state_->has_layout) return state_->take_weights(offset, n, Form::packed);
  return fail(Code::invalid_argument, "packed bytes were brought, but the header isn't here yet");
}

Status Engine::State::take_weights(uint64_t offset, uint64_t n, Form form) {
  SLUICE_TRY(weights->filled(offset, n, form));
  taken += n;
  record_load_time();
  return {};
}

void Engine::keep_packed(PackedKeeper* keeper) {
  state_->packed_keeper = keeper;
  if (state_->has_layout) state_->weights->keep_packed(keeper);
}

std::vector<Want> Engine::row_wants() {
  return state_->has_layout ? state_->weights->row_wants() : std::vector<Want>();
}

Status Engine::rows_filled(uint64_t offset, uint64_t n) {
  if (state_->has_layout) return state_->weights->rows_filled(offset, n);
  return fail(Code::invalid_argument, "rows were brought, but the header has not arrived yet");
}

Status Engine::State::take_header(uint64_t offset, uint64_t n) {
  const std::span<uint8_t> place = header_place();
  if (offset != parser.position() || n > place.size()) {
    return fail(Code::invalid_argument, n, " bytes from ", offset, " on were brought; up to ",
                place.size(), " from ", parser.position(), " on are wanted next");
  }
  const std::span<const uint8_t> bytes = place.first(static_cast<size_t>(n));
  const size_t file = parser.files().size() - 1;
  SLUICE_ASSIGN(const size_t used, parser.push(bytes));
  staged = (staged + bytes.size()) % staging.size();
  uint64_t end = offset + n;
  if (used < n) {
    // The bytes behind the header are weights, up to the end of this file.
    const FilePlace& of = parser.files()[file];
    if (file + 1 < parser.files().size()) end = std::min(end, of.begin + of.bytes);
    const auto weights_here = bytes.subspan(used, static_cast<size_t>(end - offset) - used);
    early.push_back({offset + used, {weights_here.begin(), weights_here.end()}});
  }
  taken += end - offset;
  if (!parser.done()) return {};
  SLUICE_TRY(bind(parser.take()));
  for (const Early& weights_here : early) {
    SLUICE_TRY(weights->offer(weights_here.offset, weights_here.bytes));
  }
  early = std::vector<Early>();
  staging = std::vector<uint8_t>();
  has_layout = true;
  return {};
}

Status Engine::build_tokenizer() {
  State& s = *state_;
  if (!s.has_layout || s.has_tokenizer) {
    return fail(Code::invalid_argument, "build_tokenizer() is called once, after has_layout()");
  }
  SLUICE_TRY(s.read_vocabulary());
  s.become_ready();
  return {};
}

Status Engine::end_of_file(uint64_t size) {
  State& s = *state_;
  if (!s.has_layout) return s.parser.finish();
  // Weights that aren't resident may be wanted later: only the size counts.
  const bool whole = s.access != Access::sequential && size >= s.header.file_bytes();
  if (whole || s.weights->resident()) return {};
  const bool split = s.header.files.size() > 1;
  return fail(Code::bad_file, split ? "the model's files end after " : "the file ends after ",
              counted(size, "byte"),
              split ? ", but their headers promise " : ", but its header promises ",
              s.header.file_bytes(),
              split ? "; one is cut short: get them again" : "; it is cut short: get it again");
}

void Engine::State::record_load_time() {
  double unknown = 0;
  if (has_tokenizer && weights->ready())
    load_ms.compare_exchange_strong(unknown, milliseconds(load_started, Clock::now()));
}

// Fails as reading has failed. Ends the source's threads when they have nothing more to do.
Status Engine::State::check_source() {
  if (source == nullptr) return {};
  SLUICE_TRY(source->status());
  if (weights->resident()) source.reset();
  return {};
}

bool Engine::has_layout() const { return state_->has_layout; }
bool Engine::has_tokenizer() const { return state_->has_tokenizer; }
bool Engine::ready() const { return state_->has_tokenizer && state_->weights->ready(); }
bool Engine::loaded() const { return state_->has_tokenizer && state_->weights->resident(); }

// False: it waits for weights. What stays in memory is taken as it comes, the rest by a cursor that
// goes through the slots as a run does.
bool Engine::State::take_identity() {
  const auto at = [&](int slot) {
    if (identifying == nullptr) identifying = std::make_unique<Weights::Cursor>(*weights);
    return identifying->at(slot);
  };
  for (int slot = 0; slot < model->n_slots() && !identity->known(); ++slot) {
    if (!identity->lacks(slot)) continue;
    const bool here = weights->stays(slot) && weights->state(slot) == SlotState::resident;
    if (!here && !at(slot)) return false;
    identity->take(*weights, slot);
  }
  // It holds no slot while it waits for rows.
  if (identifying != nullptr && identifying->slot() >= 0) identifying.reset();
  while (!identity->known()) {
    // Of a table in no slot. Its rows have places, but not for all at once.
    const auto rows = identity->missing_rows(model->token_table(), static_cast<size_t>(row_places));
    if (rows.empty()) {
      identity->end();
      break;
    }
    if (!identifying) identifying = std::make_unique<Weights::Cursor>(*weights);
    if (!identifying->rows(rows)) return false;
    for (const TokenId row : rows) identity->take_row(*weights, model->token_table(), row);
    identifying->rows_used();
  }
  return true;
}

Result<bool> Engine::identify() {
  State& s = *state_;
  if (!s.has_tokenizer)
    return fail(Code::invalid_argument, "the model's header has not arrived yet");
  // A run may have taken what was missing; but runs must not wait for a cursor that stays behind.
  if (s.identity->known() && s.identifying == nullptr) return true;
  SLUICE_TRY(s.check_source());
  if (s.source != nullptr && !s.seen) s.seen = s.weights->arrivals();
  const bool known = s.take_identity();
  if (known) s.identifying.reset();
  if (s.source != nullptr) s.source->wake();
  return known;
}

void Engine::stop_identifying() {
  state_->identifying.reset();
  if (state_->source != nullptr) state_->source->wake();
}

std::span<const FilePlace> Engine::files() const {
  return state_->has_layout ? state_->header.files : state_->parser.files();
}

LoadProgress Engine::progress() const {
  const State& s = *state_;
  LoadProgress progress{s.taken, s.total_size, s.taken, 0, 0};
  if (!s.has_layout) return progress;
  if (progress.total == 0) progress.total = s.header.file_bytes();
  if (s.weights->ready() || progress.loaded > progress.total) progress.loaded = progress.total;
  progress.layers_total = static_cast<int32_t>(s.n_layers());
  for (int64_t layer = 0; layer < s.n_layers(); ++layer) {
    if (s.weights->state(s.model->layer_slot(layer)) == SlotState::resident)
      ++progress.layers_ready;
  }
  return progress;
}

std::vector<SlotView> Engine::slots() const {
  std::vector<SlotView> views;
  const State& s = *state_;
  if (!s.has_layout) return views;
  std::vector<int> computing;
  for (const Session::State* session : s.sessions) computing.push_back(session->slot_now());
  const Model& model = *s.model;
  for (int slot = 0; slot < model.n_slots(); ++slot) {
    const Weights::SlotProgress weights = s.weights->view(slot);
    SlotView& view = views.emplace_back();
    view.kind = slot == model.embedding_slot() ? SlotView::Kind::embedding
                : slot == model.table_slot()   ? SlotView::Kind::table
                : slot < model.head_slot()     ? SlotView::Kind::layer
                                               : SlotView::Kind::head;
    view.bytes = weights.bytes;
    view.arrived = weights.arrived;
    view.state = weights.state == SlotState::absent     ? SlotView::State::absent
                 : weights.state == SlotState::arriving ? SlotView::State::arriving
                 : std::ranges::count(computing, slot)  ? SlotView::State::computing
                                                        : SlotView::State::resident;
    view.reread = weights.shares_place;
    view.fills = weights.fills;
  }
  return views;
}

const Gguf& Engine::header() const { return state_->header; }
uint64_t Engine::trained_context() const {
  return static_cast<uint64_t>(std::max<int64_t>(state_->model->config().context_length, 0));
}
const Tokenizer& Engine::tokenizer() const { return *state_->tokenizer; }
uint32_t Engine::context_size() const { return state_->context_size; }
MemoryPlan Engine::memory_plan() const { return state_->plan; }

uint64_t Engine::memory_left() const { return has_layout() ? state_->memory_left() : 0; }

uint64_t Engine::State::session_memory() const {
  uint64_t held = 0;
  for (const Session::State* one : sessions) held += one->held_bytes();
  return held;
}

uint64_t Engine::State::memory_left() const {
  const uint64_t in_use = fixed_memory + session_memory();
  return memory_limit > in_use ? memory_limit - in_use : 0;
}

Status Engine::State::admit(uint64_t more, uint64_t tokens, std::string_view what) const {
  if (more == 0) return {};
  const uint64_t left = memory_left();
  if (more <= left) return {};
  const bool budget = options.memory_budget > 0 && options.memory_budget <= memory_limit;
  return with_facts(
      fail(Code::out_of_memory, what, " needs ", human_bytes(more), " more, but of the ",
           human_bytes(memory_limit), budget ? " of the budget" : " that there are", " only ",
           human_bytes(left), " are left (the model takes ", human_bytes(fixed_memory),
           ", sessions have ", human_bytes(session_memory()),
           "): close other sessions, or use a shorter text or a smaller model",
           budget ? ", or give a larger budget" : ""),
      {{"neededBytes", more}, {"availableBytes", left}, {"tokens", tokens}});
}

std::vector<PhaseTime> Engine::take_profile() {
  if (!state_->has_tokenizer) return {};
  return state_->pass->take_profile();
}

Stats Engine::stats() const {
  const State& s = *state_;
  if (s.session != nullptr) return s.session->stats();
  Stats stats;
  s.add_to(stats);
  return stats;
}

void Engine::State::add_to(Stats& stats) const {
  stats.kernels = kernels->name;
  stats.load_ms = load_ms;
  stats.context_size = context_size;
  stats.memory_budget = options.memory_budget;
  if (!has_tokenizer) return;
  stats.threads = pool->size();
  stats.decode_threads = tuner.best();
  stats.bytes_per_token = plan.per_token;
  stats.resident_bytes = weights->held_bytes() + Pass::scratch_bytes(*model, pool->size()) +
                         pass->held_activation_bytes() + session_memory();
}

// --- the engine's own session --------------------------------------------------------------------

namespace {

std::unexpected<Error> header_missing() {
  return fail(Code::invalid_argument, "the model's header has not arrived yet");
}

}  // namespace

Session& Engine::session() { return *state_->session; }

Status Engine::start(std::span<const TokenId> prompt, const GenerateOptions& options) {
  return has_tokenizer() ? session().start(prompt, options) : header_missing();
}
Status Engine::start(std::string_view prompt, const GenerateOptions& options) {
  return has_tokenizer() ? session().start(prompt, options) : header_missing();
}
Status Engine::start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions) {
  return has_tokenizer() ? session().start_logits(ids, batch, all_positions) : header_missing();
}
Result<Event> Engine::step() {
  if (has_tokenizer()) return session().step();
  Event event;
  event.kind = Event::Kind::done;
  return event;
}
void Engine::cancel() {
  if (has_tokenizer()) session().cancel();
}
bool Engine::running() const { return has_tokenizer() && state_->session->running(); }
std::span<const float> Engine::logits() const {
  return has_tokenizer() ? state_->session->logits() : std::span<const float>();
}
void Engine::reset() {
  if (has_tokenizer()) session().reset();
}

void add_context_note(uint64_t context, uint64_t trained, Notes& notes) {
  if (context <= trained) return;
  notes.push_back(
      {NoteCode::context_beyond_training,
       concat("the context of ", context, " tokens is larger than the ", trained,
              " that the model was trained for; what it writes beyond them may make no sense"),
       {{"contextSize", context}, {"trained", trained}}});
}

Notes Engine::notes() const {
  const State& s = *state_;
  if (!s.has_tokenizer) return {};
  Notes notes = s.tokenizer->warnings();
  add_context_note(s.context_size, static_cast<uint64_t>(s.model->config().context_length), notes);
  const auto asked = static_cast<uint64_t>(thread_count(s.options));
  if (const auto threads = static_cast<uint64_t>(s.pool->size()); threads < asked) {
    notes.push_back({NoteCode::fewer_threads,
                     concat("only ", threads, " of ", counted(asked, "thread"),
                            " could be started, as the system allows no more; it works, but "
                            "slower"),
                     {{"threads", threads}, {"asked", asked}}});
  }
  return notes;
}

}  // namespace sluice
