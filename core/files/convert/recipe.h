// How the rows of a GGUF tensor come about from tensors of safetensors files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

enum class ValueChange : uint8_t {
  none,
  plus_one,   // norms whose file has weight - 1
  minus_exp,  // -e^value
};

// A matrix that is read, or a part of its rows.
struct Piece {
  uint32_t tensor = 0;     // of HfWeights
  int64_t scale = -1;      // the tensor with the scales of its FP8 numbers; -1: none
  uint64_t first_row = 0;  // in the source, all but whose last dimension are rows
};

// A tensor of `pieces.size() * rows` rows of `columns`: an expert after the other, or one matrix. A
// vector is one row.
struct Recipe {
  std::vector<Piece> pieces;
  uint64_t rows = 1;                   // of each piece, in the result
  uint64_t columns = 0;                // of the result
  bool transposed = false;             // the source is [columns][rows]
  std::vector<uint32_t> row_order;     // row r is source row row_order[r]; empty: r
  std::vector<uint32_t> column_order;  // likewise
  ValueChange change = ValueChange::none;
  uint64_t scale_rows = 0, scale_columns = 0;  // the block of one FP8 scale; 0: all of them
  std::vector<float> values;  // a tensor that is computed: all of it, and no pieces

  uint64_t all_rows() const { return pieces.empty() ? rows : rows * pieces.size(); }
};

}  // namespace sluice
