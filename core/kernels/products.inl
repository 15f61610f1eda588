// Products of one strip and rows of activations. A part of body.inl; wasm_relaxed.cc takes only
// this part and formats.inl.

// The activations that a Dot reads: the first token's at `at`, each next token's `stride` bytes on.
template <typename Dot>
struct ActReader {
  static constexpr int kScale = Dot::kDigits ? 2 : 1;
  const int8_t* at;
  int64_t stride;

  ActReader(const Acts& acts, int first) {
    stride = acts.cols * kScale;
    at = (Dot::kDigits ? acts.digits : acts.q) + first * stride;
  }
  typename Dot::Acts get(int token, int column) const {
    return Dot::acts(at + token * stride, column);
  }
  void advance(int columns) { at += columns * kScale; }
};

// Calls tile<kSize>(first) for tiles of the items [first, end): tiles of kSize while there are as
// many items, then of half that size, and so on.
template <int kSize, typename Tile>
inline void for_tiles(int first, int end, const Tile& tile) {
  for (; first + kSize <= end; first += kSize) tile.template operator()<kSize>(first);
  if constexpr (kSize > 1) for_tiles<kSize / 2>(first, end, tile);
}

constexpr int smallest(int a, int b, int c) { return a < b ? (a < c ? a : c) : b < c ? b : c; }

// Multiplies a strip of 16 rows by kTokens tokens from `first` on. `where` is what the constructor
// of Format (formats.inl) takes: a panel or a packed strip.
template <typename D, int kVecs, typename Format, int kTokens, typename Where>
[[gnu::noinline]] void product_tile(const Where& where, const Acts& acts, int first, float* out,
                                    int64_t out_stride) {
  constexpr int kSteps = Format::kGroup / 4;
  constexpr int kGroupsOf16 = Format::kGroup / 16;
  static_assert(!D::kDigits || kGroupsOf16 == 2, "digits lie in blocks of 32");
  const int64_t n_blocks = acts.cols / kActBlock;
  const float* d_first = acts.d + first * n_blocks;
  const float* ds_first = acts.ds + first * n_blocks;
  const int32_t* sums_first = acts.sums + first * (n_blocks * 2);
  for (int v0 = 0; v0 < kVectors; v0 += kVecs) {
    F acc[kTokens][kVecs] = {};
    Format block(where, v0);
    ActReader<D> activations(acts, first);
    int64_t of_16 = 0;  // the group's first column / 16
    const auto group = [&](const auto& at, const auto& head) __attribute__((always_inline)) {
      typename D::Sum sum[kTokens][kVecs];
      I bias_sum[kTokens];
      SLUICE_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        bias_sum[t] = I{};
        if constexpr (!Format::kMin) {
          const int32_t* s = sums_first + t * (n_blocks * 2) + of_16;
          I sums = splat(s[0]);
          if constexpr (kGroupsOf16 == 2) sums = sums + splat(s[1]);
          bias_sum[t] = -(sums << (Format::kBits - 1));
        }
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) sum[t][v] = D::start(bias_sum[t]);
      }
      if constexpr (kTokens > 1 && requires { D::kTokenPairs; }) {
        const auto word = [&](int v, int w) { return as<I>(block.codes(v, w, at)); };
        D::template add_group<kSteps>(sum, word, activations.at, activations.stride);
      } else {
        const auto step = [&](int w) __attribute__((always_inline)) {
          typename D::Acts a[kTokens];
          SLUICE_UNROLL
          for (int t = 0; t < kTokens; ++t) a[t] = activations.get(t, 4 * w);
          SLUICE_UNROLL
          for (int v = 0; v < kVecs; ++v) {
            const typename D::Codes c = D::codes(as<I>(block.codes(v, w, at)));
            SLUICE_UNROLL
            for (int t = 0; t < kTokens; ++t) D::step(sum[t][v], c, a[t]);
          }
        };
        // A page's modules are to be small, so there the steps of one token, which wait for memory,
        // are a loop. (Tiles of digits have one token in prompts, too: tile_tokens.)
        constexpr bool kLoop = kWasm && kTokens == 1 && !D::kDigits;
        constexpr int kLoopSteps = kLoop ? smallest(Format::kAlikeWords, D::kFlush, kSteps) : 1;
        SLUICE_UNROLL
        for (int i = 0; i < kSteps; i += kLoopSteps) {
          if constexpr (kLoopSteps > 1) {
            int end = i + kLoopSteps;
            asm("" : "+r"(end));  // keeps the compiler from unrolling the loop
            for (int w = i; w < end; ++w) {
              if (w < i || w >= i + kLoopSteps) __builtin_unreachable();
              step(w);
            }
          } else {
            step(Format::word_at(i));
          }
          if ((i + kLoopSteps) % D::kFlush != 0 || i + kLoopSteps == kSteps) continue;
          SLUICE_UNROLL
          for (int t = 0; t < kTokens; ++t) {
            SLUICE_UNROLL
            for (int v = 0; v < kVecs; ++v) D::flush(sum[t][v]);
          }
        }
      }
      const int64_t b = of_16 / 2;
      const auto ds = [&](int t) __attribute__((always_inline)) {
        if constexpr (kGroupsOf16 == 2) return ds_first[t * n_blocks + b];
        const int32_t sum_q = sums_first[t * (n_blocks * 2) + of_16];
        return d_first[t * n_blocks + b] * static_cast<float>(sum_q);
      };
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const F scale = block.scale(v, at, head[v]);
        SLUICE_UNROLL
        for (int t = 0; t < kTokens; ++t) {
          const F isum = to_float(D::total(sum[t][v], bias_sum[t]));
          acc[t][v] = acc[t][v] + isum * (scale * d_first[t * n_blocks + b]);
        }
        if constexpr (Format::kMin) {
          const F min = block.min(v, at, head[v]);
          SLUICE_UNROLL
          for (int t = 0; t < kTokens; ++t) {
            acc[t][v] = acc[t][v] + min * ds(t);
          }
        }
      }
      activations.advance(Format::kGroup);
      of_16 += kGroupsOf16;
    };
    for (int64_t b = 0; b < acts.cols / block_columns<Format>; ++b) {
      typename Format::Head head[kVecs];
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) head[v] = block.head(v);
      for_groups<Format>([&](const auto& at) __attribute__((always_inline)) { group(at, head); });
      block.next();
    }
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVecs; ++v) {
        store(out + (first + t) * out_stride + (v0 + v) * kLanes, acc[t][v]);
      }
    }
  }
}

