#include "parity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/half.h"
#include "base/math.h"
#include "make/blocks.h"
#include "parity_support.h"

namespace sluice::parity {

void Report::equal(const std::string& what, const float* got, const float* want, int64_t n) {
  ++comparisons;
  for (int64_t i = 0; i < n; ++i) {
    if (std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(want[i])) continue;
    ++failures;
    if (messages.size() < 8) {
      messages.push_back(what + ": [" + std::to_string(i) + "] is " + std::to_string(got[i]) +
                         ", expected " + std::to_string(want[i]));
    }
    return;
  }
}

void Report::equal_bytes(const std::string& what, const void* got, const void* want, size_t n) {
  ++comparisons;
  if (std::memcmp(got, want, n) == 0) return;
  ++failures;
  if (messages.size() < 8) messages.push_back(what + ": the bytes differ");
}
namespace {

// Rows of random bytes with finite scales, so that all codes occur, also the extreme ones.
ByteVector random_rows(Random& random, Type type, int64_t rows, int64_t cols) {
  const TypeTraits& t = traits(type);
  ByteVector bytes(static_cast<size_t>(rows) *
                   static_cast<size_t>(row_bytes(t, static_cast<uint64_t>(cols))));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits());
  // Some blocks have only extreme codes.
  if (t.group != 0) {
    for (size_t at = 0; at < bytes.size(); at += 5 * t.block_bytes) {
      std::memset(bytes.data() + at, random.below(2) == 0 ? 0x80 : 0xff, t.block_bytes);
    }
  }
  set_floats(t, bytes.data(), bytes.size(), [&]() -> uint32_t {
    if (t.floats == FloatKind::f32) return std::bit_cast<uint32_t>(random.uniform());
    return t.floats == FloatKind::bf16 ? f32_to_bf16(random.uniform()) : random.half();
  });
  return bytes;
}

struct Quantized {
  std::vector<int8_t> q, digits;
  Floats d, ds;
  std::vector<int32_t> sums;
  int64_t cols;

