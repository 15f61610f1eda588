#include "api/lens.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/math.h"
#include "sample/sampler.h"
#include "session/results.h"
#include "text/tokenizer.h"

namespace sluice {
namespace {

constexpr size_t kMostPositions = 128;            // whose states are there at a time
constexpr size_t kMostRows = 512;                 // of the head at a time
constexpr size_t kLogitBytes = size_t{32} << 20;  // of these
constexpr size_t kMostNumbers = 4194304;          // tokens of all cells: 32 MB

// log_f64 with an error below 1e-9, for each token of each cell. x is above 0.
double quick_log(double x) {
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bccu;  // m is from it to its double
  const uint64_t bits = std::bit_cast<uint64_t>(x) + (0x3ff0000000000000u - kRootOfHalf);
  const auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  const double m = std::bit_cast<double>((bits & 0xfffffffffffffu) + kRootOfHalf);
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  double p = 1.0 / 9.0;
  p = p * square + 1.0 / 7.0;
  p = p * square + 1.0 / 5.0;
  p = p * square + 1.0 / 3.0;
  p = p * square + 1.0;
  return static_cast<double>(exponent) * 0x1.62e42fefa39efp-1 + 2.0 * s * p;
}

}  // namespace

Result<std::unique_ptr<LensRun>> LensRun::start(Engine& engine, Session& session,
                                                std::vector<TokenId> ids, LensWanted wanted) {
  const auto fill = [](std::vector<int64_t>& list, int64_t n, std::string_view what) {
    for (int64_t i = 0; list.empty() || (i > 0 && i < n); ++i) list.push_back(i);
    return check_ascending(list, n, what);
  };
  SLUICE_TRY(fill(wanted.positions, static_cast<int64_t>(ids.size()), "position"));
  SLUICE_TRY(fill(wanted.layers, engine.progress().layers_total, "layer"));
  const size_t cells = wanted.positions.size() * wanted.layers.size();
  wanted.top = static_cast<int>(std::min<int64_t>(wanted.top, engine.tokenizer().vocab_size()));
  if (wanted.top < 1 || cells * static_cast<size_t>(wanted.top) > kMostNumbers) {
    return fail(Code::invalid_argument,
                "the lens gives 1 token of each cell or more, and 4194304 in all at most: ask for "
                "fewer tokens, positions or layers");
  }
  std::unique_ptr<LensRun> run(new LensRun(engine, session, std::move(ids), std::move(wanted)));
  SLUICE_TRY(run->start_states());
  return run;
}

LensRun::LensRun(Engine& engine, Session& session, std::vector<TokenId> ids, LensWanted wanted)
    : session_(session),
      ids_(std::move(ids)),
      wanted_(std::move(wanted)),
      layers_(wanted_.layers),
      n_vocab_(static_cast<size_t>(engine.tokenizer().vocab_size())) {
  const int64_t last = engine.progress().layers_total - 1;
  if (layers_.back() != last) layers_.push_back(last);
  const size_t cells = wanted_.positions.size() * wanted_.layers.size();
  cells_.top = wanted_.top;
  cells_.ids.resize(cells * static_cast<size_t>(cells_.top));
  cells_.logprobs.resize(cells_.ids.size());
  cells_.entropies.resize(cells);
  cells_.divergences.resize(cells);
}

// Begins to compute the states of the next positions, as many as there is memory for.
Status LensRun::start_states() {
  head_ = false;
  states_begin_ = position_;
  for (size_t n = std::min(kMostPositions, wanted_.positions.size() - position_);; n /= 2) {
    states_end_ = states_begin_ + n;
    Results results;
    for (size_t i = states_begin_; i < states_end_; ++i)
      results.hidden.chosen.push_back(static_cast<size_t>(wanted_.positions[i]));
    results.hidden_layers = layers_;
    results.reuse = true;
    const auto ids = std::span(ids_).first(results.hidden.chosen.back() + 1);
    const Status started = session_.start_results(ids, 0, results);
    if (started || started.error().code != Code::out_of_memory || n == 1) return started;
  }
}

// Begins to compute the logits of the next positions, as many as there is memory for.
Status LensRun::start_head() {
  head_ = true;
  const std::span<const float> hidden = session_.hidden();
  const size_t n_states = states_end_ - states_begin_;
  const size_t width = hidden.size() / (layers_.size() * n_states);
  const size_t most = std::min(kMostRows, kLogitBytes / (4 * n_vocab_)) / layers_.size();
  for (size_t n = std::clamp<size_t>(most, 1, states_end_ - position_);; n /= 2) {
    n_positions_ = n;
    std::vector<float> rows(n * layers_.size() * width);
    for (size_t row = 0; row < n * layers_.size(); ++row) {
      const size_t from = layer_of(row) * n_states + position_of(row) - states_begin_;
      std::memcpy(&rows[row * width], &hidden[from * width], 4 * width);
    }
    const Status started = session_.start_head(rows);
    if (started || started.error().code != Code::out_of_memory || n == 1) return started;
  }
}

Result<Event::Kind> LensRun::step() {
  if (ended_) return Event::Kind::done;
  if (row_ < n_rows_) {
    finish_row();
  } else {
    ended_ = true;  // unless all goes well
    SLUICE_ASSIGN(const Event event, session_.step());
    ended_ = event.kind == Event::Kind::done && event.finish != Finish::length;
    if (ended_ || event.kind != Event::Kind::done) return event.kind;
    row_ = 0;
    n_rows_ = head_ ? n_positions_ * layers_.size() : 0;
  }
  if (row_ < n_rows_) return Event::Kind::working;
  const Status begun = next();
  ended_ = ended_ || !begun;
  if (!begun) return std::unexpected(begun.error());
  return ended_ ? Event::Kind::done : Event::Kind::working;
}

void LensRun::cancel() {
  ended_ = true;
  if (session_.running()) session_.truncate(session_.tokens().size());
}

// Goes on when a run of the session has ended and its rows are finished.
Status LensRun::next() {
  if (!head_) return start_head();
  position_ += n_positions_;
  ended_ = position_ == wanted_.positions.size();
  if (ended_) return {};
  return position_ == states_end_ ? start_states() : start_head();
}

// What a row of logits says.
void LensRun::hear(std::span<const float> logits, Said& said) {
  const float max = *std::ranges::max_element(logits);
  double sum = 0, weighted = 0;
  said.weights.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const float below = logits[i] - max, weight = exp_f32(below);
    said.weights[i] = weight;
    sum += static_cast<double>(weight);
    weighted += static_cast<double>(weight) * static_cast<double>(below);
  }
  const double log = log_f64(sum);
  said.sum = sum;
  said.log_sum = static_cast<double>(max) + log;
  said.entropy = log - weighted / sum;
}

