// Every kernel, once. An instruction set's file includes this inside its unnamed namespace after it
// has defined, on top of vector.inl:
//   load_f16, store_f16             kLanes halves at any alignment
//   load_i16, load_i8, store_i8     kLanes small integers, widened to 32 bits or their low bytes
//   prefetch_weights(block)         asks for weights that decode reads soon
//   kAttendQueries, kAttendVectors  the register tile of attention
// and gives make_table a class of integer dots:
//   Dots::Dot<bits>                 for codes of 4, 5, 6 and 8 bits
//   Dots::kTokens                   most tokens of a tile of a product, a power of two
//   Dots::vectors(tokens)           row vectors of a tile of that many tokens; divides kVectors
//
// A Dot: codes(word) prepares 4 columns of kLanes rows once for all tokens, acts(p) 4 activations
// for all rows (from q, or where kDigits from both digits, 32 apart); step adds their products to a
// Sum; at most kFlush steps may lie between start, flush and total. bias_sum = -bias * (sum of the
// group's q) is counted once, in start or in total.

// ---- 16 virtual lanes -------------------------------------------------------------------------

struct Lanes {
  F v[kVectors];
};

inline Lanes splat_lanes(float x) {
  Lanes lanes;
  for (F& v : lanes.v) v = splat(x);
  return lanes;
}

inline Lanes load_all(const float* x) {
  Lanes lanes;
  for (int v = 0; v < kVectors; ++v) lanes.v[v] = load<F>(x + v * kLanes);
  return lanes;
}
inline void store_all(float* out, const Lanes& lanes) {
  for (int v = 0; v < kVectors; ++v) store(out + v * kLanes, lanes.v[v]);
}

// The first `count` (1..16) values at x; the other lanes are `fill`.
inline Lanes load_some(const float* x, int64_t count, float fill) {
  float padded[16];
  for (int64_t i = 0; i < 16; ++i) padded[i] = i < count ? x[i] : fill;
  return load_all(padded);
}
inline void store_some(float* out, const Lanes& lanes, int64_t count) {
  float padded[16];
  store_all(padded, lanes);
  for (int64_t i = 0; i < count; ++i) out[i] = padded[i];
}

// Access to 16 values, or to the last few of a row: what for_lanes gives its body.
struct Whole {
  static Lanes load(const float* x, float) { return load_all(x); }
  static void store(float* out, const Lanes& lanes) { store_all(out, lanes); }
  static Lanes keep(const Lanes& lanes, float) { return lanes; }
};
struct Rest {
  int64_t count;
  Lanes load(const float* x, float fill) const { return load_some(x, count, fill); }
  void store(float* out, const Lanes& lanes) const { store_some(out, lanes, count); }
  // The lanes past the end replaced by `fill`.
  Lanes keep(const Lanes& lanes, float fill) const {
    float all[16];
    store_all(all, lanes);
    return load_some(all, count, fill);
  }
};
template <typename Body>
inline void for_lanes(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, Whole{});
  if (i < n) body(i, Rest{n - i});
}

template <typename T>
inline T larger(T a, T b) {
  return a < b ? b : a;
}

inline float fold_sum(const Lanes& lanes) {
  float a[16];
  store_all(a, lanes);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) a[i] = a[i] + a[i + half];
  }
  return a[0];
}

inline float fold_max(const Lanes& lanes) {
  float a[16];
  store_all(a, lanes);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) a[i] = larger(a[i], a[i + half]);
  }
  return a[0];
}

inline F absolute(F x) { return as<F>(as<U>(x) & 0x7fffffffu); }

// exp_f32 of base/math.cc, operation by operation.
inline F exp(F x) {
  const F t = x * 0x1.715476p+0f + 0x1.8p23f;
  const F n = t - 0x1.8p23f;
  F r = x - n * 0x1.62ep-1f;
  r = r - n * 0x1.0bfbe8p-15f;
  F p = splat(0x1.6d117cp-10f);
  p = p * r + 0x1.120be2p-7f;
  p = p * r + 0x1.555518p-5f;
  p = p * r + 0x1.5554dcp-3f;
  p = p * r + 0.5f;
  const F e = (p * (r * r) + r) + 1.0f;
  const U exponent = as<U>(t) - 0x4b400000u;
  F result = e * as<F>((exponent + 127u) << 23);
  result = x < splat(-87.3f) ? F{} : result;
  return x > splat(88.37f) ? splat(__builtin_inff()) : result;
}