// The Dot for codes below 2^kBits.
template <typename Dots, int kBits>
using DotOf = typename Dots::template Dot<(kBits < 4 ? 4 : kBits)>;

template <typename Dots, typename Format, int kMaxTokens, typename Where>
void product(const Where& where, const Acts& acts, int n_tokens, float* out, int64_t out_stride) {
  for_tiles<kMaxTokens>(0, n_tokens, [&]<int kTokens>(int first) {
    using D = DotOf<Dots, Format::kBits>;
    product_tile<D, Dots::vectors(kTokens), Format, kTokens>(where, acts, first, out, out_stride);
  });
}

// How many tokens a tile has, `most` or half of that: with two digits a token needs two sums.
template <typename Dots, int kBits>
constexpr int tile_tokens(int most) {
  return DotOf<Dots, kBits>::kDigits && most > 1 ? most / 2 : most;
}

template <typename Dots>
void gemm(const Panel& panel, const Acts& acts, int n_tokens, float* out, int64_t out_stride) {
  for_panel(panel, [&]<typename Format>() {
    constexpr int kTokens = tile_tokens<Dots, Format::kBits>(Dots::kTokens);
    product<Dots, Format, kTokens>(panel, acts, n_tokens, out, out_stride);
  });
}

template <typename Dots>
void direct(Type type, const uint8_t* strip, const Acts& acts, int n_tokens, float* out,
            int64_t out_stride) {
  for_packed_type(type, [&]<typename Format>() {
    constexpr int kTokens = tile_tokens<Dots, Format::kBits>(Dots::kDirectTokens);
    product<Dots, Format, kTokens>(strip, acts, n_tokens, out, out_stride);
  });
}

// Unpacking takes longer than a second tile. 8-bit codes lie in a packed strip as in a panel, so
// unpacking them gains only larger tiles, which is little if there are tiles of several tokens.
template <typename Dots>
int direct_tokens(Type type) {
  const TypeTraits& t = kTypes[static_cast<uint32_t>(type)];
  if (Dots::kDirectTokens > 1 && t.low.bits == 8) return INT32_MAX;
  return 2 * Dots::kDirectTokens;
}

inline F load_f32(const uint8_t* p) { return load<F>(p); }
inline F load_bf16(const uint8_t* p) { return as<F>(as<U>(load_i16(p)) << 16); }

// In every table a tile of a float product has up to 8 accumulators.
constexpr int kFloatTokens = kVectors == 1 ? 8 : 4;

template <F (*kLoad)(const uint8_t*), int kBytes, int kTokens>
[[gnu::noinline]] void float_tile(const uint8_t* strip, const float* x, int64_t cols, float* out,
                                  int64_t out_stride) {
  constexpr int kVecs = kTokens > 1 && kVectors > 2 ? 2 : kVectors;
  // As wide as a pointer: in wasm, 64-bit indexes take an eighth of the time.
  const auto stride = static_cast<intptr_t>(cols);
  for (int v0 = 0; v0 < kVectors; v0 += kVecs) {
    F acc[kTokens][kVecs] = {};
    const uint8_t* w = strip + v0 * kLanes * kBytes;
    for (const float* at = x; at < x + cols; ++at, w += 16 * kBytes) {
      F weight[kVecs];
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) weight[v] = kLoad(w + v * kLanes * kBytes);
      SLUICE_UNROLL
      for (int t = 0; t < kTokens; ++t) {
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) acc[t][v] = acc[t][v] + weight[v] * at[t * stride];
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
  for_tiles<kFloatTokens>(0, n_tokens, [&]<int kTokens>(int first) {
    float_tile<kLoad, kBytes, kTokens>(strip, x + first * cols, cols, out + first * out_stride,
                                       out_stride);
  });
}

// A table whose integer products are replaced by those of Dots.
template <typename Dots>
constexpr Kernels with_dots(Kernels kernels) {
  kernels.reads_digits = Dots::template Dot<8>::kDigits;
  kernels.direct_tokens = direct_tokens<Dots>;
  kernels.direct = direct<Dots>;
  kernels.gemm = gemm<Dots>;
  return kernels;
}
