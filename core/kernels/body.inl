// Every kernel. A table's file includes this inside its unnamed namespace, after vector.inl and its
// own definitions of
//   load_f16, store_f16             kLanes halves at any alignment
//   load_halves, store_halves       kHalfVectors vectors of the cache's halves. load_halves gives
//                                   their values divided by kHalfScale
//   load_i16, load_i8               kLanes integers of 16 or 8 bits, widened to 32 bits
//   store_i8                        16 values of -128..127 as bytes
//   look_up                         table[byte] for each byte; bytes are below 16
//   kAttendQueries                  the most queries of a tile of attention, a power of two
//   attend_vectors(queries)         vectors of positions, or of a value, in a tile of that many
// Then it gives make_table a class of integer dots:
//   Dots::Dot<bits>                 the Dot for codes of 4, 5, 6 or 8 bits
//   Dots::kTokens                   the most tokens of a product's tile, a power of two
//   Dots::kDirectTokens             the same for packed strips. Each size takes code for each type
//   Dots::vectors(tokens)           vectors of rows in a tile of that many tokens; divides kVectors
//
// A Dot multiplies codes and activations of a group. codes(word) prepares 4 columns of kLanes rows,
// once for all tokens. acts(q, column) prepares 4 activations of a token, for all rows; q are the
// group's activations or, if kDigits, its digits, the second ones 32 bytes after the first. step()
// adds the products of both to a Sum. After start() or flush(), at most kFlush steps may come
// before flush() or total(). bias_sum = -bias * (sum of the group's activations) is added once, in
// start() or in total(). A Dot with kTokenPairs multiplies two tokens by one instruction; add_group
// does all steps of a group (i8mm.cc).

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

// for_lanes passes these to its body, to load and store 16 values (Whole) or a row's last (Rest).
struct Whole {
  static Lanes load(const float* x, float) { return load_all(x); }
  static void store(float* out, const Lanes& lanes) { store_all(out, lanes); }
  static Lanes keep(const Lanes& lanes, float) { return lanes; }
};
struct Rest {
  int64_t count;
  Lanes load(const float* x, float fill) const { return load_some(x, count, fill); }
  void store(float* out, const Lanes& lanes) const { store_some(out, lanes, count); }
  // Replaces the lanes past the end by `fill`.
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

// Combines lane i with lane i + 8, then with i + 4, i + 2 and i + 1.
template <typename V, typename Combine>
inline V fold(const V (&lanes)[kVectors], const Combine& combine) {
  V a;
  if constexpr (kVectors == 1) a = lanes[0];
  if constexpr (kVectors == 2) a = combine(lanes[0], lanes[1]);
  if constexpr (kVectors == 4)
    a = combine(combine(lanes[0], lanes[2]), combine(lanes[1], lanes[3]));
  if constexpr (kLanes > 8) a = combine(a, rotate<8>(a));
  if constexpr (kLanes > 4) a = combine(a, rotate<4>(a));
  a = combine(a, rotate<2>(a));
  return combine(a, rotate<1>(a));
}
inline float fold_sum(const Lanes& lanes) {
  return fold(lanes.v, [](F a, F b) { return a + b; })[0];
}
inline float fold_max(const Lanes& lanes) {
  return fold(lanes.v, [](F a, F b) { return larger(a, b); })[0];
}

// The operations of exp_f32 in base/math.cc, in the same order.
inline F exp(F x) {
  const F t = x * kept<0x1.715476p+0f>() + kept<0x1.8p23f>();
  const F n = t - kept<0x1.8p23f>();
  F r = x - n * kept<0x1.62ep-1f>();
  r = r - n * kept<0x1.0bfbe8p-15f>();
  F p = kept<0x1.6d117cp-10f>();
  p = p * r + kept<0x1.120be2p-7f>();
  p = p * r + kept<0x1.555518p-5f>();
  p = p * r + kept<0x1.5554dcp-3f>();
  p = p * r + kept<0.5f>();
  const F e = (p * (r * r) + r) + kept<1.0f>();
  const U exponent = as<U>(t) - kept<0x4b400000u>();
  F result = e * as<F>((exponent + kept<127u>()) << 23);
  result = x < kept<-87.3f>() ? F{} : result;
  return x > kept<88.37f>() ? kept<__builtin_inff()>() : result;
}

inline float exp(float x) { return exp(splat(x))[0]; }

// ---- Activations ------------------------------------------------------------------------------

// A block of up to 32 values rounded to int8; those past `count` become 0.
struct Rounded {
  I q[2][kVectors];
  float d;  // the scale
};
inline Rounded round_block(const float* x, int64_t count) {
  Lanes values[2] = {splat_lanes(0.0f), splat_lanes(0.0f)};
  for_lanes(count, [&](int64_t i, auto part) { values[i / 16] = part.load(x + i, 0.0f); });
  // The bits of magnitudes, as integers, have the order of the magnitudes. Those of infinity and
  // NaN are the largest.
  I max[kVectors] = {};
  for (const Lanes& half : values) {
    for (int v = 0; v < kVectors; ++v) {
      max[v] = larger(max[v], as<I>(as<U>(half.v[v]) & kept<0x7fffffffu>()));
    }
  }
  const int32_t largest = fold(max, [](I a, I b) { return larger(a, b); })[0];
  Rounded rounded = {};
  if (largest >= 0x7f800000) {
    rounded.d = __builtin_inff();
    return rounded;
  }
  rounded.d = __builtin_bit_cast(float, largest) / 127.0f;
  const float inverse = rounded.d > 0.0f ? 1.0f / rounded.d : 0.0f;
  for (int half = 0; half < 2; ++half) {
    for (int v = 0; v < kVectors; ++v) {
      // The sum's low byte is the rounded value, as in quant/reference.cc.
      const U bits = as<U>(values[half].v[v] * inverse + kept<0x1.8p23f>());
      rounded.q[half][v] = as<I>(bits << 24) >> 24;
    }
  }
  return rounded;
}
void quantize(const float* x, int64_t n, int8_t* q, int8_t* digits, float* d, float* ds,
              int32_t* sums) {
  for (int64_t b = 0; b < n / kActBlock; ++b, x += kActBlock, q += kActBlock, sums += 2) {
    const Rounded rounded = round_block(x, kActBlock);
    d[b] = rounded.d;
    for (int half = 0; half < 2; ++half) {
      const I(&values)[kVectors] = rounded.q[half];
      store_i8(q + 16 * half, values);
      if (digits != nullptr) {
        I first[kVectors], second[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          first[v] = (values[v] + 8) >> 4;
          second[v] = values[v] - (first[v] << 4);
        }
        store_i8(digits + 16 * half, first);
        store_i8(digits + kActBlock + 16 * half, second);
      }
      sums[half] = fold(values, [](I one, I other) { return one + other; })[0];
    }
    ds[b] = d[b] * static_cast<float>(sums[0] + sums[1]);
    if (digits != nullptr) digits += 2 * kActBlock;
  }
}

#include "kernels/formats.inl"
//
#include "kernels/products.inl"
//
#include "kernels/unpack.inl"

void float_product(FloatKind floats, const uint8_t* strip, const float* x, int64_t cols,
                   int n_tokens, float* out, int64_t out_stride) {
  const auto product = floats == FloatKind::f32   ? float_strip<load_f32, 4>
                       : floats == FloatKind::f16 ? float_strip<load_f16, 2>
                                                  : float_strip<load_bf16, 2>;
  product(strip, x, cols, n_tokens, out, out_stride);
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

void center(const float* x, int64_t n, float* out) {
  Lanes sum = splat_lanes(0.0f);
  for_lanes(n, [&](int64_t i, auto part) {
    const Lanes a = part.load(x + i, 0.0f);
    for (int v = 0; v < kVectors; ++v) sum.v[v] = sum.v[v] + a.v[v];
  });
  const float mean = fold_sum(sum) / static_cast<float>(n);
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] - mean;
}

void add(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] + x[i];
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  for_lanes(n, [&](int64_t i, auto part) {
    Lanes g = part.load(gate + i, 0.0f);
    const Lanes u = part.load(up + i, 0.0f);
    for (int v = 0; v < kVectors; ++v) g.v[v] = (g.v[v] / (kept<1.0f>() + exp(-g.v[v]))) * u.v[v];
    part.store(out + i, g);
  });
}

