// Rows of the residual stream through the head alone (Session::start_head).
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "session/session_state.h"

namespace sluice {
namespace {

// As the steps have it (pass/steps.cc): a norm's sums stay finite below this.
constexpr float kTooLarge = 0x1p48f;

}  // namespace

// hidden() stays, because the rows may be its own.
Status Session::start_head(std::span<const float> rows) {
  State& s = *state_;
  const Model& model = *s.runtime.model;
  SLUICE_TRY(s.check_idle());
  SLUICE_TRY(check_writes_text(model));
  const auto n_embd = static_cast<size_t>(s.n_embd());
  const size_t n = rows.size() / n_embd;
  const auto usable = [](float x) { return std::abs(x) < kTooLarge; };  // not of a NaN
  if (n == 0 || n * n_embd != rows.size() || !std::ranges::all_of(rows, usable)) {
    return fail(
        Code::invalid_argument,
        "the head takes whole rows of finite numbers; give those that a run gave of a layer");
  }
  const ResultBytes bytes = {.logits = 4 * static_cast<uint64_t>(s.logits_stride()) * n,
                             .hidden = s.rows_given.hidden.size()};
  const uint64_t x = Pass::state_bytes(model, static_cast<int64_t>(n));
  const uint64_t more = bytes.total() + std::max<uint64_t>(x, s.pass.x.size());
  const uint64_t freed = s.rows_given.bytes() + s.pass.x.size();
  SLUICE_TRY(s.runtime.check_memory(more > freed ? more - freed : 0, n, "a block of logits"));
  SLUICE_TRY(s.rows_given.make_room(bytes));
  SLUICE_TRY(s.runtime.pass->begin_rows(s.pass, rows));
  Run& run = s.reset_run(Clock::now());
  s.rows_given.n_logits = n * static_cast<size_t>(s.n_vocab());
  run.clock.started = run.clock.asked;
  run.results.logits.all = true;
  run.head_alone = true;
  run.cursor.end = n;
  run.cursor.start_pass();
  run.cursor.layer = s.runtime.n_layers();
  return {};
}

// A block of a part of the head. False: it waits for weights.
Result<bool> Session::State::head_slice() {
  runtime.pool->limit(runtime.pool->size());
  if (!runtime.weights->slots_resident()) weights_cursor().begin_at(runtime.model->head_slot());
  SLUICE_ASSIGN(const ResultSlice ended, run_head());
  if (ended != ResultSlice::done) return ended == ResultSlice::computed;
  compact_logits();
  finish_prompt();
  return true;
}

}  // namespace sluice
