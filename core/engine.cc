// Engine: loading, and facts about the model. Running is in session.cc.
#include "engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/format.h"
#include "engine_inside.h"
#include "engine_state.h"
#include "options.h"

namespace sluice {
namespace {

constexpr size_t kStagingBytes = 256 * 1024;
// Wanted at once of a split model's later headers, which are small: what is behind them is kept.
constexpr size_t kLaterHeaderBytes = 16 * 1024;
constexpr uint32_t kDefaultContext = 4096;
constexpr int32_t kDefaultThreads = 8;
constexpr int32_t kMaxHeadParts = 1024;
// Each row needs a few hundred bytes besides its own.
constexpr int64_t kMaxEmbeddingRows = 1 << 14;
// The code, the stacks, and the tokenizer's tables beyond the size of the header. (A wasm module's
// code is not in its memory.)
#ifdef __EMSCRIPTEN__
constexpr uint64_t kConstantBytes = 4u << 20;
#else
constexpr uint64_t kConstantBytes = 8u << 20;
#endif

// 0 if one is unknown (0), or if the sum is too large.
uint64_t sum_of(const std::vector<uint64_t>& sizes) {
  uint64_t sum = 0;
  for (const uint64_t size : sizes) {
    if (size == 0 || size > UINT64_MAX - sum) return 0;
    sum += size;
  }
  return sum;
}

Status validate(const LoadOptions& options) {
  SLUICE_TRY(check_options(options));
  if (options.layer_places < 0 || options.head_parts < 0 || options.head_parts > kMaxHeadParts ||
      options.embedding_rows < 0 || options.embedding_rows > kMaxEmbeddingRows) {
    return fail(Code::invalid_argument, "layer_places is ", options.layer_places,
                ", head_parts is ", options.head_parts, ", embedding_rows is ",
                options.embedding_rows, "; expected 0 or more, ", kMaxHeadParts, " parts and ",
                kMaxEmbeddingRows, " rows at most");
  }
  if (choose_kernels(options.kernels) == nullptr) {
    const char* forced = options.kernels.empty() ? std::getenv("SLUICE_KERNELS") : nullptr;
    return fail(Code::invalid_argument, forced != nullptr ? "SLUICE_KERNELS" : "the option kernels",
                " is '", printable(forced != nullptr ? forced : options.kernels),
                "', which names no kernels that run here; those that do are ",
                supported_kernel_names());
  }
  return {};
}

int32_t thread_count(const LoadOptions& options) {
  if (options.threads > 0) return options.threads;
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kDefaultThreads);
}

uint32_t context_of(const Config& config, const LoadOptions& options) {
  if (options.context_size > 0) return options.context_size;
  return static_cast<uint32_t>(std::min<int64_t>(config.context_length, kDefaultContext));
}

Cut cut_of(const LoadOptions& options) {
  return {std::max(options.head_parts, 1), options.embedding_rows > 0};
}

SharedPlaces shared_places_of(const Model& model, const LoadOptions& options) {
  SharedPlaces shared{{}, options.layer_places};
  for (int64_t l = 0; l < model.config().n_layers; ++l) shared.slots.push_back(model.layer_slot(l));
  for (int part = 0; part < model.n_head_parts() && model.n_head_parts() > 1; ++part)
    shared.slots.push_back(model.head_part_slot(part));
  return shared;
}

SingleRows rows_of(const Model& model, const LoadOptions& options) {
  if (options.embedding_rows == 0) return {};
  return {model.token_table(), options.embedding_rows};
}

MemoryPlan plan_of(const Gguf& header, const Model& model, const LoadOptions& options) {
  const int64_t context = context_of(model.config(), options);
  MemoryPlan plan;
  plan.weights =
      Weights(model.needs(), shared_places_of(model, options), rows_of(model, options)).bytes();
  plan.kv = KvCache(model.layers(), kv_type_named(options.kv_type)).bytes_for(context);
  plan.activations = Pass::activation_bytes(model, context);
  // The header is kept. The tokenizer that is made from it is about as large again.
  plan.constant =
      Pass::scratch_bytes(model, thread_count(options)) + 2 * header.data_offset + kConstantBytes;
  return plan;
}

Status check_context(const Model& model, const LoadOptions& options) {
  const int64_t context = context_of(model.config(), options);
  if (model.max_positions() == 0 || context <= model.max_positions()) return {};
  return fail(Code::invalid_argument, "the context size is ", context,
              ", but the model knows only ", model.max_positions(), " positions; ask for no more");
}

Status check_plan(const MemoryPlan& plan, const LoadOptions& options) {
  const std::string parts =
      concat(human_bytes(plan.total()), " (weights ", human_bytes(plan.weights), ", KV cache ",
             human_bytes(plan.kv), ", activations ", human_bytes(plan.activations), ", constant ",
             human_bytes(plan.constant), ")");
  if (options.memory_budget > 0 && plan.total() > options.memory_budget) {
    return fail(Code::budget_too_small, "the model needs ", parts, ", but the budget is ",
                human_bytes(options.memory_budget),
                "; give it more, or a smaller context or model");
  }
  if (plan.total() > machine_memory()) {
    return fail(Code::out_of_memory, "the model needs ", parts, ", but there are ",
                human_bytes(machine_memory()), " at most; use a smaller context or model");
  }
  return {};
}

}  // namespace

