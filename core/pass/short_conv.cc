// The step of a short convolution (pass/pass.h).
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

}  // namespace sluice
