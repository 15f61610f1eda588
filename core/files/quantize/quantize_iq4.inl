// IQ4_NL and IQ4_XS: codes are the indices of 16 uneven numbers.

// Between the numbers, where the nearest changes. A value right between two takes the upper.
constexpr float kUneven[16] = {-127.0f, -104.0f, -83.0f, -65.0f, -49.0f, -35.0f, -22.0f, -10.0f,
                               1.0f,    13.0f,   25.0f,  38.0f,  53.0f,  69.0f,  89.0f,  113.0f};
constexpr float middle(int i) { return (kUneven[i] + kUneven[i + 1]) * 0.5f; }

inline I uneven_code(F x) {
  I code = {};
  for (int i = 0; i < 15; ++i) code -= ~(x < middle(i));
  return code;
}
inline F uneven_nearest(F x) {
  F value = all(kUneven[0]);
  for (int i = 0; i < 15; ++i) {
    const float step = kUneven[i + 1] - kUneven[i];
    value += x < middle(i) ? F{} : all(step);
  }
  return value;
}

// The scale of 32 values. q: their importance or null. v: twice the block's mean square.
inline F search_uneven(const F* x, const F* q, F v) {
  F w[32];
  if (q != nullptr) {
    importance_weights<32>(x, q, v, w);
  } else {
    for (int i = 0; i < 32; ++i) w[i] = x[i] * x[i];
  }
  F extreme;
  const I zero = find_extreme(x, 32, extreme) < kNothing;
  extreme = zero ? all(1.0f) : extreme;
  F d = {};
  F best = {};
  for (int trial = 0; trial < 16; ++trial) {
    const F inverse = trial == 0 ? 1.0f / (-extreme / kUneven[0])
                                 : (static_cast<float>(trial - 8) + kUneven[0]) / extreme;
    F xt = {};
    F tt = {};
    for (int i = 0; i < 32; ++i) {
      const F t = uneven_nearest(inverse * x[i]);
      const F wt = w[i] * t;
      xt += wt * x[i];
      tt += wt * t;
    }
    const I take = trial == 0 ? all_int(-1) : (tt > 0.0f) & (xt * xt > best * tt);
    const F scale = tt > 0.0f ? xt / tt : F{};
    d = take ? scale : d;
    best = take ? scale * xt : best;
  }
  return zero ? F{} : d;
}

inline F inverse_or_zero(F d) { return d != 0.0f ? 1.0f / d : F{}; }

inline void quantize_iq4_nl(const QuantizeJob& job) {
  const bool by_importance = job.importance != nullptr;
  for_each_tile<32, 18>(job, [&](const Tile<32>& tile, BlockBytes<18>& out) {
    const F v = 2.0f * sum_of_squares(tile.x, 32) / 32.0f;
    const F d = search_uneven(tile.x, by_importance ? tile.q : nullptr, v);
    const F inverse = inverse_or_zero(d);
    out.set_half(0, to_half(d));
    for (int i = 0; i < 16; ++i) {
      out.bytes[2 + i] = uneven_code(inverse * tile.x[i]) | uneven_code(inverse * tile.x[i + 16])
                                                                << 4;
    }
  });
}

inline void quantize_iq4_xs(const QuantizeJob& job) {
  const bool by_importance = job.importance != nullptr;
  for_each_tile<256, 136>(job, [&](const Tile<256>& tile, BlockBytes<136>& out) {
    const F v = 2.0f * sum_of_squares(tile.x, 256) / 256.0f;
    F scales[8];
    for (int g = 0; g < 8; ++g) {
      const F* q = by_importance ? tile.q + 32 * g : nullptr;
      scales[g] = search_uneven(tile.x + 32 * g, q, v);
    }
    F extreme;
    find_extreme(scales, 8, extreme);
    const F d = -extreme / 32.0f;
    const F inverse = inverse_or_zero(d);
    I high = {};
    I low[8];
    for (int g = 0; g < 8; ++g) {
      const I l = clamp(nearest(inverse * scales[g]), -32, 31);
      low[g] = (l + 32) & 15;
      high |= (l + 32) >> 4 << (2 * g);
      const F group_inverse = inverse_or_zero(d * to_float(l));
      const F* x = tile.x + 32 * g;
      for (int i = 0; i < 16; ++i) {
        out.bytes[8 + 16 * g + i] =
            uneven_code(group_inverse * x[i]) | uneven_code(group_inverse * x[i + 16]) << 4;
      }
    }
    out.set_half(0, to_half(d));
    out.set_half(2, high);
    for (int g = 0; g < 4; ++g) out.bytes[4 + g] = low[2 * g] | low[2 * g + 1] << 4;
  });
}