inline float exp(float x) { return exp(splat(x))[0]; }

// ---- Activations ------------------------------------------------------------------------------

// Integers of 16 lanes, and their sum.
struct IntLanes {
  I v[kVectors];
};
inline int32_t fold_sum(const IntLanes& lanes) {
  I sum = lanes.v[0];
  for (int v = 1; v < kVectors; ++v) sum = sum + lanes.v[v];
  int32_t total = 0;
  for (int i = 0; i < kLanes; ++i) total += sum[i];
  return total;
}

// Up to 32 values to int8 (those past `count` become 0); returns the scale. `sums`, where not null,
// gets the sums of both halves.
inline float round_block(const float* x, int64_t count, int8_t* q, int32_t* sums) {
  Lanes values[2] = {splat_lanes(0.0f), splat_lanes(0.0f)};
  for_lanes(count, [&](int64_t i, auto part) { values[i / 16] = part.load(x + i, 0.0f); });
  Lanes max = splat_lanes(0.0f);
  for (const Lanes& half : values) {
    for (int v = 0; v < kVectors; ++v) max.v[v] = larger(max.v[v], absolute(half.v[v]));
  }
  const float d = fold_max(max) / 127.0f;
  const float inverse = d > 0.0f ? 1.0f / d : 0.0f;
  for (int half = 0; half < 2; ++half) {
    IntLanes rounded;
    for (int v = 0; v < kVectors; ++v) {
      // The sum's low byte is the rounded value: reference.cc.
      const I bits = as<I>(values[half].v[v] * inverse + 0x1.8p23f);
      store_i8(q + 16 * half + v * kLanes, bits);
      rounded.v[v] = as<I>(as<U>(bits) << 24) >> 24;
    }
    if (sums != nullptr) sums[half] = fold_sum(rounded);
  }
  return d;
}

void quantize(const float* x, int64_t n, int8_t* q, int8_t* digits, float* d, float* ds,
              int32_t* sums) {
  for (int64_t b = 0; b < n / kActBlock; ++b, x += kActBlock, q += kActBlock, sums += 2) {
    d[b] = round_block(x, kActBlock, q, sums);
    ds[b] = d[b] * static_cast<float>(sums[0] + sums[1]);
    for (int i = 0; i < kActBlock; ++i) {
      digits[i] = static_cast<int8_t>((q[i] + 8) >> 4);
      digits[i + kActBlock] = static_cast<int8_t>(q[i] - 16 * digits[i]);
    }
    digits += 2 * kActBlock;
  }
}

// Where a Dot finds its activations: `at` the first token's, tokens `stride` bytes apart.
template <typename Dot>
struct ActSource {
  static constexpr int kScale = Dot::kDigits ? 2 : 1;
  const int8_t* at;
  int64_t stride;

  ActSource(const Acts& acts, int first) {
    stride = acts.cols * kScale;
    at = (Dot::kDigits ? acts.digits : acts.q) + first * stride;
  }
  typename Dot::Acts get(int token, int column) const {
    return Dot::acts(at + token * stride + column);
  }
  void advance(int columns) { at += columns * kScale; }
};

// ---- Matrix products --------------------------------------------------------------------------

// kTile<kTokens>(args..., first token) over all tokens, in tiles as large as possible.
template <int kTokens, typename Tile>
inline void for_token_tiles(int first, int n_tokens, const Tile& tile) {
  for (; first + kTokens <= n_tokens; first += kTokens) tile.template operator()<kTokens>(first);
  if constexpr (kTokens > 1) for_token_tiles<kTokens / 2>(first, n_tokens, tile);
}