// Makes a cell of the next row of logits.
void LensRun::finish_row() {
  const size_t position = position_of(row_), layer = layer_of(row_);
  const size_t n_vocab = session_.logits().size() / n_rows_;
  const std::span<const float> logits = session_.logits().subspan(row_++ * n_vocab, n_vocab);
  const bool of_last = layer == n_layers();
  Said& said = of_last ? last_ : other_;
  hear(logits, said);
  if (layer == wanted_.layers.size()) return;  // the last layer isn't wanted
  const size_t cell = layer * wanted_.positions.size() + position;
  auto out = cell * static_cast<size_t>(cells_.top);
  for (const auto& [id, logprob] : best_logprobs(logits, cells_.top, said.log_sum)) {
    cells_.ids[out] = id;
    cells_.logprobs[out++] = logprob;
  }
  cells_.entropies[cell] = static_cast<float>(said.entropy);
  ++done_;
  if (of_last) return;
  // The entropy of the mean of both, less the mean of their entropies.
  double of_mean = 0;
  for (size_t i = 0; i < n_vocab; ++i) {
    const double mean = (static_cast<double>(said.weights[i]) / said.sum +
                         static_cast<double>(last_.weights[i]) / last_.sum) /
                        2;
    if (mean > 0) of_mean -= mean * quick_log(mean);
  }
  const double divergence = of_mean - (said.entropy + last_.entropy) / 2;
  cells_.divergences[cell] = static_cast<float>(std::max(divergence, 0.0));
}

}  // namespace sluice
