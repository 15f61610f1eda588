// A table of kernels; every instruction set has one. Kernels know no tensors, threads or files:
// each works on one strip of 16 output rows, one token's row or one chunk of keys and values.
// Every table gives the same bits. This header and quant/quant.h (reference_dot) define them.
//
// Virtual lanes: a reduction over n values has 16 partial results. Value i goes to lane i % 16, in
// ascending order. Then the lanes are folded: lane i with lane i + 8, then with i + 4, i + 2 and
// i + 1. There is no fused multiply-add and no reciprocal estimate. max(a, b) = a < b ? b : a.
//
// Two things differ by table: the value of an infinite half, and the bits of a NaN. So f16 keys and
// values are clamped to +-65504, and Weights refuses weights with infinities. Whether a number is
// NaN doesn't differ.
#pragma once  // face

#include <cstdint>
#include <string_view>

#include "kernels/kv_chunk.h"
#include "quant/matrix.h"
#include "quant/quant.h"

namespace sluice {

// Quantized activations of n_tokens rows (quant.h says how they are made).
struct Acts {
  const int8_t* q;       // [n_tokens][cols]
  const int8_t* digits;  // [n_tokens][cols / 32][2][32]: q = 16 * first + second, both in -8..8;
                         // only set if the table's reads_digits is
  const float* d;        // [n_tokens][cols / 32]
  const float* ds;       // [n_tokens][cols / 32]: d * float(sum of the block's q)
  const int32_t* sums;   // [n_tokens][cols / 16]: sum of q over each 16
  int64_t cols;
};

enum class KvType : uint8_t { f32, f16, q8_0 };

inline constexpr int kKvScaleBlock = 32;  // q8_0: elements of a head that share one f32 scale

// n <= kKvChunk cached positions of one KV head, in the order in which attention reads them.
//   k: [ceil(n / 16)][head_dim][16] elements, lane = position
//   k_scales: [ceil(n / 16)][scales][16]
//   v: [head_dim_padded / 16][kKvChunk][16] elements; head_dim_padded is a multiple of 16
//   v_scales: [n][scales]
// Only q8_0 has scales: scales = ceil(head_dim / 32). An element is f32, f16 or int8. If the
// table's paired_halves is set, half i of every [16] lies at half_place(i).
struct KvChunk {
  KvType type;
  const uint8_t* k;
  const float* k_scales;
  const uint8_t* v;
  const float* v_scales;
};

// Halves i and i + 4 of eight share a 32-bit word. Two operations then make a float of either.
constexpr int half_place(int i) { return (i & 8) | (i & 3) << 1 | (i >> 2 & 1); }

// Attention of query heads over one chunk of the KV head that they share. Each query merges the
// chunk into a running softmax of its own.
//
// The queries belong to n_tokens consecutive tokens of n_heads heads each: query i is head
// i % n_heads of token t = i / n_heads. It sees the positions p of the chunk with
//   clamp(n_before + t, 0, kKvChunk) <= p < clamp(n_visible + t, 0, n_filled)
// and over these
//   score[p] = scale * (sum over d ascending of q[d] * k[p][d]), one accumulator a position
//   m = max of the scores (16 virtual lanes, p in lane p % 16); e[p] = exp(score[p] - m)
//   s = sum of e (the same lanes); w[d] = sum over p ascending of e[p] * v[p][d]
// An element of q8_0 is float(int8) * scale, rounded. With f16, queries are clamped to +-65504 as
// the keys are.
//
// A query that sees nothing of earlier chunks (`first` is set, or n_before + t >= 0) starts with
// max = m, sum = s, values = w. Other queries merge:
//   M = max(max, m), a = exp(max - M), b = exp(m - M)
//   max = M, sum = sum * a + s * b, values[d] = values[d] * a + w[d] * b
// Nothing changes for a query that sees nothing of this chunk.
struct Attend {
  KvChunk chunk;
  int n_visible;  // end of what the first token sees; may lie outside of the chunk
  int n_before;   // start of the first token's window, likewise; kNoWindow: it sees all before it
  int n_filled;   // positions that the chunk has
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
// Floats of a query's values: whole vectors of 16.
constexpr int padded_head_dim(int64_t head_dim) {
  return static_cast<int>((head_dim + 15) / 16 * 16);
}
// From so many tokens on, a chunk of f16 or q8_0 is widened to f32 before it is read.
inline constexpr int kWideTokens = 8;
// Floats that Attend::scratch needs for chunks of this type.
constexpr int64_t attend_scratch(KvType type, int n_tokens, int n_heads, int head_dim) {
  const int64_t padded = padded_head_dim(head_dim);
  const bool wide = type != KvType::f32 && n_tokens >= kWideTokens;
  return n_tokens * n_heads * (kKvChunk + padded + head_dim) +
         (wide ? kKvChunk * (head_dim + padded) : 0);
}

// One value head of a linear attention by the gated delta rule, over n_tokens tokens. Its state M
// has one number for each key and value of the head, as [head_dim / 16][head_dim keys][16 values].
// For each token, its keys k, query q and values v, with M from the token before:
//   kq = sum of k[i] * q[i] (16 virtual lanes)
//   for each value j, i ascending: of_k = sum of M[i][j] * k[i], of_q = sum of M[i][j] * q[i]
//   d[j] = (v[j] - of_k * decay) * beta
//   out[j] = of_q * decay + d[j] * kq
//   M[i][j] = M[i][j] * decay + d[j] * k[i]
// So the old state decays, d of it is replaced along k, and q reads the new one.
struct DeltaRule {
  const float* q;  // [n_tokens][stride], of which [head_dim] count; k and v likewise
  const float* k;
  const float* v;
  int64_t stride;
  const float* decay;  // [n_tokens]
  const float* beta;   // [n_tokens]
  const float* from;   // the state before the first token
  float* to;           // the state after the last one; may be `from`
  float* out;          // [n_tokens][out_stride], of which [head_dim] are written
  int64_t out_stride;
  int n_tokens;  // 1 to kDeltaTokens
  int head_dim;  // a multiple of 16
};
inline constexpr int kDeltaTokens = 64;

struct Kernels {
  const char* name;
  bool (*supported)();  // whether this machine can run the table