// The integer product of kTokens tokens, from `first` on, with 16 rows of a panel.
template <typename Dots, int kBits, int kGroup, bool kMins, int kTokens>
[[gnu::noinline]] void gemm_tile(const Panel& panel, const Acts& acts, int first, float* out,
                                 int64_t out_stride) {
  using D = typename Dots::template Dot<kBits>;
  constexpr int kVecs = Dots::vectors(kTokens);
  constexpr int kSteps = kGroup / 4;
  constexpr int kGroupsOf16 = kGroup / 16;
  const int64_t cols = acts.cols;
  const int64_t n_blocks = cols / kActBlock;
  const float* d_first = acts.d + first * n_blocks;
  const float* ds_first = acts.ds + first * n_blocks;
  const int32_t* sums_first = acts.sums + first * (n_blocks * 2);
  for (int v0 = 0; v0 < kVectors; v0 += kVecs) {
    F acc[kTokens][kVecs] = {};
    const uint8_t* codes = panel.codes + v0 * kVectorBytes;
    const float* scales = panel.scales + v0 * kLanes;
    const float* mins = panel.mins + v0 * kLanes;
    ActSource<D> source(acts, first);
    for (int64_t g = 0; g < cols / kGroup; ++g) {
      const int64_t b = g * kGroup / kActBlock;
      typename D::Sum sum[kTokens][kVecs];
      int32_t bias_sum[kTokens];
      SLUICE_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        bias_sum[t] = 0;
        if constexpr (!kMins) {
          const int32_t* s = sums_first + t * (n_blocks * 2) + g * kGroupsOf16;
          bias_sum[t] = -panel.bias * (kGroup == 32 ? s[0] + s[1] : s[0]);
        }
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) sum[t][v] = D::start(bias_sum[t]);
      }
      SLUICE_UNROLL
      for (int w = 0; w < kSteps; ++w) {
        typename D::Acts a[kTokens];
        SLUICE_UNROLL
        for (int t = 0; t < kTokens; ++t) a[t] = source.get(t, 4 * w);
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          const typename D::Codes c = D::codes(load<I>(codes + 64 * w + v * kVectorBytes));
          SLUICE_UNROLL
          for (int t = 0; t < kTokens; ++t) {
            D::step(sum[t][v], c, a[t]);
            if ((w + 1) % D::kFlush == 0 && w + 1 < kSteps) D::flush(sum[t][v]);
          }
        }
      }
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const F scale = load<F>(scales + v * kLanes);
        SLUICE_UNROLL
        for (int t = 0; t < kTokens; ++t) {
          const F isum = to_float(D::total(sum[t][v], bias_sum[t]));
          acc[t][v] = acc[t][v] + isum * (scale * d_first[t * n_blocks + b]);
        }
        if constexpr (kMins) {
          const F min = load<F>(mins + v * kLanes);
          SLUICE_UNROLL
          for (int t = 0; t < kTokens; ++t) {
            acc[t][v] = acc[t][v] + min * ds_first[t * n_blocks + b];
          }
        }
      }
      codes += 64 * kSteps;
      source.advance(kGroup);
      scales += 16;
      mins += 16;
    }
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVecs; ++v) {
        store(out + (first + t) * out_stride + (v0 + v) * kLanes, acc[t][v]);
      }
    }
  }
}

template <typename Dots, int kBits, int kGroup, bool kMins>
void gemm_typed(const Panel& panel, const Acts& acts, int n_tokens, float* out,
                int64_t out_stride) {
  for_token_tiles<Dots::kTokens>(0, n_tokens, [&]<int kTokens>(int first) {
    gemm_tile<Dots, kBits, kGroup, kMins, kTokens>(panel, acts, first, out, out_stride);
  });
}

