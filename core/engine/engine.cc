// Engine: loading. What is loaded, by wants() and filled().
#include "engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/format.h"
#include "engine/engine_state.h"
#include "engine/plan.h"
#include "options/rows.h"
#include "session/session_state.h"

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

Runtime& Engine::runtime() { return *state_; }

Status Engine::State::prepare(const LoadOptions& load_options) {
  SLUICE_TRY(check_load_options(load_options));
  options = load_options;
  kernels = choose_kernels(options.kernels);
  kv_type = kv_type_named(options.kv_type);
  memory_budget = options.memory_budget;
  snapshot_memory = options.snapshot_memory;
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
  SLUICE_ASSIGN(Plan planned, plan_engine(header, options, access, plan_override));
  model = std::move(planned.model);
  plan = planned.memory;
  context_size = plan.context_size;
  memory_limit = planned.limit;
  fixed_memory = planned.fixed;
  planned_ropes = planned.ropes;
  bytes_per_token = plan.per_token;
  pool = std::make_unique<Pool>(thread_count(options));
  tuner = ThreadTuner(pool->size(), options.threads == 0 || options.tune_threads);
  weights.emplace(model->manifest(), planned.shared, planned.rows);
  weights->keep_packed(packed_keeper);
  identity.emplace(header, model->manifest());
  row_places = planned.rows.places;
  left_out = model->bytes_left_out();
  SLUICE_TRY(weights->allocate());
  pass.emplace(*model, *weights, *kernels, *pool, context_size, options.profile);
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
  if (whole || s.weights->all_resident()) return {};
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

bool Engine::has_layout() const { return state_->has_layout; }
bool Engine::has_tokenizer() const { return state_->has_tokenizer; }
bool Engine::ready() const { return state_->has_tokenizer && state_->weights->ready(); }
bool Engine::loaded() const { return state_->has_tokenizer && state_->weights->all_resident(); }

Session& Engine::session() { return *state_->session; }

}  // namespace sluice
