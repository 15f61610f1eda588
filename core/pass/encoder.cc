// Steps that encoders alone have (pass/pass.h): norms of the residual itself, convolutions over
// both sides, the head for masked words, and the dense layers behind a pooled vector.
#include <algorithm>

#include "pass/pass.h"

namespace sluice {

void Pass::norm_residual(const Work& work, const Norm& norm) {
  if (norm.kind == Norm::none) return;
  parallel_for(Phase::branch, work.worker, work.n_tokens, [&](Share mine) {
    const int64_t n = model_.config().n_embd;
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      float* x = row(Buffer::residual, work, t, n);
      normalize(norm, x, n, x);
      check(work.worker, x, n);
    }
  });
}

// A token's row of what is kept: u, then c.
void Pass::conv_inputs(const Work& work, const Norm& norm, const ShortConv& conv) {
  project(work, norm, conv.in);
  const int64_t width = model_.layer(work.layer).conv_channels;
  parallel_for(Phase::rope, work.worker, work.n_tokens, [&](Share mine) {
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      const float* b = row(Buffer::q, work, t, width);
      const float* c = row(Buffer::k, work, t, width);
      const float* x = row(Buffer::v, work, t, width);
      float* kept = row(Buffer::kept, work, t, 2 * width);
      for (int64_t i = 0; i < width; ++i) kept[i] = b[i] * x[i];
      std::copy_n(c, width, kept + width);
    }
  });
}

// Beyond the text's ends u is 0. A worker takes some tokens.
void Pass::centered_conv(const Work& work, const ShortConv& conv) {
  const LayerShape& shape = model_.layer(work.layer);
  const int64_t width = shape.conv_channels, taps = shape.conv_tokens, side = taps / 2;
  parallel_for(Phase::attention, work.worker, work.n_tokens, [&](Share mine) {
    const float* weights = weights_.vector(conv.kernel);
    for (int64_t t = mine.begin; t < mine.end; ++t) {
      const PassText& text = now_->text_of(work.first_token + t);
      const int64_t at = work.first_token + t - text.first;
      const int64_t first = std::max<int64_t>(0, side - at);
      const int64_t end = std::min(taps, side + text.n_tokens - at);
      float* out = row(Buffer::attended, work, t, width);
      std::fill_n(out, width, 0.0f);
      for (int64_t j = first; j < end; ++j) {
        const float* u = row(Buffer::kept, work, t - side + j, 2 * width);
        for (int64_t i = 0; i < width; ++i) out[i] = out[i] + weights[i * taps + j] * u[i];
      }
      const float* c = row(Buffer::kept, work, t, 2 * width) + width;
      for (int64_t i = 0; i < width; ++i) out[i] = c[i] * out[i];
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
