// The steps of short convolutions (pass/pass.h).
#include <algorithm>

#include "pass/pass.h"

namespace sluice {

// u = b * x stays in the rows of x. A worker takes some channels of all tokens, stretch by stretch
// of the timeline's state, whose rows are the inputs u of the last tokens, the oldest first.
void Pass::short_conv(const Work& work, const Norm& norm, const ShortConv& conv) {
  project(work, norm, conv.in);
  const LayerShape& shape = model_.layer(work.layer);
  const int64_t width = shape.conv_channels;
  const int64_t past = shape.conv_tokens - 1;  // tokens that a state has
  parallel_for(Phase::attention, work.worker, padded_rows(width) / kStripRows, [&](Share mine) {
    const int64_t first = mine.begin * kStripRows;
    const int64_t last = std::min(mine.end * kStripRows, width);
    const int64_t begin = now_->position_of(work.first_token);
    const int64_t end = begin + work.n_tokens;
    const float* weights = weights_.vector(conv.kernel);
    RecurrentState::Stretch stretch;
    for (int64_t at = begin; at < end; at += stretch.n) {
      stretch = now_->timeline->recurrent().stretch(work.layer, at, end);
      const int64_t token = at - begin;
      // The input of the stretch's token t, from -past on.
      const auto input = [&](int64_t t) -> const float* {
        return t < 0 ? stretch.from + (past + t) * width : row(Buffer::v, work, token + t, width);
      };
      for (int64_t t = 0; t < stretch.n; ++t) {
        const float* b = row(Buffer::q, work, token + t, width);
        const float* c = row(Buffer::k, work, token + t, width);
        float* u = row(Buffer::v, work, token + t, width);
        float* out = row(Buffer::attended, work, token + t, width);
        const float* inputs[kMaxConvTokens];
        for (int64_t j = 0; j < past; ++j) inputs[j] = input(t - past + j);
        const float* weight = weights + first * (past + 1);
        for (int64_t i = first; i < last; ++i) {
          u[i] = b[i] * u[i];
          float sum = 0;
          for (int64_t j = 0; j < past; ++j) sum = sum + *weight++ * inputs[j][i];
          out[i] = c[i] * (sum + *weight++ * u[i]);
        }
      }
      // Ascending, because `to` may be `from`: what is read lies behind what is written.
      for (int64_t j = 0; j < past; ++j) {
        const float* in = input(stretch.n - past + j);
        for (int64_t i = first; i < last; ++i) stretch.to[j * width + i] = in[i];
      }
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

}  // namespace sluice