template <typename Dots>
void gemm(const Panel& panel, const Acts& acts, int n_tokens, float* out, int64_t out_stride) {
  if (panel.group == 16)
    return gemm_typed<Dots, 6, 16, false>(panel, acts, n_tokens, out, out_stride);
  if (panel.bits == 8)
    return gemm_typed<Dots, 8, 32, false>(panel, acts, n_tokens, out, out_stride);
  if (panel.bits == 4) {
    if (panel.has_min) return gemm_typed<Dots, 4, 32, true>(panel, acts, n_tokens, out, out_stride);
    return gemm_typed<Dots, 4, 32, false>(panel, acts, n_tokens, out, out_stride);
  }
  if (panel.has_min) return gemm_typed<Dots, 5, 32, true>(panel, acts, n_tokens, out, out_stride);
  return gemm_typed<Dots, 5, 32, false>(panel, acts, n_tokens, out, out_stride);
}

// Packed blocks (quant/matrix.h): kLoads words of 16 rows, each holding kParts words of codes.
struct PackedQ4 {
  static constexpr int kBits = 4, kBias = 8, kLoads = 4, kParts = 2;
  static I part(I word, int i) { return (i == 0 ? word : as<I>(as<U>(word) >> 4)) & 0x0f0f0f0f; }
};
struct PackedQ8 {
  static constexpr int kBits = 8, kBias = 128, kLoads = 8, kParts = 1;
  static I part(I word, int) { return word; }
};

template <typename Dots, typename Packed, int kTokens>
[[gnu::noinline]] void direct_tile(const uint8_t* strip, const Acts& acts, int first, float* out,
                                   int64_t out_stride) {
  using D = typename Dots::template Dot<Packed::kBits>;
  constexpr int kVecs = Dots::vectors(kTokens);
  constexpr int kSteps = 8;
  constexpr int kBlockBytes = 32 + 64 * Packed::kLoads;
  const int64_t n_blocks = acts.cols / kActBlock;
  const float* d_first = acts.d + first * n_blocks;
  const int32_t* sums_first = acts.sums + first * (n_blocks * 2);
  for (int v0 = 0; v0 < kVectors; v0 += kVecs) {
    F acc[kTokens][kVecs] = {};
    const uint8_t* block = strip;
    ActSource<D> source(acts, first);
    for (int64_t b = 0; b < n_blocks; ++b, block += kBlockBytes) {
      prefetch_weights(block);
      const uint8_t* words = block + 32 + v0 * kVectorBytes;
      typename D::Sum sum[kTokens][kVecs];
      int32_t bias_sum[kTokens];
      SLUICE_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        const int32_t* s = sums_first + t * (n_blocks * 2) + 2 * b;
        bias_sum[t] = -Packed::kBias * (s[0] + s[1]);
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) sum[t][v] = D::start(bias_sum[t]);
      }
      SLUICE_UNROLL
      for (int w = 0; w < Packed::kLoads; ++w) {
        typename D::Acts a[Packed::kParts][kTokens];
        SLUICE_UNROLL
        for (int i = 0; i < Packed::kParts; ++i) {
          SLUICE_UNROLL
          for (int t = 0; t < kTokens; ++t) a[i][t] = source.get(t, 16 * i + 4 * w);
        }
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) {
          const I word = load<I>(words + 64 * w + v * kVectorBytes);
          SLUICE_UNROLL
          for (int i = 0; i < Packed::kParts; ++i) {
            const typename D::Codes c = D::codes(Packed::part(word, i));
            const int done = w * Packed::kParts + i + 1;
            SLUICE_UNROLL
            for (int t = 0; t < kTokens; ++t) {
              D::step(sum[t][v], c, a[i][t]);
              if (done % D::kFlush == 0 && done < kSteps) D::flush(sum[t][v]);
            }
          }
        }
      }
      source.advance(kActBlock);
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const F scale = load_f16(block + 2 * (v0 + v) * kLanes);
        SLUICE_UNROLL
        for (int t = 0; t < kTokens; ++t) {
          const F isum = to_float(D::total(sum[t][v], bias_sum[t]));
          acc[t][v] = acc[t][v] + isum * (scale * d_first[t * n_blocks + b]);
        }
      }
    }
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVecs; ++v) {
        store(out + (first + t) * out_stride + (v0 + v) * kLanes, acc[t][v]);
      }
    }
  }
}

