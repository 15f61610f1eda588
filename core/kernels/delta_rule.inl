// The delta rule (DeltaRule in kernels.h). A part of body.inl.

// Values of a head that go through all tokens together, in vectors: few enough that their sums stay
// in registers, and enough that one sum doesn't wait for its own last step.
#if defined(__aarch64__)
constexpr int kDeltaVectors = 4;
#else
constexpr int kDeltaVectors = 2;
#endif

// The kCount vectors of values from `first` on. `dots` are the products k * q of the tokens. What a
// token adds to the state is added when the next token reads it, so that each token goes through
// the state once.
template <int kCount>
void delta_values(const DeltaRule& r, int first, const float* dots) {
  const float* from[kCount];
  float* to[kCount];
  for (int v = 0; v < kCount; ++v) {
    const int value = first + v * kLanes;
    const int64_t at = int64_t{value / 16} * r.head_dim * 16 + value % 16;
    from[v] = r.from + at;
    to[v] = r.to + at;
  }
  F d[kCount];
  for (int v = 0; v < kCount; ++v) d[v] = F{};
  for (int t = 0; t < r.n_tokens; ++t) {
    const float* k = r.k + t * r.stride;
    const float* q = r.q + t * r.stride;
    F of_k[kCount], of_q[kCount];
    for (int v = 0; v < kCount; ++v) of_k[v] = of_q[v] = F{};
    const auto read = [&](int i, int v, F m) {
      of_k[v] = of_k[v] + m * splat(k[i]);
      of_q[v] = of_q[v] + m * splat(q[i]);
    };
    if (t == 0) {
      for (int i = 0; i < r.head_dim; ++i)
        for (int v = 0; v < kCount; ++v) read(i, v, load<F>(from[v] + 16 * i));
    } else {
      const F decay = splat(r.decay[t - 1]);
      const float* last = k - r.stride;
      for (int i = 0; i < r.head_dim; ++i) {
        for (int v = 0; v < kCount; ++v) {
          const F m = load<F>(from[v] + 16 * i) * decay + d[v] * splat(last[i]);
          store(to[v] + 16 * i, m);
          read(i, v, m);
        }
      }
      for (int v = 0; v < kCount; ++v) from[v] = to[v];
    }
    for (int v = 0; v < kCount; ++v) {
      const F value = load<F>(r.v + t * r.stride + first + v * kLanes);
      d[v] = (value - of_k[v] * r.decay[t]) * r.beta[t];
      store(r.out + t * r.out_stride + first + v * kLanes, of_q[v] * r.decay[t] + d[v] * dots[t]);
    }
  }
  const F decay = splat(r.decay[r.n_tokens - 1]);
  const float* last = r.k + (r.n_tokens - 1) * r.stride;
  for (int i = 0; i < r.head_dim; ++i)
    for (int v = 0; v < kCount; ++v)
      store(to[v] + 16 * i, load<F>(from[v] + 16 * i) * decay + d[v] * splat(last[i]));
}

void delta_rule(const DeltaRule& r) {
  float dots[kDeltaTokens];
  for (int t = 0; t < r.n_tokens; ++t) {
    Lanes sum = splat_lanes(0.0f);
    for (int i = 0; i < r.head_dim; i += 16) {
      const Lanes k = load_all(r.k + t * r.stride + i), q = load_all(r.q + t * r.stride + i);
      for (int v = 0; v < kVectors; ++v) sum.v[v] = sum.v[v] + k.v[v] * q.v[v];
    }
    dots[t] = fold_sum(sum);
  }
  int value = 0;
  for (; value + kDeltaVectors * kLanes <= r.head_dim; value += kDeltaVectors * kLanes)
    delta_values<kDeltaVectors>(r, value, dots);
  if constexpr (kVectors < kDeltaVectors)
    if (value < r.head_dim) delta_values<1>(r, value, dots);
}
