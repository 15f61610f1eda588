// What a run gives of its passes: logits, hidden states, a pooled vector.
#include <algorithm>
#include <array>
#include <cstring>

#include "session/session_state.h"

namespace sluice {
namespace {

// Tokens of a pass, at most a block of them and no more than `most`, by their indexes in the pass.
struct TokenBlock {
  std::array<int64_t, Pass::kBlockTokens> indexes;
  size_t n;

  // Those of the rows from `row` to `end`, of a pass that begins at position `begin`.
  TokenBlock(const Positions& positions, size_t row, size_t end, size_t begin,
             size_t most = Pass::kBlockTokens)
      : n(std::min(most, end - row)) {
    for (size_t i = 0; i < n; ++i) indexes[i] = static_cast<int64_t>(positions.at(row + i) - begin);
  }
  std::span<const int64_t> tokens() const { return std::span(indexes).first(n); }
};

}  // namespace

// Copies the rows that are asked for of a layer that all tokens of the pass have just been through.
void Session::State::keep_hidden(int64_t layer) {
  const Results& wanted = run->results;
  const auto at = std::ranges::lower_bound(wanted.hidden_layers, layer);
  if (at == wanted.hidden_layers.end() || *at != layer) return;
  const size_t end = wanted.hidden.rows_before(run->cursor.end);
  for (size_t row = wanted.hidden.rows_before(run->cursor.begin); row < end; ++row) {
    const auto token = static_cast<int64_t>(wanted.hidden.at(row) - run->cursor.begin);
    std::memcpy(hidden_row(at - wanted.hidden_layers.begin(), row),
                pass.x.as<float>() + token * n_embd(), static_cast<size_t>(4 * n_embd()));
  }
}

float* Session::State::hidden_row(int64_t layer_index, size_t row) const {
  const size_t rows = run->results.hidden.count(run->cursor.n_prompt);
  return rows_given.hidden.as<float>() +
         (static_cast<size_t>(layer_index) * rows + row) * static_cast<size_t>(n_embd());
}

// The norm is in head_slot(). With several parts it is a slot of its own, which stays, so the
// cursor doesn't go back to it.
bool Session::State::reach_head() {
  const int head = runtime.model->head_slot();
  return runtime.weights->state(head) == SlotState::resident || reach_slot(head);
}

// Computes what is asked for of this pass after its last layer.
Result<Session::State::ResultSlice> Session::State::run_results() {
  PassCursor& cursor = run->cursor;
  if (run->texts) return run->texts->states ? ResultSlice::done : run_vectors();
  if (run->generation)
    SLUICE_TRY(rows_given.make_room(result_bytes(*runtime.model, run->results, cursor.n_prompt)));
  if (!cursor.output_done && run->results.use_output(runtime.n_layers())) {
    if (!reach_head()) return ResultSlice::waits;
    if (!run_output()) return overflow("the final norm");
  }
  cursor.output_done = true;
  return run_head();
}

// The rows of the final norm. False: a number overflows.
bool Session::State::run_output() {
  const Results& wanted = run->results;
  const auto [begin, end] = std::pair(run->cursor.begin, run->cursor.end);
  const auto n = static_cast<size_t>(n_embd());
  if (!wanted.hidden_layers.empty() && wanted.hidden_layers.back() == runtime.n_layers()) {
    const auto last = static_cast<int64_t>(wanted.hidden_layers.size()) - 1;
    const size_t rows_end = wanted.hidden.rows_before(end);
    for (size_t row = wanted.hidden.rows_before(begin); row < rows_end;) {
      const TokenBlock block(wanted.hidden, row, rows_end, begin);
      if (!runtime.pass->run_output(pass, block.tokens(), hidden_row(last, row), n_embd()))
        return false;
      row += block.n;
    }
  }
  float* pooled = rows_given.pooled.as<float>();
  if (wanted.pooling == Pooling::mean) {
    if (begin == 0) std::fill_n(pooled, n, 0.0f);
    for (int64_t at = 0; at < pass.n_tokens; at += Pass::kBlockTokens) {
      const int64_t block = std::min(Pass::kBlockTokens, pass.n_tokens - at);
      if (!runtime.pass->add_output(pass, at, block, pooled)) return false;
    }
    if (end < run->cursor.n_prompt) return true;
    const auto tokens = static_cast<float>(end);
    for (size_t i = 0; i < n; ++i) pooled[i] = pooled[i] / tokens;
    return true;
  }
  const bool first = wanted.pooling == Pooling::first && begin == 0;
  const bool last = wanted.pooling == Pooling::last && end == run->cursor.n_prompt;
  const int64_t token[] = {first ? 0 : static_cast<int64_t>(end - 1 - begin)};
  return !(first || last) || runtime.pass->run_output(pass, token, pooled, n_embd());
}

// Computes logits, one part of the head after the other, and of each part those of one block of
// tokens after the other. A block of several tokens is a slice of its own.
Result<Session::State::ResultSlice> Session::State::run_head() {
  PassCursor& cursor = run->cursor;
  const Positions& wanted = run->results.logits;
  const size_t first = wanted.rows_before(cursor.begin), end = wanted.rows_before(cursor.end);
  if (first == end) return ResultSlice::done;
  for (; cursor.head_part < runtime.model->n_head_parts(); ++cursor.head_part) {
    if (!reach_head() || !reach_slot(runtime.model->head_part_slot(cursor.head_part)))
      return ResultSlice::waits;
    const size_t row = first + cursor.head_rows;
    if (row < end) {
      const TokenBlock block(wanted, row, end, cursor.begin,
                             std::min<size_t>(Pass::kBlockTokens, runtime.context_size));
      const auto stride = static_cast<int64_t>(logits_stride());
      float* out = rows_given.logits.as<float>() + static_cast<int64_t>(row) * stride;
      if (!runtime.pass->run_head(pass, block.tokens(), cursor.head_part, out, stride))
        return overflow("the head");
      cursor.head_rows += block.n;
      if (end - first > 1) return ResultSlice::computed;
    }
    cursor.head_rows = 0;
  }
  return ResultSlice::done;
}

// Floats from one row of logits to the next while they are computed: whole strips.
size_t Session::State::logits_stride() const { return static_cast<size_t>(padded_rows(n_vocab())); }

// Moves the rows of logits together, [rows][n_vocab], as logits() returns them.
void Session::State::compact_logits() {
  const auto n = static_cast<size_t>(n_vocab());
  if (n == logits_stride()) return;
  float* rows = rows_given.logits.as<float>();
  for (size_t row = 1; row * n < rows_given.n_logits; ++row)
    std::memmove(rows + row * n, rows + row * logits_stride(), 4 * n);
}

}  // namespace sluice
