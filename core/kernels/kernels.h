// The table of kernels that one instruction set fills. Kernels know no tensors, threads or files:
// each function works on one strip of 16 output rows, one token's row or one attention chunk.
// Every table gives the same bits; quant/quant.h (reference_dot) and this page define them.
//
// Virtual lanes: a reduction over n values keeps 16 partial results, value i going to lane i % 16
// in ascending order, the last n % 16 values to lanes 0..; lanes are then folded 16 -> 8 -> 4 -> 2
// -> 1, lane i with lane i + half. No fused multiply-add, no reciprocal estimates, max(a, b) = a <
// b ? b : a. Halves are finite: f16 keys and values are held within +-65504, and what an infinite
// half of a weight would count as differs by table (Weights refuses those). Which NaN comes out of
// an operation may differ, too: whether it is one doesn't.
#pragma once

#include <cstdint>
#include <string_view>

#include "quant/matrix.h"
#include "quant/quant.h"

namespace sluice {

// Quantized activations of n_tokens rows (quant.h says how they are made).
struct Acts {
  const int8_t* q;       // [n_tokens][cols]
  const int8_t* digits;  // [n_tokens][cols / 32][2][32]: q = 16 * first + second, both in -8..8;
                         // unset unless the table reads them
  const float* d;        // [n_tokens][cols / 32]
  const float* ds;       // [n_tokens][cols / 32]: d * float(sum of the block's q)
  const int32_t* sums;   // [n_tokens][cols / 16]: sum of q over each 16
  int64_t cols;
};

enum class KvType : uint8_t { f32, f16, q8_0 };

inline constexpr int kKvChunk = 256;      // positions whose softmax is one unit
inline constexpr int kKvScaleBlock = 32;  // q8_0: elements of a head sharing one f32 scale

// Up to kKvChunk cached positions of one KV head, in the order in which attention reads them.
//   k: [ceil(n / 16)][head_dim][16] elements, lane = position
//   k_scales: [ceil(n / 16)][scales][16]
//   v: [head_dim_padded / 16][kKvChunk][16] elements; head_dim_padded is a multiple of 16
//   v_scales: [n][scales]
// scales = ceil(head_dim / 32), q8_0 only; element = f32, f16 or int8. Where the table's
// paired_halves is set, half i of 16 side by side lies at half_place(i).
struct KvChunk {
  KvType type;
  const uint8_t* k;
  const float* k_scales;
  const uint8_t* v;
  const float* v_scales;
};

// Halves i and i + 4 of eight share a 32-bit word, which two operations each make floats of.
constexpr int half_place(int i) { return (i & 8) | (i & 3) << 1 | (i >> 2 & 1); }

// Attention over a chunk of query heads that share its KV head, merged into a running softmax each.
// They belong to n_tokens consecutive tokens with n_heads heads each; query i is head i % n_heads
// of token i / n_heads, and sees the positions from clamp(n_before + i / n_heads, 0, kKvChunk) up
// to n = clamp(n_visible + i / n_heads, 0, n_filled). Those before count as nothing: their e is 0.
// Per query:
//   score[p] = scale * (sum over d ascending of q[d] * k[p][d]), one accumulator a position
//   m = max of the scores (16 virtual lanes); e[p] = exp(score[p] - m)
//   s = sum of e (16 virtual lanes); w[d] = sum over p ascending of e[p] * v[p][d]
// q8_0 elements count as float(int8) * scale, rounded; with f16 a query, like a key, counts as at
// most +-65504. (m, s, w) starts the running state of a query that sees nothing earlier: all of
// them where `first`, and those whose n_before + i / n_heads >= 0; else M = max(max, m), a =
// exp(max - M), b = exp(m - M), max = M, sum = sum * a + s * b, values[d] = values[d] * a + w[d] *
// b. Where a query sees nothing, nothing changes.
struct Attend {
  KvChunk chunk;
  int n_visible;  // the first token's positions of this chunk; may be below 0 or past its end
  int n_before;   // of these, those before the first token's window; kNoWindow: it sees them all
  int n_filled;   // positions of this chunk that there are: no token sees others
  int n_tokens;
  int n_heads;  // n_tokens * n_heads <= kMaxQueries
  int head_dim;
  const float* q;  // [n_tokens][q_stride], of which [n_heads][head_dim] count
  int64_t q_stride;
  float scale;
  bool first;      // no token sees a position of an earlier chunk
  float* max;      // [queries]
  float* sum;      // [queries]
  float* values;   // [queries][head_dim_padded]
  float* scratch;  // [attend_scratch(..)]
};
inline constexpr int kMaxQueries = 64;
inline constexpr int kNoWindow = -(1 << 30);
// Rows of values have whole vectors of 16.
constexpr int padded_head_dim(int64_t head_dim) {
  return static_cast<int>((head_dim + 15) / 16 * 16);
}
// From so many tokens on a chunk of narrow elements is first widened to f32.
inline constexpr int kWideTokens = 8;
// Floats of scratch that attending over chunks of this type takes.
constexpr int64_t attend_scratch(KvType type, int n_tokens, int n_heads, int head_dim) {
  const int64_t padded = padded_head_dim(head_dim);
  const bool wide = type != KvType::f32 && n_tokens >= kWideTokens;
  return n_tokens * n_heads * (kKvChunk + padded + head_dim) +
         (wide ? kKvChunk * (head_dim + padded) : 0);
}

struct Kernels {
  const char* name;
  bool (*supported)();  // may this machine run the table?

