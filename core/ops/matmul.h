// Matrix products: rows of activations times a weight matrix of any type.
#pragma once

#include <cstdint>
#include <utility>

#include "base/aligned.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "quant/matrix.h"

namespace sluice {

// Rows of activations as the kernels read them: f32 and, for integer weights, quantized to int8.
// A view of the memory of an Activations; its rows have `cols` values.
struct Input {
  float* x;  // [tokens][cols]
  int8_t* q;
  int8_t* digits;
  float* d;
  float* ds;
  int32_t* sums;
  int64_t cols;

  float* row(int64_t token) const { return x + token * cols; }
  // The rows from `token` on, if they are quantized. cols is a multiple of 32, or they aren't.
  Input from(int64_t token) const {
    return {x + token * cols,
            q + token * cols,
            digits + token * (2 * cols),
            d + token * (cols / 32),
            ds + token * (cols / 32),
            sums + token * (cols / 16),
            cols};
  }
  // Quantizes row `token`; to be called after it is written. Does nothing if cols is not a multiple
  // of 32: only float weights have such rows, since rows of integer weights are whole blocks.
  void quantize(const Kernels& kernels, int64_t token) const;
  Acts acts() const { return {q, digits, d, ds, sums, cols}; }
};

// Owns the memory of Inputs, for up to max_tokens rows of up to max_cols values.
class Activations {
 public:
  static uint64_t bytes(int64_t max_cols, int64_t max_tokens);
  static Result<Activations> allocate(int64_t max_cols, int64_t max_tokens);
  Input rows_of(int64_t cols) const;

 private:
  AlignedBuffer x_, q_, digits_, d_, ds_, sums_;
};

// The memory that one worker needs to unpack a strip of up to max_cols columns.
class MatmulScratch {
 public:
  static uint64_t bytes(int64_t max_cols);
  static Result<MatmulScratch> allocate(int64_t max_cols);
  Panel panel() const;                                 // the arrays; unpacking sets the rest
  float* row() const { return row_.as<float>(); }      // [max_cols]
  float* strip() const { return strip_.as<float>(); }  // [max_cols][16]

  // If time_unpacking(true) was called, counts the seconds that unpacking takes. take_unpacking
  // returns those since its last call.
  void time_unpacking(bool on) { timed_ = on; }
  bool timed() const { return timed_; }
  void add_unpacking(double seconds) { unpacking_seconds_ += seconds; }
  double take_unpacking() { return std::exchange(unpacking_seconds_, 0.0); }

 private:
  bool timed_ = false;
  double unpacking_seconds_ = 0;
  AlignedBuffer codes_, scales_, mins_, row_, strip_;
};

// Writes out[t * out_stride + row] for n_tokens tokens and the rows of the strips [strips.begin,
// strips.end). out_stride >= matrix.strips() * 16: the last strip's rows past matrix.rows are
// written, too, as 0.
void matmul(const Kernels& kernels, const Matrix& matrix, const Input& in, int64_t n_tokens,
            float* out, int64_t out_stride, Share strips, MatmulScratch& scratch);

// `rows` rounded up to whole strips.
inline int64_t padded_rows(int64_t rows) {
  return (rows + kStripRows - 1) / kStripRows * kStripRows;
}

}  // namespace sluice
