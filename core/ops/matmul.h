// Matrix products: rows of activations times a weight matrix of any type.
#pragma once

#include <cstdint>
#include <utility>

#include "base/aligned.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "quant/matrix.h"

namespace sluice {

// Rows of activations as the kernels want them: f32 and, for integer weights, quantized to int8.
// A view of an Activations' memory for rows of `cols` values.
struct Input {
  float* x;  // [tokens][cols]
  int8_t* q;
  int8_t* digits;
  float* d;
  float* ds;
  int32_t* sums;
  int64_t cols;

  float* row(int64_t token) const { return x + token * cols; }
  // Quantizes row `token` after it was written. Rows that are no multiple of 32 only ever meet
  // float weights (a file's integer rows are whole blocks) and stay f32.
  void quantize(const Kernels& kernels, int64_t token) const;
  Acts acts() const { return {q, digits, d, ds, sums, cols}; }
};

// Owns the memory; sized once for the longest row and the largest block of tokens.
class Activations {
 public:
  static uint64_t bytes(int64_t max_cols, int64_t max_tokens);
  static Result<Activations> allocate(int64_t max_cols, int64_t max_tokens);
  Input rows_of(int64_t cols) const;

 private:
  AlignedBuffer x_, q_, digits_, d_, ds_, sums_;
};

// What one worker needs to unpack a strip.
class MatmulScratch {
 public:
  static uint64_t bytes(int64_t max_cols);
  static Result<MatmulScratch> allocate(int64_t max_cols);
  Panel panel() const;                                 // its arrays; unpacking sets the rest
  float* row() const { return row_.as<float>(); }      // [max_cols]
  float* strip() const { return strip_.as<float>(); }  // [max_cols][16]

  // Whether to count the seconds that unpacking takes; those since they were last taken.
  void time_unpacking(bool on) { timed_ = on; }
  bool timed() const { return timed_; }
  void add_unpacking(double seconds) { unpacking_seconds_ += seconds; }
  double take_unpacking() { return std::exchange(unpacking_seconds_, 0.0); }

 private:
  bool timed_ = false;
  double unpacking_seconds_ = 0;
  AlignedBuffer codes_, scales_, mins_, row_, strip_;
};

// out[t * out_stride + row] for the rows of the strips [strips.begin, strips.end) and n_tokens
// tokens. out_stride >= matrix.strips() * 16: the rows past the last are written, with 0.
void matmul(const Kernels& kernels, const Matrix& matrix, const Input& in, int64_t n_tokens,
            float* out, int64_t out_stride, Share strips, MatmulScratch& scratch);

// Rows of an output of `rows` rows, padded to whole strips.
inline int64_t padded_rows(int64_t rows) {
  return (rows + kStripRows - 1) / kStripRows * kStripRows;
}

}  // namespace sluice