  Acts acts() const { return {q.data(), digits.data(), d.data(), ds.data(), sums.data(), cols}; }
};

// Activations as quant.h defines them, by the reference.
Quantized quantized(const Floats& x, int64_t cols) {
  const size_t n = x.size();
  Quantized out{std::vector<int8_t>(n), std::vector<int8_t>(2 * n),   Floats(n / 32),
                Floats(n / 32),         std::vector<int32_t>(n / 16), cols};
  reference_quantize(x.data(), static_cast<int64_t>(n), out.q.data(), out.d.data());
  for (size_t i = 0; i < n; ++i) {
    out.sums[i / 16] += out.q[i];
    const double first = std::floor((out.q[i] + 8) / 16.0);
    out.digits[i / 32 * 64 + i % 32] = static_cast<int8_t>(first);
    out.digits[i / 32 * 64 + i % 32 + 32] = static_cast<int8_t>(out.q[i] - 16 * first);
  }
  for (size_t b = 0; b < n / 32; ++b) {
    out.ds[b] = out.d[b] * static_cast<float>(out.sums[2 * b] + out.sums[2 * b + 1]);
  }
  return out;
}

// The arrays of a panel, 64-byte aligned as required.
struct PanelMemory {
  explicit PanelMemory(int64_t cols)
      : codes(static_cast<size_t>(cols) * 16 + 64, 0xee),
        scales(static_cast<size_t>(cols) + 16, -1e30f),
        mins(static_cast<size_t>(cols) + 16, -1e30f) {
    panel.codes = align(codes.data());
    panel.scales = align(scales.data());
    panel.mins = align(mins.data());
  }
  template <typename T>
  static T* align(T* p) {
    return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
  }
  ByteVector codes;
  Floats scales, mins;
  Panel panel;
};

std::string describe(Type type, int64_t cols, int n_rows, int n_tokens) {
  return std::string(traits(type).name) + ", " + std::to_string(cols) + " columns, " +
         std::to_string(n_rows) + " rows, " + std::to_string(n_tokens) + " tokens";
}

// ---- Checks ------------------------------------------------------------------------------------

void check_quantize(const Kernels& kernels, Report& report) {
  Random random(1);
  for (const int64_t n : {32, 64, 96, 512, 4096}) {
    Floats x = random.activations(n);
    x[5] = 1e38f;  // an outlier of a block
    // Ties: numbers with .5 in a block whose scale is exactly 1.
    for (int i = 0; i < 32; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i) - 15.5f;
    x[0] = 127.0f;
    const Quantized want = quantized(x, n);
    Quantized got = want;
    std::fill(got.q.begin(), got.q.end(), int8_t{-1});
    std::fill(got.digits.begin(), got.digits.end(), int8_t{-1});
    kernels.quantize(x.data(), n, got.q.data(), got.digits.data(), got.d.data(), got.ds.data(),
                     got.sums.data());
    std::string what = "quantize " + std::to_string(n);
    report.equal_bytes(what + " q", got.q.data(), want.q.data(), want.q.size());
    report.equal_bytes(what + " digits", got.digits.data(), want.digits.data(), 2 * want.q.size());
    report.equal(what + " d", got.d.data(), want.d.data(), n / 32);
    report.equal(what + " ds", got.ds.data(), want.ds.data(), n / 32);
    report.equal_bytes(what + " sums", got.sums.data(), want.sums.data(), want.sums.size() * 4);
    if (kernels.reads_digits) continue;
    what += " without digits";
    std::fill(got.q.begin(), got.q.end(), int8_t{-1});
    kernels.quantize(x.data(), n, got.q.data(), nullptr, got.d.data(), got.ds.data(),
                     got.sums.data());
    report.equal_bytes(what + " q", got.q.data(), want.q.data(), want.q.size());
    report.equal_bytes(what + " sums", got.sums.data(), want.sums.data(), want.sums.size() * 4);
  }
}

// Blocks with a NaN or an infinity: all their codes are 0, d is infinite and ds is NaN, so products
// with them become NaN.
void check_quantize_not_finite(const Kernels& kernels, Report& report) {
  Random random(2);
  for (const uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7fc00080u, 0xffffffffu}) {
    for (size_t at = 0; at < 32; at += 5) {
      Floats x = random.activations(96);
      x[32 + at] = std::bit_cast<float>(bits);
      const Quantized want = quantized(x, 96);
      Quantized got = want;
      std::fill(got.q.begin(), got.q.end(), int8_t{-128});
      kernels.quantize(x.data(), 96, got.q.data(), got.digits.data(), got.d.data(), got.ds.data(),
                       got.sums.data());
      const std::string what = "quantize what is not finite";
      report.equal_bytes(what + ", q", got.q.data(), want.q.data(), want.q.size());
      const int8_t zeros[32] = {};
      report.equal_bytes(what + ", q of its block", got.q.data() + 32, zeros, 32);
      report.equal_bytes(what + ", sums", got.sums.data(), want.sums.data(), 4 * want.sums.size());
      report.equal(what + ", d", got.d.data(), want.d.data(), 3);
      const float kind[2] = {got.d[1], std::isnan(got.ds[1]) ? 1.0f : 0.0f};
      const float expected[2] = {std::bit_cast<float>(0x7f800000u), 1.0f};
      report.equal(what + ", kind of d and ds", kind, expected, 2);
    }
  }
}

// The right results for 16 rows (those from n_rows on are absent) and all tokens.
Floats reference_outputs(Type type, const ByteVector& rows, int n_rows, int64_t cols,
                         const Quantized& x, const Floats& floats, int n_tokens) {
  Floats want(static_cast<size_t>(n_tokens) * 16);
  const size_t stride = rows.size() / static_cast<size_t>(n_rows);
  for (int64_t t = 0; t < n_tokens; ++t) {
    for (int64_t r = 0; r < n_rows; ++r) {
      const uint8_t* row = rows.data() + static_cast<size_t>(r) * stride;
      float& out = want[static_cast<size_t>(t * 16 + r)];
      if (traits(type).group == 0) {
        out = reference_dot_float(type, row, cols, floats.data() + t * cols);
      } else {
        out = reference_dot(type, row, cols, {x.q.data() + t * cols, x.d.data() + t * cols / 32});
      }
    }
  }
  return want;
}