template <typename Dots, typename Packed>
void direct(const uint8_t* strip, const Acts& acts, int n_tokens, float* out, int64_t out_stride) {
  for_token_tiles<Dots::kTokens>(0, n_tokens, [&]<int kTokens>(int first) {
    direct_tile<Dots, Packed, kTokens>(strip, acts, first, out, out_stride);
  });
}

inline F load_f32(const uint8_t* p) { return load<F>(p); }
inline F load_bf16(const uint8_t* p) { return as<F>(as<U>(load_i16(p)) << 16); }

template <typename Dots, F (*kLoad)(const uint8_t*), int kBytes, int kTokens>
[[gnu::noinline]] void float_tile(const uint8_t* strip, const float* x, int64_t cols, float* out,
                                  int64_t out_stride) {
  constexpr int kVecs = Dots::vectors(kTokens);
  for (int v0 = 0; v0 < kVectors; v0 += kVecs) {
    F acc[kTokens][kVecs] = {};
    const uint8_t* w = strip + v0 * kLanes * kBytes;
    for (int64_t k = 0; k < cols; ++k, w += 16 * kBytes) {
      F weight[kVecs];
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) weight[v] = kLoad(w + v * kLanes * kBytes);
      SLUICE_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) acc[t][v] = acc[t][v] + weight[v] * x[t * cols + k];
      }
    }
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVecs; ++v) store(out + t * out_stride + (v0 + v) * kLanes, acc[t][v]);
    }
  }
}

template <typename Dots, F (*kLoad)(const uint8_t*), int kBytes>
void float_strip(const uint8_t* strip, const float* x, int64_t cols, int n_tokens, float* out,
                 int64_t out_stride) {
  for_token_tiles<Dots::kTokens>(0, n_tokens, [&]<int kTokens>(int first) {
    float_tile<Dots, kLoad, kBytes, kTokens>(strip, x + first * cols, cols,
                                             out + first * out_stride, out_stride);
  });
}

template <typename Packed>
void unpack(const uint8_t* strip, int64_t cols, Panel& panel) {
  panel.group = 32;
  panel.bits = Packed::kBits;
  panel.bias = Packed::kBias;
  panel.has_min = false;
  uint8_t* codes = panel.codes;
  for (int64_t b = 0; b < cols / 32; ++b, codes += 512) {
    for (int v = 0; v < kVectors; ++v) {
      store(panel.scales + 16 * b + v * kLanes, load_f16(strip + 2 * v * kLanes));
    }
    strip += 32;
    for (int w = 0; w < Packed::kLoads * kVectors; ++w, strip += kVectorBytes) {
      const I word = load<I>(strip);
      for (int i = 0; i < Packed::kParts; ++i) {
        store(codes + 256 * i + w * kVectorBytes, Packed::part(word, i));
      }
    }
  }
}

// ---- Vectors of a token -----------------------------------------------------------------------

void rms_norm(const float* x, const float* weight, int64_t n, float eps, float* out) {
  Lanes sum = splat_lanes(0.0f);
  for_lanes(n, [&](int64_t i, auto part) {
    const Lanes a = part.load(x + i, 0.0f);
    for (int v = 0; v < kVectors; ++v) sum.v[v] = sum.v[v] + a.v[v] * a.v[v];
  });
  const float r = 1.0f / __builtin_sqrtf(fold_sum(sum) / static_cast<float>(n) + eps);
  for_lanes(n, [&](int64_t i, auto part) {
    Lanes a = part.load(x + i, 0.0f);
    const Lanes w = part.load(weight + i, 0.0f);
    for (int v = 0; v < kVectors; ++v) a.v[v] = (a.v[v] * r) * w.v[v];
    part.store(out + i, a);
  });
}

void add(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] + x[i];
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  for_lanes(n, [&](int64_t i, auto part) {
    Lanes g = part.load(gate + i, 0.0f);
    const Lanes u = part.load(up + i, 0.0f);
    for (int v = 0; v < kVectors; ++v) g.v[v] = (g.v[v] / (1.0f + exp(-g.v[v]))) * u.v[v];
    part.store(out + i, g);
  });
}

