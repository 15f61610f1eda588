// A pass's calls of its observer. Only the first worker makes them; the others wait.
#include "pass/pass.h"

namespace sluice {

void Pass::set_observer(PassState& pass, Observer* observer) const {
  pass.observer = observer;
  pass.points.clear();
  if (observer == nullptr) return;
  for (int64_t layer = 0; layer <= model_.config().n_layers; ++layer)
    pass.points.push_back(observer->points(layer));
}

template <typename T>
PointRows<T> Pass::rows_at(Point point, const Work& work, T* first, int64_t width,
                           int64_t stride) const {
  // The head's work has the part in place of the layer.
  const bool head = results_ != nullptr;
  return {.point = point,
          .layer = head ? model_.config().n_layers : work.layer,
          .n_tokens = work.n_tokens,
          .width = width,
          .stride = stride,
          .first = first,
          .first_position = now_->position_of(work.first_token),
          .first_token = work.first_token,
          .chosen = chosen_};
}

// A single token's row is made here as well, because every worker makes it for itself. All linears
// have the same transform.
void Pass::show_input(const Work& work, const Rows& rows, std::span<const Linear> linears) {
  pool_.only_first(work.worker, [&] {
    const bool own = work.n_tokens == 1;
    const Input in = own ? worker(work.worker).one.rows_of(rows.cols) : shared_.rows_of(rows.cols);
    if (own) make_row(work, rows, 0, in, linears[0].transform);
    const auto shown =
        rows_at<const float>(Point::linear_input, work, in.row(0), rows.cols, rows.cols);
    for (const Linear& linear : linears) {
      const Piece& piece = model_.manifest().piece(linear.matrix);
      now_->observer->read(shown, {linear.matrix, piece.tensor, piece.first_row});
    }
  });
}

void Pass::show(const Work& work, Point point, Buffer buffer) {
  pool_.only_first(work.worker, [&] {
    const int64_t width = model_.config().n_embd;
    const int64_t stride = buffer == Buffer::branch ? padded_rows(width) : width;
    visit(work, rows_at(point, work, row(buffer, work, 0, width), width, stride));
  });
}

// Norms the branch if it has a norm, shows it, and adds what has become of it.
void Pass::add_observed(const Work& work, const Addition& how) {
  const int64_t n = model_.config().n_embd;
  if (how.norm.kind != Norm::none) {
    parallel_for(Phase::branch, work.worker, work.n_tokens, [&](Share mine) {
      for (int64_t t = mine.begin; t < mine.end; ++t) {
        float* branch = row(Buffer::branch, work, t, n);
        normalize(how.norm, branch, n, branch);
      }
    });
  }
  show(work, how.point, Buffer::branch);
  parallel_for(Phase::branch, work.worker, work.n_tokens, [&](Share mine) {
    for (int64_t t = mine.begin; t < mine.end; ++t) add_branch(work, t, how.scale);
  });
}

// Whole rows, once their last part is computed.
void Pass::show_logits(const Work& work) {
  pool_.only_first(work.worker, [&] {
    float* first = results_ - work.layer * model_.head_part_rows();
    visit(work, rows_at(Point::logits, work, first, model_.config().n_vocab, results_stride_));
  });
}

void Pass::visit(const Work& work, const PointRows<float>& rows) {
  now_->observer->visit(rows);
  for (int64_t t = 0; t < rows.n_tokens; ++t) check(work.worker, rows.row(t).data(), rows.width);
}

}  // namespace sluice