// Runs `compute(n_tokens, out, stride)` for several numbers of tokens and compares with `want`.
void compare_tokens(Report& report, const std::string& what, const Floats& want,
                    const std::function<void(int, float*, int64_t)>& compute) {
  const int most = static_cast<int>(want.size() / 16);
  for (int n_tokens = 1; n_tokens <= most; ++n_tokens) {
    const int64_t stride = 16 + n_tokens % 3;
    Floats out(static_cast<size_t>(n_tokens * stride), 7.0f);
    compute(n_tokens, out.data(), stride);
    for (int64_t t = 0; t < n_tokens; ++t) {
      report.equal(what + ", " + std::to_string(n_tokens) + " tokens", out.data() + t * stride,
                   want.data() + t * 16, 16);
      for (int64_t i = 16; i < stride; ++i) {
        const float untouched = 7.0f;
        report.equal(what + ", past the rows", out.data() + t * stride + i, &untouched, 1);
      }
    }
  }
}

void check_gemm(const Kernels& kernels, Report& report) {
  Random random(2);
  for (const Type type : integer_types()) {
    for (const int64_t unit : {1, 2, 3, 9}) {
      const int64_t cols = unit * traits(type).block;
      for (const int n_rows : {16, 1, 7}) {
        const ByteVector rows = random_rows(random, type, n_rows, cols);
        const int n_tokens = n_rows == 16 && unit <= 3 ? 17 : 3;
        const Quantized x = quantized(random.activations(n_tokens * cols), cols);
        const Floats want = reference_outputs(type, rows, n_rows, cols, x, {}, n_tokens);
        PanelMemory memory(cols);
        unpack_rows(type, rows.data(), n_rows, cols, memory.panel);
        compare_tokens(report, "gemm " + describe(type, cols, n_rows, n_tokens), want,
                       [&](int n, float* out, int64_t stride) {
                         kernels.gemm(memory.panel, x.acts(), n, out, stride);
                       });
      }
    }
  }
}

void check_direct(const Kernels& kernels, Report& report) {
  Random random(3);
  for (const Type type : integer_types()) {
    for (const int64_t unit : {1, 2, 3, 9}) {
      const int64_t cols = unit * traits(type).block;
      const int n_tokens = unit <= 3 ? 17 : 5;
      const ByteVector rows = random_rows(random, type, 16, cols);
      ByteVector strip(rows.size() + 1);  // at an odd address: matrices have any alignment
      pack_strip(type, rows.data(), cols, strip.data() + 1);
      const Quantized x = quantized(random.activations(n_tokens * cols), cols);
      const Floats want = reference_outputs(type, rows, 16, cols, x, {}, n_tokens);
      compare_tokens(report, "direct " + describe(type, cols, 16, n_tokens), want,
                     [&](int n, float* out, int64_t stride) {
                       kernels.direct(type, strip.data() + 1, x.acts(), n, out, stride);
                     });
    }
  }
}

void check_unpack(const Kernels& kernels, Report& report) {
  Random random(9);
  for (const Type type : integer_types()) {
    for (const int64_t unit : {1, 2, 3, 9}) {
      const int64_t cols = unit * traits(type).block;
      const ByteVector rows = random_rows(random, type, 16, cols);
      ByteVector strip(rows.size() + 1);
      pack_strip(type, rows.data(), cols, strip.data() + 1);
      PanelMemory want_memory(cols), got_memory(cols);
      unpack_rows(type, rows.data(), 16, cols, want_memory.panel);
      kernels.unpack(type, strip.data() + 1, cols, got_memory.panel);
      const Panel& want = want_memory.panel;
      const Panel& got = got_memory.panel;
      const std::string what = describe(type, cols, 16, 0);
      const int64_t scales = cols / traits(type).group * 16;
      report.equal_bytes("unpacked codes " + what, got.codes, want.codes,
                         static_cast<size_t>(cols) * 16);
      report.equal("unpacked scales " + what, got.scales, want.scales, scales);
      if (traits(type).has_min) report.equal("unpacked mins " + what, got.mins, want.mins, scales);
      const int got_shape[] = {got.group, got.bits, got.has_min};
      const int want_shape[] = {want.group, want.bits, want.has_min};
      report.equal_bytes("unpacked shape " + what, got_shape, want_shape, sizeof got_shape);
    }
  }
}