Result<MemoryPlan> plan_memory(const Gguf& header, const LoadOptions& options) {
  SLUICE_TRY(validate(options));
  SLUICE_ASSIGN(const auto model, make_model(header, cut_of(options)));
  SLUICE_TRY(check_context(*model, options));
  return plan_of(header, *model, options);
}

Engine::Engine() : state_(std::make_unique<State>()) {}
Engine::~Engine() = default;

Status Engine::State::prepare(const LoadOptions& load_options) {
  SLUICE_TRY(validate(load_options));
  options = load_options;
  kernels = choose_kernels(options.kernels);
  load_started = Clock::now();
  return {};
}

Result<std::unique_ptr<Engine>> Engine::create(const LoadOptions& options,
                                               std::vector<uint64_t> file_sizes, Arrival arrival) {
  std::unique_ptr<Engine> engine(new Engine());
  State& s = *engine->state_;
  SLUICE_TRY(s.prepare(options));
  s.total_size = sum_of(file_sizes);
  s.arrival = arrival;
  s.parser = ModelParser(std::move(file_sizes));
  s.staging.resize(kStagingBytes);
  return engine;
}

// The header is complete. Checks everything about the model and allocates the memory for its
// weights, before the first weight is read.
Status Engine::State::bind(Gguf&& gguf) {
  header = std::move(gguf);
  SLUICE_ASSIGN(model, make_model(header, cut_of(options)));
  const SharedPlaces shared = shared_places_of(*model, options);
  if ((shared.enabled() || model->single_rows()) && arrival == Arrival::file_order) {
    return fail(Code::budget_too_small, "a stream brings each byte of the file once, so all ",
                n_layers(),
                " layers, the embedding and the head must be in memory; give it memory for all, or "
                "a file that can be read again");
  }
  SLUICE_TRY(check_context(*model, options));
  context_size = context_of(model->config(), options);
  plan = plan_of(header, *model, options);
  SLUICE_TRY(check_plan(plan, options));
  pool = std::make_unique<Pool>(thread_count(options));
  tuner = ThreadTuner(pool->size(), options.threads == 0 || options.tune_threads);
  weights.emplace(model->needs(), shared, rows_of(*model, options));
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
  header_ready = true;
  record_load_time();
}

std::span<uint8_t> Engine::State::header_place() {
  const std::span<uint8_t> place = std::span(staging).subspan(staged);
  if (parser.files().size() == 1) return place;
  return place.first(std::min(place.size(), kLaterHeaderBytes));
}

std::vector<Want> Engine::wants(uint64_t bytes) {
  State& s = *state_;
  if (s.header_read) return s.weights->wants(bytes);
  return {{s.parser.position(), s.header_place(), 1}};
}

Status Engine::filled(uint64_t offset, uint64_t n) {
  State& s = *state_;
  if (!s.header_read) return s.take_header(offset, n);
  SLUICE_TRY(s.weights->filled(offset, n));
  s.taken += n;
  s.record_load_time();
  return {};
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
  header_read = true;
  return {};
}

Status Engine::build_vocabulary() {
  State& s = *state_;
  if (!s.header_read || s.header_ready) {
    return fail(Code::invalid_argument, "build_vocabulary() is called once, after header_read()");
  }
  SLUICE_TRY(s.read_vocabulary());
  s.become_ready();
  return {};
}

