// A weight matrix in memory, and its packed layout.
//
// Packed: each whole strip of kStripRows rows is interleaved, so that one SIMD lane is one output
// row. A packed strip takes the same bytes at the same place as its rows did. Rows past the last
// whole strip stay as they are in the file. The layout is the same for every kernel table.
//   F32, F16, BF16   per column: value[16]
//   integer types    per block: each of its 16-bit numbers as half[16]; then its other bytes, four
//                    at a time, as word[16]. The words are in the file's order, or in the order
//                    that the type's row gives (PieceOrder in types.h). For example, a word of Q4_0
//                    has the codes of four columns k .. k + 3 in its low nibbles, and those of
//                    columns k + 16 .. k + 19 in its high ones.
//                    Signed codes are stored xor 0x80: unsigned codes with bias 128.
//                    A plane with runs of one byte is stored with runs of four (runs.h): in the
//                    word with the fifth bits of Q5_0, bit 8c + w is that of column 4w + c.
#pragma once  // face

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
  // Whether strip s is packed. If not, its rows lie as in the file.
  bool strip_packed(int64_t s) const { return packed && (s + 1) * kStripRows <= rows; }
};

// Packs one strip: 16 rows of `cols` columns, in file layout at `rows`, to as many bytes at
// `packed`. The two must not overlap. Returns false if a scale, min or float is NaN or infinite.
bool pack_strip(Type type, const uint8_t* rows, int64_t cols, uint8_t* packed);

// Returns the first of n_rows rows (file layout) with a scale, min or float that is NaN or
// infinite; -1 if all are finite.
int64_t first_not_finite(Type type, const uint8_t* rows, int64_t n_rows, int64_t cols);

// Writes a row of a matrix, packed or not, as out[cols]. For embeddings.
void read_row(const Matrix& matrix, int64_t row, float* out);

// Writes a row of a matrix, packed or not, as it is in the file: out[bytes_per_row()].
void read_file_row(const Matrix& matrix, int64_t row, uint8_t* out);

// An unpacked strip, in one form for all integer types; Kernels::gemm reads it. The caller owns the
// arrays (a worker's scratch), which are 64-byte aligned. Unpacking fills them for `cols` columns
// and sets the other fields.
struct Panel {
  uint8_t* codes;  // [cols / 4][16 rows][4]
  float* scales;   // [cols / group][16]
  float* mins;     // [cols / group][16], only where has_min
  int group;       // 16 or 32
  int bits;        // codes are below 2^bits; the bias is 2^(bits - 1), or 0 with mins
  bool has_min;
};

// Sets group, bits and has_min to those of a type.
void describe_panel(Type type, Panel& panel);

// Unpacks n_rows (1..16) rows in file layout; the rows that are missing become 0. (Kernels::unpack
// does the same for packed strips.)
void unpack_rows(Type type, const uint8_t* rows, int n_rows, int64_t cols, Panel& panel);

}  // namespace sluice