void rope_halves(float* x, const float* cos, const float* sin, int n_pairs) {
  float* y = x + n_pairs;
  for (int i = 0; i < n_pairs; ++i) {
    const float a = x[i];
    const float b = y[i];
    x[i] = a * cos[i] - b * sin[i];
    y[i] = a * sin[i] + b * cos[i];
  }
}

void rope_adjacent(float* x, const float* cos, const float* sin, int n_pairs) {
  for (int i = 0; i < n_pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = a * sin[i] + b * cos[i];
  }
}

float max(const float* x, int64_t n) {
  Lanes lanes = splat_lanes(-__builtin_inff());
  for_lanes(n, [&](int64_t i, auto part) {
    const Lanes a = part.load(x + i, -__builtin_inff());
    for (int v = 0; v < kVectors; ++v) lanes.v[v] = larger(lanes.v[v], a.v[v]);
  });
  return fold_max(lanes);
}

// exp(x - max), added up; written to `out` where kWrite. Lanes past the end count as 0.
template <bool kWrite>
inline float exp_and_sum(const float* x, int64_t n, float max, float* out) {
  Lanes sum = splat_lanes(0.0f);
  for_lanes(n, [&](int64_t i, auto part) {
    Lanes e = part.load(x + i, 0.0f);
    for (int v = 0; v < kVectors; ++v) e.v[v] = exp(e.v[v] - max);
    if constexpr (kWrite) part.store(out + i, e);
    e = part.keep(e, 0.0f);
    for (int v = 0; v < kVectors; ++v) sum.v[v] = sum.v[v] + e.v[v];
  });
  return fold_sum(sum);
}

float sum_exp(const float* x, int64_t n, float max) {
  return exp_and_sum<false>(x, n, max, nullptr);
}

// ---- Keys and values --------------------------------------------------------------------------

// K's elements lie 16 positions apart, V's side by side.
void store_k(KvType type, const float* x, int head_dim, int lane, uint8_t* k, float* k_scales) {
  if (type == KvType::f32) {
    for (int i = 0; i < head_dim; ++i) memcpy(k + (16 * i + lane) * 4, x + i, 4);
  } else if (type == KvType::f16) {
    for_lanes(head_dim, [&](int64_t i, auto part) {
      const Lanes values = part.load(x + i, 0.0f);
      uint8_t halves[32];
      for (int v = 0; v < kVectors; ++v) store_f16(halves + 2 * v * kLanes, values.v[v]);
      for (int64_t j = 0; j < 16 && i + j < head_dim; ++j) {
        memcpy(k + (16 * (i + j) + lane) * 2, halves + 2 * j, 2);
      }
    });
  } else {
    for (int i = 0; i < head_dim; i += kKvScaleBlock) {
      const int count = head_dim - i < kKvScaleBlock ? head_dim - i : kKvScaleBlock;
      int8_t q[kKvScaleBlock];
      k_scales[i / kKvScaleBlock * 16 + lane] = round_block(x + i, count, q, nullptr);
      for (int j = 0; j < count; ++j) memcpy(k + 16 * (i + j) + lane, q + j, 1);
    }
  }
}

void store_v(KvType type, const float* x, int head_dim, uint8_t* v, float* v_scales) {
  if (type == KvType::q8_0) {
    const int padded = (head_dim + 15) / 16 * 16;
    for (int i = 0; i < padded; i += kKvScaleBlock) {
      const int count = head_dim - i < kKvScaleBlock ? head_dim - i : kKvScaleBlock;
      int8_t q[kKvScaleBlock];
      v_scales[i / kKvScaleBlock] = round_block(x + i, count, q, nullptr);
      memcpy(v + i, q,
             static_cast<size_t>(padded - i < kKvScaleBlock ? padded - i : kKvScaleBlock));
    }
    return;
  }
  for_lanes(head_dim, [&](int64_t i, auto part) {
    const Lanes values = part.load(x + i, 0.0f);
    for (int64_t j = 0; j < kVectors; ++j) {
      if (type == KvType::f32) {
        store(v + 4 * (i + j * kLanes), values.v[j]);
      } else {
        store_f16(v + 2 * (i + j * kLanes), values.v[j]);
      }
    }
  });
}