Status Engine::end_of_file(uint64_t size) {
  State& s = *state_;
  if (!s.header_read) return s.parser.finish();
  // With any_order, weights that aren't resident may be wanted later: only the size counts.
  const bool whole = s.arrival == Arrival::any_order && size >= s.header.file_bytes();
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
  if (header_ready && weights->resident())
    load_ms.compare_exchange_strong(unknown, milliseconds(load_started, Clock::now()));
}

bool Engine::header_read() const { return state_->header_read; }
bool Engine::header_ready() const { return state_->header_ready; }
bool Engine::loaded() const { return state_->header_ready && state_->weights->resident(); }

std::span<const FilePlace> Engine::files() const {
  return state_->header_read ? state_->header.files : state_->parser.files();
}

LoadProgress Engine::progress() const {
  const State& s = *state_;
  LoadProgress progress{s.taken, s.total_size, 0, 0};
  if (!s.header_read) return progress;
  if (progress.total == 0) progress.total = s.header.file_bytes();
  if (s.weights->resident() || progress.loaded > progress.total) progress.loaded = progress.total;
  progress.layers_total = static_cast<int32_t>(s.n_layers());
  for (int64_t layer = 0; layer < s.n_layers(); ++layer) {
    if (s.weights->state(s.model->layer_slot(layer)) == SlotState::resident)
      ++progress.layers_ready;
  }
  return progress;
}

const Gguf& Engine::header() const { return state_->header; }
const Config& Engine::config() const { return state_->model->config(); }
const Tokenizer& Engine::tokenizer() const { return *state_->tokenizer; }
uint32_t Engine::context_size() const { return state_->context_size; }
MemoryPlan Engine::memory_plan() const { return state_->plan; }

std::vector<PhaseTime> Engine::take_profile() {
  if (!state_->header_ready) return {};
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
  if (!header_ready) return;
  stats.threads = pool->size();
  stats.decode_threads = tuner.best();
  stats.bytes_per_token = model->weight_bytes_per_token();
  stats.resident_bytes = weights->held_bytes() + Pass::scratch_bytes(*model, pool->size()) +
                         pass->held_activation_bytes();
  for (const Session::State* one : sessions) stats.resident_bytes += one->held_bytes();
}

// --- the engine's own session --------------------------------------------------------------------

namespace {

std::unexpected<Error> header_missing() {
  return fail(Code::invalid_argument, "the model's header has not arrived yet");
}

}  // namespace

Session& Engine::session() { return *state_->session; }

Status Engine::start(std::span<const TokenId> prompt, const GenerateOptions& options) {
  return header_ready() ? session().start(prompt, options) : header_missing();
}
Status Engine::start(std::string_view prompt, const GenerateOptions& options) {
  return header_ready() ? session().start(prompt, options) : header_missing();
}
Status Engine::start_logits(std::span<const TokenId> ids, int64_t batch, bool all_positions) {
  return header_ready() ? session().start_logits(ids, batch, all_positions) : header_missing();
}
Result<Event> Engine::step() {
  if (header_ready()) return session().step();
  Event event;
  event.kind = Event::Kind::done;
  return event;
}
void Engine::cancel() {
  if (header_ready()) session().cancel();
}
bool Engine::running() const { return header_ready() && state_->session->running(); }
std::span<const float> Engine::logits() const {
  return header_ready() ? state_->session->logits() : std::span<const float>();
}
void Engine::reset() {
  if (header_ready()) session().reset();
}

std::string context_note(uint64_t context, uint64_t trained) {
  if (context <= trained) return "";
  return concat("the context of ", context, " tokens is larger than the ", trained,
                " that the model was trained for; what it writes beyond them may make no sense");
}

std::vector<std::string> Engine::notes() const {
  const State& s = *state_;
  if (!s.header_ready) return {};
  std::vector<std::string> notes = s.tokenizer->warnings();
  std::string context =
      context_note(s.context_size, static_cast<uint64_t>(s.model->config().context_length));
  if (!context.empty()) notes.push_back(std::move(context));
  const int asked = thread_count(s.options);
  if (s.pool->size() < asked) {
    notes.push_back(
        concat("only ", s.pool->size(), " of ", counted(static_cast<uint64_t>(asked), "thread"),
               " could be started, as the system allows no more; it works, but slower"));
  }
  return notes;
}

}  // namespace sluice