void check_float(const Kernels& kernels, Report& report) {
  Random random(4);
  for (const Type type : float_types()) {
    for (const int64_t cols : {1, 7, 32, 100}) {
      const int n_tokens = 17;
      const ByteVector rows = random_rows(random, type, 16, cols);
      ByteVector strip(rows.size() + 1);
      pack_strip(type, rows.data(), cols, strip.data() + 1);
      const Floats x = random.activations(n_tokens * cols);
      const Floats want = reference_outputs(type, rows, 16, cols, {}, x, n_tokens);
      compare_tokens(report, "float " + describe(type, cols, 16, n_tokens), want,
                     [&](int n, float* out, int64_t stride) {
                       kernels.float_product(traits(type).floats, strip.data() + 1, x.data(), cols,
                                             n, out, stride);
                     });
    }
  }
  // Every finite half, as a weight times 1.
  ByteVector halves(65536 * 2);
  for (size_t i = 0; i < 65536; ++i) put_half(&halves[2 * i], static_cast<uint16_t>(i));
  for (size_t i = 0; i < 65536; i += 16) {
    if ((i & 0x7c00u) == 0x7c00u) continue;
    const float one = 1.0f;
    Floats got(16), want(16);
    kernels.float_product(FloatKind::f16, &halves[2 * i], &one, 1, 1, got.data(), 16);
    for (size_t r = 0; r < 16; ++r) want[r] = 0.0f + f16_to_f32(static_cast<uint16_t>(i + r));
    report.equal("halves", got.data(), want.data(), 16);
  }
}

constexpr int64_t kLengths[] = {1, 3, 15, 16, 17, 31, 64, 100, 259, 1024};

