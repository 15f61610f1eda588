// Takes the identity of a model: the hash of what tells it from others (weights/identity.h).
#include "base/format.h"
#include "engine/engine_state.h"

namespace sluice {

// False: it waits for weights. What stays in memory is taken as it comes, the rest by a cursor that
// goes through the slots as a run does.
bool Engine::State::take_identity() {
  const auto reach_slot = [&](int slot) {
    if (identifying == nullptr) identifying = std::make_unique<Weights::Cursor>(*weights);
    return identifying->move_to(slot);
  };
  for (int slot = 0; slot < model->n_slots() && !identity->known(); ++slot) {
    if (!identity->lacks(slot)) continue;
    const bool here = weights->stays(slot) && weights->state(slot) == SlotState::resident;
    if (!here && !reach_slot(slot)) return false;
    identity->take(*weights, slot);
  }
  // It holds no slot while it waits for rows.
  if (identifying != nullptr && identifying->slot() >= 0) identifying.reset();
  // Of tables in no slot. Their rows have places, but not for all at once.
  for (const int table : weights->row_tables()) {
    while (!identity->known()) {
      const auto rows = identity->missing_rows(table, static_cast<size_t>(row_places));
      if (rows.empty()) break;
      if (!identifying) identifying = std::make_unique<Weights::Cursor>(*weights);
      if (!identifying->reach_rows(rows)) return false;
      for (const TokenId row : rows) identity->take_row(*weights, table, row);
      identifying->rows_used();
    }
  }
  if (!identity->known()) identity->end();
  return true;
}

Result<bool> Engine::identify() {
  State& s = *state_;
  if (!s.has_tokenizer)
    return fail(Code::invalid_argument, "the model's header has not arrived yet");
  // A run may have taken what was missing; but nothing must be read for a cursor that stays behind.
  if (s.identity->known() && s.identifying == nullptr) return true;
  SLUICE_TRY(s.check_or_close_source());
  s.note_arrivals();
  const bool known = s.take_identity();
  if (known) s.identifying.reset();
  s.wake_source();
  return known;
}

uint64_t Engine::identity() const { return state_->identity->value(); }

void Engine::stop_identifying() {
  state_->identifying.reset();
  state_->wake_source();
}

}  // namespace sluice