void sigmoid_mul(const float* x, const float* gate, int64_t n, float* out) {
  const auto share = [](F g) { return kept<1.0f>() / (kept<1.0f>() + exp(-g)); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, load<F>(x + i) * share(load<F>(gate + i)));
  for (; i < n; ++i) out[i] = x[i] * share(splat(gate[i]))[0];
}

void gelu(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const F a = load<F>(x + i);
    const F t = a * (kept<0x1.988454p+0f>() + kept<0x1.2444f2p-4f>() * (a * a));
    store(out + i, a / (kept<1.0f>() + exp(-t)));
  }
}

void gelu_exact(const float* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const F a = load<F>(x + i);
    const F size = as<F>(as<U>(a) & kept<0x7fffffffu>());
    const F t = kept<1.0f>() / (kept<1.0f>() + kept<0x1.da671p-3f>() * size);
    F p = kept<0x1.0fb844p+0f>() * t - kept<0x1.7401c6p+0f>();
    p = p * t + kept<0x1.6be1c6p+0f>();
    p = p * t - kept<0x1.23531cp-2f>();
    p = p * t + kept<0x1.04f20cp-2f>();
    const F erf = kept<1.0f>() - p * t * exp(kept<-0.5f>() * a * a);
    store(out + i, kept<0.5f>() * (a + size * erf));
  }
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

// Returns the sum of exp(x - max). If kWrite, writes exp(x - max) to `out`.
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

#include "kernels/attention.inl"
//
#include "kernels/delta_rule.inl"

// ---- The table --------------------------------------------------------------------------------

template <typename Dots>
constexpr Kernels make_table(const char* name, bool (*supported)()) {
  return with_dots<Dots>({
      .name = name,
      .supported = supported,
      .quantize = quantize,
      .reads_digits = false,
      .direct_tokens = nullptr,
      .direct = nullptr,
      .gemm = nullptr,
      .float_product = float_product,
      .unpack = unpack,
      .rms_norm = rms_norm,
      .center = center,
      .add = add,
      .silu_mul = silu_mul,
      .sigmoid_mul = sigmoid_mul,
      .gelu = gelu,
      .gelu_exact = gelu_exact,
      .rope_halves = rope_halves,
      .rope_adjacent = rope_adjacent,
      .store_k = store_k,
      .store_v = store_v,
      .paired_halves = kHalfVectors == 2,
      .attend = attend,
      .delta_rule = delta_rule,
      .max = max,
      .sum_exp = sum_exp,
  });
}
