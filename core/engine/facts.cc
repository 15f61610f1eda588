// What an engine says of itself: progress, slots, memory, figures, notes.
#include <algorithm>

#include "base/format.h"
#include "engine/engine_state.h"
#include "engine/model_sampling.h"
#include "engine/notes.h"
#include "engine/plan.h"
#include "session/session_state.h"

namespace sluice {

std::span<const FilePlace> Engine::files() const {
  return state_->has_layout ? state_->header.files : state_->parser.files();
}

uint64_t Engine::file_bytes() const {
  const State& s = *state_;
  return s.total_size == 0 && s.has_layout ? s.header.file_bytes() : s.total_size;
}

LoadProgress Engine::progress() const {
  const State& s = *state_;
  LoadProgress progress{s.taken, file_bytes(), s.taken, 0, 0};
  if (!s.has_layout) return progress;
  // Of a table that is in no slot only single rows come.
  progress.total -= std::min(progress.total, s.left_out);
  if (s.weights->ready() || progress.loaded > progress.total) progress.loaded = progress.total;
  progress.layers_total = static_cast<int32_t>(s.n_layers());
  for (int64_t layer = 0; layer < s.n_layers(); ++layer) {
    // Experts that take turns come when they are chosen.
    const int own = s.model->layer_slot(layer), end = s.model->layer_slot(layer + 1);
    bool ready = s.weights->state(own) == SlotState::resident;
    for (int slot = own + 1; slot < end && ready; ++slot)
      ready = !s.weights->stays(slot) || s.weights->state(slot) == SlotState::resident;
    progress.layers_ready += ready;
  }
  return progress;
}

namespace {

// Adds an expert to the view of its layer.
void add_expert(const Weights::SlotProgress& expert, SlotView& layer) {
  const double again = expert.fills > 1 ? expert.fills - 1.0 : 0;
  const auto bytes = static_cast<double>(layer.bytes), more = static_cast<double>(expert.bytes);
  if (layer.fills > 0) layer.fills += (again - (layer.fills - 1)) * (more / (bytes + more));
  layer.bytes += expert.bytes;
  layer.arrived += expert.arrived;
  layer.reread = layer.reread || expert.shares_place;
  const bool missing = !expert.shares_place && expert.state != SlotState::resident;
  if (missing && layer.state == SlotView::State::resident) layer.state = SlotView::State::arriving;
}

}  // namespace

std::vector<SlotView> Engine::slots() const {
  std::vector<SlotView> views;
  const State& s = *state_;
  if (!s.has_layout) return views;
  std::vector<int> computing;
  for (const Session::State* session : s.sessions) computing.push_back(session->slot_now());
  const Model& model = *s.model;
  for (int slot = 0; slot < model.n_slots(); ++slot) {
    const Weights::SlotProgress weights = s.weights->view(slot);
    if (model.manifest().is_optional(slot)) {
      add_expert(weights, views.back());
      continue;
    }
    SlotView& view = views.emplace_back();
    view.kind = slot == model.embedding_slot() ? SlotView::Kind::embedding
                : model.is_table_slot(slot)    ? SlotView::Kind::table
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
ModelMakes Engine::makes() const { return state_->model->makes(); }
Pooling Engine::file_pooling() const { return state_->model->pooling(); }
int64_t Engine::vector_width() const { return state_->model->vector_width(); }
int64_t Engine::state_width() const { return state_->model->config().n_embd; }
MemoryPlan Engine::memory_plan() const { return state_->plan; }

uint64_t Engine::memory_left() const { return has_layout() ? state_->memory_left() : 0; }

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

void add_context_note(uint64_t context, uint64_t trained, Notes& notes) {
  if (context <= trained) return;
  notes.push_back(
      {NoteCode::context_beyond_training,
       concat("the context of ", context, " tokens is larger than the ", trained,
              " that the model was trained for; what it computes beyond them may make no sense"),
       {{"contextSize", context}, {"trained", trained}}});
}

Notes Engine::notes() const {
  const State& s = *state_;
  if (!s.has_tokenizer) return {};
  Notes notes = s.tokenizer->warnings();
  for (Note& note : read_model_sampling(s.header).notes) notes.push_back(std::move(note));
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
