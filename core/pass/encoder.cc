// Steps that encoders alone have (pass/pass.h): norms of the residual itself, the head for masked
// words, and the dense layers behind a pooled vector.
#include <algorithm>

#include "pass/pass.h"

namespace sluice {

void Pass::norm_residual(const Work& work, const Norm& norm) {
  parallel_for(Phase::branch, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.config().n_embd;
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* x = row(Buffer::residual, work, t, n);
      normalize(norm, x, n, x);
      check(work.worker, x, n);
    }
  });
}

// The transform is made anew for each part of the head: it costs less than a part does.
void Pass::masked_logits(const Work& work, const Linear& dense, const Norm& norm,
                         std::span<const Linear> parts) {
  const int64_t n = model_.config().n_embd;
  const Linear& head = parts[static_cast<size_t>(work.layer)];
  multiply(Phase::head, work, {Buffer::chosen, n, {}}, Epilogue::gelu_exact, {&dense, 1});
  multiply(Phase::head, work, {Buffer::hidden, n, norm}, Epilogue::keep, {&head, 1});
}

// The vectors come as rows of `branch`; the products are made in `hidden` and `branch` in turn.
bool Pass::run_dense(PassState& pass, const float* pooled, int64_t n, float* out) {
  const int64_t width = model_.config().n_embd, made = model_.vector_width();
  for (int64_t first = 0; first < n;) {
    take_up(pass);
    const Work work{0, 0, 0, std::min(n - first, block_capacity_)};
    for (int64_t t = 0; t < work.n_tokens; ++t)
      std::copy_n(pooled + (first + t) * width, width, row(Buffer::branch, work, t, width));
    Rows rows{Buffer::branch, width, {}};
    for (const Linear& dense : model_.dense()) {
      // A late worker still runs the job when `rows` and `work` are others.
      pool_.run([this, n_now = work.n_tokens, from = rows.from, cols = rows.cols,
                 linear = &dense](int worker) {
        multiply(Phase::head, Work{worker, 0, 0, n_now}, {from, cols, {}}, Epilogue::keep,
                 {linear, 1});
      });
      rows = {dense.out, rows_of(dense.matrix), {}};
    }
    for (int64_t t = 0; t < work.n_tokens; ++t)
      std::copy_n(row(rows.from, work, t, made), made, out + (first + t) * made);
    if (!all_finite()) return false;
    first += work.n_tokens;
  }
  return true;
}

}  // namespace sluice