// ---- Attention --------------------------------------------------------------------------------

template <KvType kType>
inline F load_element(const uint8_t* p) {
  if constexpr (kType == KvType::f32) return load<F>(p);
  if constexpr (kType == KvType::f16) return load_f16(p);
  if constexpr (kType == KvType::q8_0) return to_float(load_i8(p));
}
constexpr int element_bytes(KvType type) {
  return type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1;
}

inline int padded_dim(const Attend& a) { return (a.head_dim + 15) / 16 * 16; }
inline int scale_count(const Attend& a) { return (a.head_dim + kKvScaleBlock - 1) / kKvScaleBlock; }
inline float* scores_of(const Attend& a, int query) {
  return a.scratch + query * (kKvChunk + padded_dim(a));
}

// Scores of kQueries queries at the positions of kVecs vectors, from vector `first` of the chunk
// on.
template <KvType kType, int kQueries, int kVecs>
inline void score_tile(const Attend& a, int query, int first) {
  constexpr int kBytes = element_bytes(kType);
  const uint8_t* k[kVecs];
  const float* k_scales[kVecs] = {};
  for (int v = 0; v < kVecs; ++v) {
    const int group = (first + v) / kVectors;
    const int lane = (first + v) % kVectors * kLanes;
    k[v] = a.chunk.k + (group * a.head_dim * 16 + lane) * kBytes;
    if constexpr (kType == KvType::q8_0) {
      k_scales[v] = a.chunk.k_scales + group * scale_count(a) * 16 + lane;
    }
  }
  F acc[kQueries][kVecs] = {};
  const float* q = a.q + query * a.head_dim;
  for (int block = 0; block < a.head_dim; block += kKvScaleBlock) {
    const int end = block + kKvScaleBlock < a.head_dim ? block + kKvScaleBlock : a.head_dim;
    F scale[kVecs];
    if constexpr (kType == KvType::q8_0) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) scale[v] = load<F>(k_scales[v] + block / kKvScaleBlock * 16);
    }
    for (int d = block; d < end; ++d) {
      F key[kVecs];
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        key[v] = load_element<kType>(k[v] + d * 16 * kBytes);
        if constexpr (kType == KvType::q8_0) key[v] = key[v] * scale[v];
      }
      SLUICE_UNROLL
      for (int i = 0; i < kQueries; ++i) {
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) acc[i][v] = acc[i][v] + q[i * a.head_dim + d] * key[v];
      }
    }
  }
  for (int i = 0; i < kQueries; ++i) {
    float* scores = scores_of(a, query + i) + first * kLanes;
    for (int v = 0; v < kVecs; ++v) store(scores + v * kLanes, a.scale * acc[i][v]);
  }
}

// Weighted sums of kVecs vectors of V's elements, from vector `first` of a row on.
template <KvType kType, int kQueries, int kVecs>
inline void value_tile(const Attend& a, int query, int first) {
  constexpr int kBytes = element_bytes(kType);
  const int padded = padded_dim(a);
  const float* e[kQueries];
  for (int i = 0; i < kQueries; ++i) e[i] = scores_of(a, query + i);
  F acc[kQueries][kVecs] = {};
  const uint8_t* row = a.chunk.v + first * kLanes * kBytes;
  const float* scales = a.chunk.v_scales;
  for (int p = 0; p < a.n_positions; ++p, row += padded * kBytes) {
    F value[kVecs];
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      value[v] = load_element<kType>(row + v * kLanes * kBytes);
      if constexpr (kType == KvType::q8_0) {
        value[v] = value[v] * scales[(first + v) * kLanes / kKvScaleBlock];
      }
    }
    if constexpr (kType == KvType::q8_0) scales += scale_count(a);
    SLUICE_UNROLL
    for (int i = 0; i < kQueries; ++i) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) acc[i][v] = acc[i][v] + e[i][p] * value[v];
    }
  }
  for (int i = 0; i < kQueries; ++i) {
    float* sums = scores_of(a, query + i) + kKvChunk + first * kLanes;
    for (int v = 0; v < kVecs; ++v) store(sums + v * kLanes, acc[i][v]);
  }
}

