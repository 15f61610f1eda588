// A weight matrix as it lies in memory, and its packed layout.
//
// Packed: each whole strip of kStripRows rows is interleaved in place so that one SIMD lane is one
// output row; it takes the same bytes at the same place as the rows did. Rows past the last whole
// strip stay as they are in the file. The layout is the same for every kernel table.
//   F32, F16, BF16   per column: value[16]
//   integer types    per block: its numbers of 16 bits as half[16] each, then the rest of its
//   bytes,
//                    in the file's order or in that of its row's `order` (types.h), as word[16] of
//                    four bytes each. So word w of a Q4_0 block has the bytes 4w..4w+3 of 16 rows:
//                    low nibbles are columns 4w.., high ones columns 16+4w.. .
//                    Codes that are signed are stored xor 0x80: unsigned codes, bias 128.
//                    A plane of codes in runs of single bytes is stored in runs of four: in the
//                    word of fifth bits of Q5_0 that of column 4w + c stands at bit 8c + w.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/quant.h"

namespace sluice {

inline constexpr int kStripRows = 16;

struct Matrix {
  Type type = Type::F32;
  int64_t rows = 0;               // output features
  int64_t cols = 0;               // input features
  const uint8_t* data = nullptr;  // not owned; any alignment
  bool packed = false;

  int64_t strips() const { return (rows + kStripRows - 1) / kStripRows; }
  size_t bytes_per_row() const {
    return static_cast<size_t>(row_bytes(traits(type), static_cast<uint64_t>(cols)));
  }
  const uint8_t* strip(int64_t s) const {
    return data + static_cast<size_t>(s) * kStripRows * bytes_per_row();
  }
  // Is strip s interleaved (as against rows of the file)?
  bool strip_packed(int64_t s) const { return packed && (s + 1) * kStripRows <= rows; }
};

// Interleaves one strip (16 rows of `cols` columns, file layout) from `rows` to `packed`; the two
// must not overlap. Same number of bytes. False: one of its scales, mins or floats is NaN or
// infinite.
bool pack_strip(Type type, const uint8_t* rows, int64_t cols, uint8_t* packed);

// The first of n_rows rows (file layout) with a scale, min or float that is NaN or infinite; -1
// where all are finite.
int64_t first_not_finite(Type type, const uint8_t* rows, int64_t n_rows, int64_t cols);

// Row r of a matrix (packed or not) as `cols` f32 values: the embedding's look-up.
void read_row(const Matrix& matrix, int64_t row, float* out);

// A strip unpacked for the integer GEMM: the same for every integer type. The arrays are the
// caller's (a worker's scratch), 64-byte aligned; sizes for `cols` columns. Unpacking sets the
// other fields.
struct Panel {
  uint8_t* codes;  // [cols / 4][16 rows][4]
  float* scales;   // [cols / group][16]
  float* mins;     // [cols / group][16], only where has_min
  int group;       // 16 or 32
  int bits;        // codes are below 2^bits: 4, 5, 6 or 8; without mins the bias is half of that
  bool has_min;
};

// Sets what a type's panels have in common: group, bits, has_min.
void describe_panel(Type type, Panel& panel);

// Unpacks `n_rows` (1..16) rows in file layout; the scales and mins of missing rows become 0.
// (Packed strips are unpacked by the kernels.)
void unpack_rows(Type type, const uint8_t* rows, int n_rows, int64_t cols, Panel& panel);

}  // namespace sluice
