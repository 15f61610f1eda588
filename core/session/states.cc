// Hidden states of several texts. (Their runs: session/vectors.cc.)
#include "session/states.h"

#include <algorithm>

#include "session/session_state.h"

namespace sluice {

// Copies the rows that are wanted, at the point of a pass that has them. Calls the observer that
// the session has as well, and leaves it attached when it goes.
class Session::State::StatesKeeper final : public Observer {
 public:
  explicit StatesKeeper(State& session)
      : session_(session), next_(session.pass.observer), next_points_(session.pass.points) {
    session.runtime.pass->set_observer(session.pass, this);
  }
  ~StatesKeeper() override {
    session_.pass.observer = next_;
    session_.pass.points = std::move(next_points_);
  }

  Points points(int64_t layer) const override {
    Points points = next_points(layer);
    if (!std::ranges::binary_search(wanted().layers, layer)) return points;
    points.attention_branch |= wanted().at == StatesAt::attention;
    points.ffn_branch |= wanted().at == StatesAt::ffn;
    points.block_output |= wanted().at == StatesAt::residual;
    return points;
  }
  void read(const PointRows<const float>& rows, const ObservedMatrix& matrix) override {
    next_->read(rows, matrix);
  }
  void visit(const PointRows<float>& rows) override;

 private:
  const StatesWanted& wanted() const { return *session_.run->texts->states; }
  Points next_points(int64_t layer) const {
    return next_points_.empty() ? Points{} : next_points_[static_cast<size_t>(layer)];
  }

  State& session_;
  Observer* const next_;
  std::vector<Points> next_points_;
};

namespace {

bool has(const Points& points, Point point) {
  switch (point) {
    case Point::linear_input:
      return points.linear_input;
    case Point::attention_branch:
      return points.attention_branch;
    case Point::ffn_branch:
      return points.ffn_branch;
    case Point::block_output:
      return points.block_output;
    case Point::logits:
      return points.logits;
  }
  return false;
}

Point point_of(StatesAt at) {
  return at == StatesAt::residual    ? Point::block_output
         : at == StatesAt::attention ? Point::attention_branch
                                     : Point::ffn_branch;
}

}  // namespace

// The tokens of a layer come in their order.
void Session::State::StatesKeeper::visit(const PointRows<float>& rows) {
  if (has(next_points(rows.layer), rows.point)) next_->visit(rows);
  const auto layer = std::ranges::lower_bound(wanted().layers, rows.layer);
  if (rows.point != point_of(wanted().at) || layer == wanted().layers.end() || *layer != rows.layer)
    return;
  const TextRun& texts = *session_.run->texts;
  const auto n_layers = static_cast<int64_t>(wanted().layers.size());
  const StatesOf of = wanted().of;
  for (int64_t i = 0; i < rows.n_tokens; ++i) {
    const int64_t token = rows.first_token + i;
    const size_t index = text_of(texts.now, token);
    const PassText& text = texts.now[index];
    const bool last = token + 1 == text.end();
    if (of == StatesOf::last && !last) continue;
    // All rows of the run before those of this text, and of it those before this one.
    const size_t before = of == StatesOf::all
                              ? session_.run->cursor.begin + static_cast<size_t>(text.first)
                              : texts.done + index;
    const int64_t positions = of == StatesOf::all ? text.n_tokens : 1;
    const int64_t position = of == StatesOf::all ? token - text.first : 0;
    float* to = session_.rows_given.states.as<float>() +
                (static_cast<int64_t>(before) * n_layers +
                 (layer - wanted().layers.begin()) * positions + position) *
                    rows.width;
    if (of != StatesOf::mean) {
      std::ranges::copy(rows.row(i), to);
      continue;
    }
    if (token == text.first) std::fill_n(to, rows.width, 0.0f);
    session_.runtime.kernels->add(rows.row(i).data(), rows.width, to);
    if (!last) continue;
    const auto n_tokens = static_cast<float>(text.n_tokens);
    for (int64_t j = 0; j < rows.width; ++j) to[j] = to[j] / n_tokens;
  }
}

Status Session::start_states(std::vector<std::vector<TokenId>> texts, const StatesWanted& wanted,
                             int64_t batch) {
  State& s = *state_;
  TextRun run(s.runtime.model->layers());
  run.states = wanted;
  SLUICE_TRY(s.start_texts(std::move(run), std::move(texts), batch));
  s.run->texts->keeper = std::make_unique<State::StatesKeeper>(s);
  return {};
}

std::span<const float> Session::states() const {
  return {state_->rows_given.states.as<float>(), state_->rows_given.n_states};
}

}  // namespace sluice
