// Matrix products of one strip with rows of activations: what differs most between instruction
// sets. A part of body.inl, and all of it that wasm_relaxed.cc needs.

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
    return Dot::acts(at + token * stride, column);
  }
  void advance(int columns) { at += columns * kScale; }
};

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
      if constexpr (kTokens > 1 && requires { D::kPairs; }) {
        const auto word = [&](int v, int w) { return load<I>(codes + 64 * w + v * kVectorBytes); };
        D::template add_pairs<kSteps>(sum, word, source.at, source.stride);
      } else {
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

// Float products have tiles of one shape everywhere: up to 8 accumulators.
constexpr int kFloatTokens = kVectors == 1 ? 8 : 4;

template <F (*kLoad)(const uint8_t*), int kBytes, int kTokens>
[[gnu::noinline]] void float_tile(const uint8_t* strip, const float* x, int64_t cols, float* out,
                                  int64_t out_stride) {
  constexpr int kVecs = kTokens > 1 && kVectors > 2 ? 2 : kVectors;
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

template <F (*kLoad)(const uint8_t*), int kBytes>
void float_strip(const uint8_t* strip, const float* x, int64_t cols, int n_tokens, float* out,
                 int64_t out_stride) {
  for_token_tiles<kFloatTokens>(0, n_tokens, [&]<int kTokens>(int first) {
    float_tile<kLoad, kBytes, kTokens>(strip, x + first * cols, cols, out + first * out_stride,
                                       out_stride);
  });
}

// Another table's kernels with products of these Dots.
template <typename Dots>
constexpr Kernels with_dots(Kernels kernels) {
  kernels.direct_q4_0 = direct<Dots, PackedQ4>;
  kernels.direct_q8_0 = direct<Dots, PackedQ8>;
  kernels.gemm = gemm<Dots>;
  return kernels;
}
