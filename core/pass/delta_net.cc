// The step of a gated delta net (pass/pass.h): a linear attention whose state is a matrix for each
// value head, changed by the delta rule.
//
// Each number is computed token by token in one order, in prompts and in decoding, so that its bits
// don't depend on the threads, the block or what else is in the pass.
#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "pass/pass.h"

namespace sluice {
namespace {

constexpr float kLeastNorm = 0x1p-60f;  // keeps quotients finite, whatever epsilon the file has

// x = x * (scale / max(|x|, eps)), with the sum of squares over 16 virtual lanes. n is a multiple
// of 16.
void scale_to_norm(float* x, int64_t n, float eps, float scale) {
  float lanes[16] = {};
  for (int64_t i = 0; i < n; i += 16)
    for (int64_t lane = 0; lane < 16; ++lane) lanes[lane] = lanes[lane] + x[i + lane] * x[i + lane];
  for (int64_t half = 8; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] = lanes[lane] + lanes[lane + half];
  const float factor = scale / std::max({std::sqrt(lanes[0]), eps, kLeastNorm});
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
}

}  // namespace

// Convolves the channels of one head over time, in place. `last` are the inputs of the tokens
// before, the oldest first: of the state where a stretch begins, then of its tokens.
void Pass::convolve(const Work& work, const DeltaNet& net, int64_t head) {
  const LayerShape& shape = model_.layer(work.layer);
  const DeltaShape& delta = shape.delta;
  const int64_t size = delta.head_dim, channels = delta.channels(), past = delta.conv_tokens - 1;
  const int64_t first = head * size;
  const float scale = head < delta.n_key_heads ? 1 / std::sqrt(static_cast<float>(size)) : 1;
  const float* weights = weights_.vector(net.kernel) + first * (past + 1);
  float kernel[kMaxDeltaTaps][kMaxDeltaDim];
  float last[kMaxDeltaTaps - 1][kMaxDeltaDim];
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j <= past; ++j) kernel[j][i] = weights[i * (past + 1) + j];
  const int64_t begin = now_->position_of(work.first_token);
  const int64_t end = begin + work.n_tokens;
  RecurrentState::Stretch stretch;
  for (int64_t at = begin; at < end; at += stretch.n) {
    stretch = now_->timeline->recurrent().stretch(work.layer, at, end);
    for (int64_t j = 0; j < past; ++j)
      std::copy_n(stretch.from + j * channels + first, size, last[j]);
    for (int64_t t = 0; t < stretch.n; ++t) {
      float* x = row(Buffer::q, work, at - begin + t, channels) + first;
      float sum[kMaxDeltaDim];
      for (int64_t i = 0; i < size; ++i) sum[i] = kernel[0][i] * last[0][i];
      for (int64_t j = 1; j < past; ++j)
        for (int64_t i = 0; i < size; ++i) sum[i] = sum[i] + kernel[j][i] * last[j][i];
      for (int64_t i = 0; i < size; ++i) sum[i] = sum[i] + kernel[past][i] * x[i];
      for (int64_t j = 1; j < past; ++j) std::copy_n(last[j], size, last[j - 1]);
      std::copy_n(x, size, last[past - 1]);
      kernels_.sigmoid_mul(sum, sum, size, x);
      check(work.worker, x, size);
      if (head < 2 * delta.n_key_heads) scale_to_norm(x, size, net.norm.eps, scale);
    }
    for (int64_t j = 0; j < past; ++j)
      std::copy_n(last[j], size, stretch.to + j * channels + first);
  }
}

// Takes one value head through the tokens, by the delta rule; then its norm and its gate. A head
// that isn't normed yet is checked: an infinite norm would make zeros of it.
void Pass::recur(const Work& work, const DeltaNet& net, int64_t head) {
  const DeltaShape& delta = model_.layer(work.layer).delta;
  const int64_t size = delta.head_dim, channels = delta.channels(), width = delta.value_rows();
  const int64_t key = head % delta.n_key_heads * size,
                state = delta.conv_floats() + head * size * size;
  const float decay_rate = weights_.vector(net.decay)[head];
  const float decay_bias = weights_.vector(net.decay_bias)[head];
  const int64_t begin = now_->position_of(work.first_token);
  const int64_t end = begin + work.n_tokens;
  RecurrentState::Stretch stretch;
  for (int64_t at = begin; at < end; at += stretch.n) {
    stretch = now_->timeline->recurrent().stretch(work.layer, at, end);
    const float* from = stretch.from + state;
    for (int64_t t = 0; t < stretch.n; t += kDeltaTokens) {
      const int64_t token = at - begin + t, n = std::min<int64_t>(kDeltaTokens, stretch.n - t);
      float decay[kDeltaTokens], beta[kDeltaTokens];
      for (int64_t i = 0; i < n; ++i) {
        const float raw = row(net.alpha.out, work, token + i, delta.n_value_heads)[head];
        decay[i] = exp_f32(decay_rate * softplus_f32(raw + decay_bias));
        beta[i] = sigmoid_f32(row(net.beta.out, work, token + i, delta.n_value_heads)[head]);
      }
      const float* q = row(Buffer::q, work, token, channels) + key;
      float* out = row(Buffer::attended, work, token, width) + head * size;
      kernels_.delta_rule({.q = q,
                           .k = q + delta.key_rows(),
                           .v = q - key + 2 * delta.key_rows() + head * size,
                           .stride = padded_rows(channels),
                           .decay = decay,
                           .beta = beta,
                           .from = from,
                           .to = stretch.to + state,
                           .out = out,
                           .out_stride = padded_rows(width),
                           .n_tokens = static_cast<int>(n),
                           .head_dim = static_cast<int>(size)});
      from = stretch.to + state;
      for (int64_t i = 0; i < n; ++i, out += padded_rows(width)) {
        check(work.worker, out, size);
        normalize(net.norm, out, size, out);
        kernels_.silu_mul(row(net.gate.out, work, token + i, width) + head * size, out, size, out);
      }
    }
  }
}

void Pass::delta_net(const Work& work, const Norm& norm, const DeltaNet& net) {
  const DeltaShape& delta = model_.layer(work.layer).delta;
  const Linear all[] = {net.mixed, net.gate, net.beta, net.alpha};
  multiply(Phase::qkv, work, {Buffer::residual, model_.config().n_embd, norm}, Epilogue::keep, all);
  const int64_t n_heads = 2 * delta.n_key_heads + delta.n_value_heads;
  parallel_for(Phase::rope, work.worker, n_heads, [&](Share mine) {
    for (int64_t head = mine.begin; head < mine.end; ++head) convolve(work, net, head);
  });
  parallel_for(Phase::attention, work.worker, delta.n_value_heads, [&](Share mine) {
    for (int64_t head = mine.begin; head < mine.end; ++head) recur(work, net, head);
  });
}

}  // namespace sluice