// Adds a chunk's (maximum m, sum s, weighted values w) to the running softmax of a query.
inline void merge(const Attend& a, int query, float m, float s) {
  const int padded = padded_dim(a);
  const float* w = scores_of(a, query) + kKvChunk;
  float* values = a.values + query * padded;
  if (a.first) {
    a.max[query] = m;
    a.sum[query] = s;
    memcpy(values, w, static_cast<size_t>(padded) * sizeof(float));
    return;
  }
  const float both = larger(a.max[query], m);
  const float keep = exp(a.max[query] - both);
  const float gain = exp(m - both);
  a.max[query] = both;
  a.sum[query] = a.sum[query] * keep + s * gain;
  for (int i = 0; i < padded; i += kLanes) {
    store(values + i, load<F>(values + i) * keep + load<F>(w + i) * gain);
  }
}

template <KvType kType, int kQueries>
[[gnu::noinline]] void attend_queries(const Attend& a, int query) {
  const int n_vectors = (a.n_positions + 15) / 16 * kVectors;
  int at = 0;
  for (; at + kAttendVectors <= n_vectors; at += kAttendVectors) {
    score_tile<kType, kQueries, kAttendVectors>(a, query, at);
  }
  for (; at < n_vectors; at += kVectors) score_tile<kType, kQueries, kVectors>(a, query, at);

  float m[kQueries];
  float s[kQueries];
  for (int i = 0; i < kQueries; ++i) {
    float* scores = scores_of(a, query + i);
    m[i] = max(scores, a.n_positions);
    s[i] = exp_and_sum<true>(scores, a.n_positions, m[i], scores);
  }

  const int n_value_vectors = padded_dim(a) / kLanes;
  at = 0;
  for (; at + kAttendVectors <= n_value_vectors; at += kAttendVectors) {
    value_tile<kType, kQueries, kAttendVectors>(a, query, at);
  }
  for (; at < n_value_vectors; at += kVectors) value_tile<kType, kQueries, kVectors>(a, query, at);
  for (int i = 0; i < kQueries; ++i) merge(a, query + i, m[i], s[i]);
}

template <KvType kType>
void attend_typed(const Attend& a) {
  for_token_tiles<kAttendQueries>(
      0, a.n_queries, [&]<int kQueries>(int query) { attend_queries<kType, kQueries>(a, query); });
}

void attend(const Attend& a) {
  if (a.chunk.type == KvType::f32) return attend_typed<KvType::f32>(a);
  if (a.chunk.type == KvType::f16) return attend_typed<KvType::f16>(a);
  attend_typed<KvType::q8_0>(a);
}

// ---- The table --------------------------------------------------------------------------------

template <typename Dots>
constexpr Kernels make_table(const char* name, bool (*supported)()) {
  return {
      .name = name,
      .supported = supported,
      .quantize = quantize,
      .direct_q4_0 = direct<Dots, PackedQ4>,
      .direct_q8_0 = direct<Dots, PackedQ8>,
      .gemm = gemm<Dots>,
      .float_f32 = float_strip<Dots, load_f32, 4>,
      .float_f16 = float_strip<Dots, load_f16, 2>,
      .float_bf16 = float_strip<Dots, load_bf16, 2>,
      .unpack_q4_0 = unpack<PackedQ4>,
      .unpack_q8_0 = unpack<PackedQ8>,
      .rms_norm = rms_norm,
      .add = add,
      .silu_mul = silu_mul,
      .rope_halves = rope_halves,
      .rope_adjacent = rope_adjacent,
      .store_k = store_k,
      .store_v = store_v,
      .attend = attend,
      .max = max,
      .sum_exp = sum_exp,
  };
}