  // x[n] -> q[n], digits[2n], d[n/32], ds[n/32], sums[n/16]; n a multiple of 32. The digits: first
  // = floor((q + 8) / 16), second = q - 16 * first. They may be null where reads_digits is false.
  void (*quantize)(const float* x, int64_t n, int8_t* q, int8_t* digits, float* d, float* ds,
                   int32_t* sums);

  bool reads_digits;
  int (*direct_tokens)(Type);  // up to so many `direct` takes less than unpacking and `gemm`
  // One strip of an integer type times n_tokens rows: out[t * out_stride + r] for r = 0..15 (all 16
  // are written). Straight from the packed strip (decode):
  void (*direct)(Type type, const uint8_t* strip, const Acts& acts, int n_tokens, float* out,
                 int64_t out_stride);
  // From an unpacked panel, for any number of tokens (prompts):
  void (*gemm)(const Panel& panel, const Acts& acts, int n_tokens, float* out, int64_t out_stride);
  // A strip of floats (packed layout) times f32 activations x[t * cols + k].
  void (*float_product)(FloatKind floats, const uint8_t* strip, const float* x, int64_t cols,
                        int n_tokens, float* out, int64_t out_stride);
  // Packed strip of an integer type -> panel, as unpack_rows.
  void (*unpack)(Type type, const uint8_t* strip, int64_t cols, Panel& panel);

  // out[i] = (x[i] * r) * weight[i], r = 1 / sqrt(sum(x^2) / n + eps) with the sum over 16 virtual
  // lanes. out may be x.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float eps, float* out);
  // out[i] = x[i] - m, m = sum(x) / n with the sum over 16 virtual lanes: what a layer norm does
  // before the rest, which is rms_norm. out may be x.
  void (*center)(const float* x, int64_t n, float* out);
  void (*add)(const float* x, int64_t n, float* out);  // out[i] = out[i] + x[i]
  // out[i] = (gate[i] / (1 + exp(-gate[i]))) * up[i]; out may be gate.
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  // GELU in its tanh form, x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which is x over
  // 1 + exp of -2 times the tangent's argument: out[i] = x[i] / (1 + exp(-t)),
  // t = x[i] * (0x1.988454p+0 + 0x1.2444f2p-4 * (x[i] * x[i])). n a multiple of 16; out may be x.
  void (*gelu)(const float* x, int64_t n, float* out);
  // Turns pairs of one head in place: (a, b) -> (a * cos - b * sin, a * sin + b * cos).
  // Halves: a = x[i], b = x[i + n_pairs]; adjacent: a = x[2i], b = x[2i + 1].
  void (*rope_halves)(float* x, const float* cos, const float* sin, int n_pairs);
  void (*rope_adjacent)(float* x, const float* cos, const float* sin, int n_pairs);

  // One position's key or value of one head, rounded to `type` (f16: to nearest even; q8_0: per 32
  // elements scale = max / 127, q = nearest even of x * (1 / scale)). `position` is the chunk's,
  // and so are k, k_scales, v and v_scales.
  void (*store_k)(KvType type, const float* x, int head_dim, int position, uint8_t* k,
                  float* k_scales);
  void (*store_v)(KvType type, const float* x, int head_dim, int position, uint8_t* v,
                  float* v_scales);
  bool paired_halves;  // how the cache's halves lie (KvChunk)
  void (*attend)(const Attend& attend);

  // Over logits: the largest value (16 virtual lanes), and the sum of exp(x - max) (the same).
  float (*max)(const float* x, int64_t n);
  float (*sum_exp)(const float* x, int64_t n, float max);
};

// All tables in this build, best first; the last one is always supported.
struct KernelList {
  const Kernels* const* begin_;
  int count;
  const Kernels* const* begin() const { return begin_; }
  const Kernels* const* end() const { return begin_ + count; }
};
KernelList all_kernels();

// The table to use: `name` if not empty (null if it is unknown or not supported here), else the
// environment's SLUICE_KERNELS (the same), else the first supported one.
const Kernels* choose_kernels(std::string_view name = {});
// "avx512, avx2, generic": for messages.
const char* supported_kernel_names();

}  // namespace sluice