void check_vectors(const Kernels& kernels, Report& report) {
  Random random(5);
  for (const int64_t n : kLengths) {
    const std::string length = " of " + std::to_string(n);
    const size_t size = static_cast<size_t>(n);
    const Floats x = random.activations(n);
    const Floats weight = random.activations(n);

    const float eps = 1e-5f;
    const float square = reduce(n, 0.0f, plus, [&](int64_t i) {
      return x[static_cast<size_t>(i)] * x[static_cast<size_t>(i)];
    });
    const float r = 1.0f / std::sqrt(square / static_cast<float>(n) + eps);
    Floats want(size), got(x);
    for (size_t i = 0; i < size; ++i) want[i] = (x[i] * r) * weight[i];
    kernels.rms_norm(got.data(), weight.data(), n, eps, got.data());
    report.equal("rms_norm" + length, got.data(), want.data(), n);

    got = weight;
    for (size_t i = 0; i < size; ++i) want[i] = weight[i] + x[i];
    kernels.add(x.data(), n, got.data());
    report.equal("add" + length, got.data(), want.data(), n);

    got = x;
    for (size_t i = 0; i < size; ++i) want[i] = (x[i] / (1.0f + exp_f32(-x[i]))) * weight[i];
    kernels.silu_mul(got.data(), weight.data(), n, got.data());
    report.equal("silu_mul" + length, got.data(), want.data(), n);

    for (size_t i = 0; i < size; ++i) want[i] = x[i] * (1.0f / (1.0f + exp_f32(-weight[i])));
    kernels.sigmoid_mul(x.data(), weight.data(), n, got.data());
    report.equal("sigmoid_mul" + length, got.data(), want.data(), n);
    for (size_t i = 0; i < size; ++i) want[i] = x[i] * (1.0f / (1.0f + exp_f32(-x[i])));
    got = x;
    kernels.sigmoid_mul(got.data(), got.data(), n, got.data());
    report.equal("sigmoid_mul in place" + length, got.data(), want.data(), n);

    const float mean = reduce(n, 0.0f, plus, [&](int64_t i) { return x[static_cast<size_t>(i)]; }) /
                       static_cast<float>(n);
    for (size_t i = 0; i < size; ++i) want[i] = x[i] - mean;
    kernels.center(x.data(), n, got.data());
    report.equal("center" + length, got.data(), want.data(), n);
    got = x;
    kernels.center(got.data(), n, got.data());
    report.equal("center in place" + length, got.data(), want.data(), n);

    if (n % 16 == 0) {
      for (size_t i = 0; i < size; ++i) {
        const float t = x[i] * (0x1.988454p+0f + 0x1.2444f2p-4f * (x[i] * x[i]));
        want[i] = x[i] / (1.0f + exp_f32(-t));
      }
      got = x;
      kernels.gelu(got.data(), n, got.data());
      report.equal("gelu" + length, got.data(), want.data(), n);
      for (size_t i = 0; i < size; ++i) {
        const float a = std::abs(x[i]);
        const float t = 1.0f / (1.0f + 0x1.da671p-3f * a);
        float p = 0x1.0fb844p+0f * t - 0x1.7401c6p+0f;
        p = p * t + 0x1.6be1c6p+0f;
        p = p * t - 0x1.23531cp-2f;
        p = p * t + 0x1.04f20cp-2f;
        want[i] = 0.5f * (x[i] + a * (1.0f - p * t * exp_f32(-0.5f * x[i] * x[i])));
      }
      got = x;
      kernels.gelu_exact(got.data(), n, got.data());
      report.equal("gelu_exact" + length, got.data(), want.data(), n);
    }

    const float max =
        reduce(n, -INFINITY, larger, [&](int64_t i) { return x[static_cast<size_t>(i)]; });
    const float got_max = kernels.max(x.data(), n);
    report.equal("max" + length, &got_max, &max, 1);

    const float sum =
        reduce(n, 0.0f, plus, [&](int64_t i) { return exp_f32(x[static_cast<size_t>(i)] - max); });
    const float got_sum = kernels.sum_exp(x.data(), n, max);
    report.equal("sum_exp" + length, &got_sum, &sum, 1);

    if (n % 2 != 0) continue;
    const size_t pairs = size / 2;
    const Floats cos = random.activations(n), sin = random.activations(n);
    Floats adjacent(x), halves(x), want_adjacent(x), want_halves(x);
    for (size_t i = 0; i < pairs; ++i) {
      const auto turn = [&](const float a, const float b, float& out_a, float& out_b) {
        out_a = a * cos[i] - b * sin[i];
        out_b = a * sin[i] + b * cos[i];
      };
      turn(x[2 * i], x[2 * i + 1], want_adjacent[2 * i], want_adjacent[2 * i + 1]);
      turn(x[i], x[i + pairs], want_halves[i], want_halves[i + pairs]);
    }
    kernels.rope_adjacent(adjacent.data(), cos.data(), sin.data(), static_cast<int>(pairs));
    kernels.rope_halves(halves.data(), cos.data(), sin.data(), static_cast<int>(pairs));
    report.equal("rope_adjacent" + length, adjacent.data(), want_adjacent.data(), n);
    report.equal("rope_halves" + length, halves.data(), want_halves.data(), n);
  }
}