  // x[n] -> q[n], digits[2n], d[n/32], ds[n/32], sums[n/16] (Acts); n is a multiple of 32. Digits:
  // first = floor((q + 8) / 16), second = q - 16 * first. `digits` may be null if reads_digits is
  // false.
  void (*quantize)(const float* x, int64_t n, int8_t* q, int8_t* digits, float* d, float* ds,
                   int32_t* sums);

  bool reads_digits;  // whether direct and gemm read Acts::digits
  // Up to so many tokens, `direct` takes less time than `unpack` and `gemm`.
  int (*direct_tokens)(Type);
  // Multiplies a packed strip of an integer type by n_tokens rows of activations, for decoding.
  // Writes out[t * out_stride + r] for all r = 0..15.
  void (*direct)(Type type, const uint8_t* strip, const Acts& acts, int n_tokens, float* out,
                 int64_t out_stride);
  // The same from an unpacked strip, for prompts.
  void (*gemm)(const Panel& panel, const Acts& acts, int n_tokens, float* out, int64_t out_stride);
  // Multiplies a packed strip of floats by f32 activations x[t * cols + k].
  void (*float_product)(FloatKind floats, const uint8_t* strip, const float* x, int64_t cols,
                        int n_tokens, float* out, int64_t out_stride);
  // Unpacks a packed strip of an integer type, to what unpack_rows makes of its rows.
  void (*unpack)(Type type, const uint8_t* strip, int64_t cols, Panel& panel);

  // out[i] = (x[i] * r) * weight[i], r = 1 / sqrt(sum(x^2) / n + eps) with the sum over 16 virtual
  // lanes. out may be x.
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float eps, float* out);
  // out[i] = x[i] - m, m = sum(x) / n with the sum over 16 virtual lanes. out may be x. A layer
  // norm is this and then rms_norm.
  void (*center)(const float* x, int64_t n, float* out);
  void (*add)(const float* x, int64_t n, float* out);  // out[i] = out[i] + x[i]
  // out[i] = (gate[i] / (1 + exp(-gate[i]))) * up[i]; out may be gate.
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  // out[i] = x[i] * (1 / (1 + exp(-gate[i]))); out may be x or gate.
  void (*sigmoid_mul)(const float* x, const float* gate, int64_t n, float* out);
  // GELU in its tanh form, x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) * (x + 0.044715 x^3), which
  // equals x / (1 + exp(-2u)): out[i] = x[i] / (1 + exp(-t)), t = x[i] * (0x1.988454p+0 +
  // 0x1.2444f2p-4 * (x[i] * x[i])). n is a multiple of 16; out may be x.
  void (*gelu)(const float* x, int64_t n, float* out);
  // GELU as it is defined, x / 2 * (1 + erf(x / sqrt(2))), within 1e-6 of it or of x: out[i] = 0.5
  // * (x[i] + |x[i]| * (1 - p(t) * t * exp(-0.5 * x[i] * x[i]))), t = 1 / (1 + 0x1.da671p-3 *
  // |x[i]|) (Abramowitz and Stegun 7.1.26; body.inl has the polynomial p). n is a multiple of 16;
  // out may be x.
  void (*gelu_exact)(const float* x, int64_t n, float* out);
  // Rotates pairs of one head in place: (a, b) -> (a * cos - b * sin, a * sin + b * cos).
  // rope_halves: a = x[i], b = x[i + n_pairs]. rope_adjacent: a = x[2i], b = x[2i + 1].
  void (*rope_halves)(float* x, const float* cos, const float* sin, int n_pairs);
  void (*rope_adjacent)(float* x, const float* cos, const float* sin, int n_pairs);

  // Store one position's key or value of one head in a chunk (KvChunk), rounded to `type`: f16 to
  // the nearest even, q8_0 for each 32 elements with scale = max / 127 and q = x * (1 / scale) to
  // the nearest even. `position` counts from the chunk's first.
  void (*store_k)(KvType type, const float* x, int head_dim, int position, uint8_t* k,
                  float* k_scales);
  void (*store_v)(KvType type, const float* x, int head_dim, int position, uint8_t* v,
                  float* v_scales);
  bool paired_halves;  // the cache's halves lie in pairs (KvChunk)
  void (*attend)(const Attend& attend);
  void (*delta_rule)(const DeltaRule& rule);

  // Of logits: the largest, and the sum of exp(x - max). Both by 16 virtual lanes.
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

// The table to use: the one called `name`; if that is empty, the one that the environment variable
// SLUICE_KERNELS names; if that is empty, too, the first that is supported. Null if the name is
// unknown or its table is not supported here.
const Kernels* choose_kernels(std::string_view name = {});
// The names of the supported tables, for messages: "avx512, avx2, generic".
const char* supported_kernel_names();

}  // namespace sluice
