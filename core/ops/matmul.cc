#include "ops/matmul.h"

#include <algorithm>

#include "base/stopwatch.h"

namespace sluice {
namespace {

void multiply_float(const Kernels& kernels, const Matrix& matrix, int64_t s, const Input& in,
                    int n_tokens, float* out, int64_t out_stride, const MatmulScratch& scratch) {
  if (matrix.strip_packed(s)) {
    kernels.float_product(traits(matrix.type).floats, matrix.strip(s), in.x, matrix.cols, n_tokens,
                          out, out_stride);
    return;
  }
  // Rows past the last whole strip are not packed: widen and interleave them here.
  float* strip = scratch.strip();
  std::fill_n(strip, matrix.cols * kStripRows, 0.0f);
  float* row = scratch.row();
  const int64_t n_rows = std::min<int64_t>(kStripRows, matrix.rows - s * kStripRows);
  for (int64_t r = 0; r < n_rows; ++r) {
    traits(matrix.type)
        .dequantize(matrix.strip(s) + static_cast<size_t>(r) * matrix.bytes_per_row(), matrix.cols,
                    row);
    for (int64_t k = 0; k < matrix.cols; ++k) strip[k * kStripRows + r] = row[k];
  }
  kernels.float_product(FloatKind::f32, reinterpret_cast<const uint8_t*>(strip), in.x, matrix.cols,
                        n_tokens, out, out_stride);
}

void unpack_strip(const Kernels& kernels, const Matrix& matrix, int64_t s, Panel& panel) {
  if (matrix.strip_packed(s)) {
    kernels.unpack(matrix.type, matrix.strip(s), matrix.cols, panel);
    return;
  }
  const int64_t n_rows = std::min<int64_t>(kStripRows, matrix.rows - s * kStripRows);
  unpack_rows(matrix.type, matrix.strip(s), static_cast<int>(n_rows), matrix.cols, panel);
}

void multiply_integer(const Kernels& kernels, const Matrix& matrix, int64_t s, const Acts& acts,
                      int n_tokens, float* out, int64_t out_stride, MatmulScratch& scratch) {
  if (matrix.strip_packed(s) && n_tokens <= kernels.direct_tokens(matrix.type)) {
    kernels.direct(matrix.type, matrix.strip(s), acts, n_tokens, out, out_stride);
    return;
  }
  Panel panel = scratch.panel();
  if (scratch.timed()) {
    const Stopwatch watch;
    unpack_strip(kernels, matrix, s, panel);
    scratch.add_unpacking(watch.seconds());
  } else {
    unpack_strip(kernels, matrix, s, panel);
  }
  kernels.gemm(panel, acts, n_tokens, out, out_stride);
}

}  // namespace

uint64_t Activations::bytes(int64_t max_cols, int64_t max_tokens) {
  const auto n = static_cast<uint64_t>(round_up(static_cast<uint64_t>(max_cols), 32)) *
                 static_cast<uint64_t>(max_tokens);
  return 4 * n + n + 2 * n + 4 * (n / 32) + 4 * (n / 32) + 4 * (n / 16) + 6 * kAlignment;
}

Result<Activations> Activations::allocate(int64_t max_cols, int64_t max_tokens) {
  const auto n = static_cast<uint64_t>(round_up(static_cast<uint64_t>(max_cols), 32)) *
                 static_cast<uint64_t>(max_tokens);
  Activations a;
  SLUICE_TRY(allocate_each({{a.x_, 4 * n},
                            {a.q_, n},
                            {a.digits_, 2 * n},
                            {a.d_, 4 * (n / 32)},
                            {a.ds_, 4 * (n / 32)},
                            {a.sums_, 4 * (n / 16)}},
                           "the prompt's activations"));
  return a;
}

Input Activations::rows_of(int64_t cols) const {
  return {x_.as<float>(),
          q_.as<int8_t>(),
          digits_.as<int8_t>(),
          d_.as<float>(),
          ds_.as<float>(),
          sums_.as<int32_t>(),
          cols};
}

void Input::quantize(const Kernels& kernels, int64_t token) const {
  if (cols % kActBlock != 0) return;
  kernels.quantize(row(token), cols, q + token * cols,
                   kernels.reads_digits ? digits + token * (2 * cols) : nullptr,
                   d + token * (cols / 32), ds + token * (cols / 32), sums + token * (cols / 16));
}

uint64_t MatmulScratch::bytes(int64_t max_cols) {
  const auto cols = round_up(static_cast<uint64_t>(max_cols), 32);
  return cols * (16 + 4 + 4 + 4 + 64) + 5 * kAlignment;
}

Result<MatmulScratch> MatmulScratch::allocate(int64_t max_cols) {
  const auto cols = round_up(static_cast<uint64_t>(max_cols), 32);
  MatmulScratch s;
  SLUICE_TRY(allocate_each({{s.codes_, 16 * cols},
                            {s.scales_, 4 * cols},
                            {s.mins_, 4 * cols},
                            {s.row_, 4 * cols},
                            {s.strip_, 64 * cols}},
                           "unpacking weights"));
  return s;
}

Panel MatmulScratch::panel() const {
  Panel panel{};
  panel.codes = codes_.data();
  panel.scales = scales_.as<float>();
  panel.mins = mins_.as<float>();
  return panel;
}

void matmul(const Kernels& kernels, const Matrix& matrix, const Input& in, int64_t n_tokens,
            float* out, int64_t out_stride, Share strips, MatmulScratch& scratch) {
  const bool integer = traits(matrix.type).group != 0;
  for (int64_t s = strips.begin; s < strips.end; ++s) {
    float* out_strip = out + s * kStripRows;
    if (integer) {
      multiply_integer(kernels, matrix, s, in.acts(), static_cast<int>(n_tokens), out_strip,
                       out_stride, scratch);
    } else {
      multiply_float(kernels, matrix, s, in, static_cast<int>(n_tokens), out_strip, out_stride,
                     scratch);
    }
  }
}

}  // namespace sluice