// A head of a linear attention, by the definition. Its tokens come in one call or in two, from one
// place to another or in place.
void check_delta_rule(const Kernels& kernels, Report& report) {
  Random random(11);
  for (const int dim : {16, 32, 48, 128}) {
    for (const int n_tokens : {1, 2, 5, kDeltaTokens}) {
      const auto n = static_cast<size_t>(dim), tokens = static_cast<size_t>(n_tokens);
      const size_t stride = 3 * n + 5, out_stride = n + 3;
      Floats rows(tokens * stride), decay(tokens), beta(tokens), state(n * n);
      const float least = dim == 48 ? -1.0f : 0.0f;  // any numbers give the same bits
      for (float& x : rows) x = random.uniform();
      for (float& x : decay) x = std::max(random.uniform(), least);
      for (float& x : beta) x = std::max(random.uniform(), least);
      for (float& x : state) x = random.uniform();
      Floats m = state, want(tokens * out_stride, NAN);
      for (size_t t = 0; t < tokens; ++t) {
        const float *q = &rows[t * stride], *k = q + n, *v = k + n;
        const float kq = reduce(dim, 0.0f, plus, [&](int64_t i) { return k[i] * q[i]; });
        for (size_t j = 0; j < n; ++j) {
          float* column = &m[j / 16 * n * 16 + j % 16];
          float of_k = 0, of_q = 0;
          for (size_t i = 0; i < n; ++i) {
            of_k = of_k + column[16 * i] * k[i];
            of_q = of_q + column[16 * i] * q[i];
          }
          const float d = (v[j] - of_k * decay[t]) * beta[t];
          want[t * out_stride + j] = of_q * decay[t] + d * kq;
          for (size_t i = 0; i < n; ++i) column[16 * i] = column[16 * i] * decay[t] + d * k[i];
        }
      }
      const std::string what =
          "delta_rule of " + std::to_string(dim) + " keys, " + std::to_string(n_tokens) + " tokens";
      for (const int first : {n_tokens, n_tokens / 3}) {
        for (const bool in_place : {false, true}) {
          if (first == 0) continue;
          Floats to(n * n, NAN), got(tokens * out_stride, NAN);
          if (in_place) to = state;
          const float* from = in_place ? to.data() : state.data();
          for (int begin = 0; begin < n_tokens; begin += first) {
            const auto at = static_cast<size_t>(begin);
            const float* q = &rows[at * stride];
            kernels.delta_rule({q, q + n, q + 2 * n, static_cast<int64_t>(stride), &decay[at],
                                &beta[at], from, to.data(), &got[at * out_stride],
                                static_cast<int64_t>(out_stride), std::min(first, n_tokens - begin),
                                dim});
            from = to.data();
          }
          report.equal(what + ", state", to.data(), m.data(), static_cast<int64_t>(n * n));
          for (size_t t = 0; t < tokens; ++t)
            report.equal(what + ", output", &got[t * out_stride], &want[t * out_stride], dim);
        }
      }
    }
  }
}

// exp alone: sum_exp of one value with max 0.
void check_exp(const Kernels& kernels, Report& report) {
  Random random(6);
  Floats inputs = {0.0f,    -0.0f,    1.0f,      -1.0f,    -87.3f,   -87.29999f,
                   -87.31f, -1e30f,   -INFINITY, 88.3f,    88.37f,   88.38f,
                   1e30f,   INFINITY, 1e-40f,    0.34657f, -0.34658f};
  for (int i = 0; i < 3000; ++i) inputs.push_back(random.uniform() * 95.0f);
  for (const float x : inputs) {
    const float want = 0.0f + exp_f32(x);
    const float got = kernels.sum_exp(&x, 1, 0.0f);
    report.equal("exp of " + std::to_string(x), &got, &want, 1);
  }
}
}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> kChecks = {
      {"quantize", check_quantize},
      {"quantize_not_finite", check_quantize_not_finite},
      {"gemm", check_gemm},
      {"direct", check_direct},
      {"unpack", check_unpack},
      {"float", check_float},
      {"vectors", check_vectors},
      {"exp", check_exp},
      {"store", check_store},
      {"attend", check_attend},
      {"attend_window", check_attend_window},
      {"delta_rule", check_delta_rule},
  };
  return kChecks;
}

}  // namespace sluice::parity
