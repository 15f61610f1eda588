#include "files/convert/convert_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "base/half.h"
#include "base/math.h"

namespace sluice {
namespace {

template <typename T>
T load(const uint8_t* bytes, uint64_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

// 4 bits of exponent, 3 of fraction, no infinity: 0x7f is NaN.
float e4m3_to_f32(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
  const uint32_t exponent = bits >> 3 & 15u, fraction = bits & 7u;
  if ((bits & 0x7fu) == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | (exponent + 120u) << 23 | fraction << 20);
}

// The upper byte of an f16.
float e5m2_to_f32(uint8_t bits) { return f16_to_f32(static_cast<uint16_t>(bits << 8)); }

uint64_t width_of(SafeType type) { return safe_type_bits(type) / 8; }

// Reads n numbers of the tensor from element `at` on.
Status read_numbers(const HfWeights& weights, const SafeTensor& tensor, uint64_t at, uint64_t n,
                    float* out, std::vector<uint8_t>& bytes) {
  const uint64_t width = width_of(tensor.type);
  bytes.resize(static_cast<size_t>(n * width));
  SLUICE_TRY(weights.read(tensor, at * width, bytes));
  to_f32(tensor.type, bytes.data(), n, out);
  return {};
}

// Multiplies n rows from source row `first` on with their scales.
Status scale_rows(const Recipe& recipe, const HfWeights& weights, const Piece& piece,
                  uint64_t first, uint64_t n, float* rows, RowScratch& scratch) {
  const SafeTensor& scales = weights.tensors()[static_cast<size_t>(piece.scale)];
  const uint64_t columns = recipe.columns;
  const uint64_t across = (columns + recipe.scale_columns - 1) / recipe.scale_columns;
  scratch.row.resize(std::max<size_t>(scratch.row.size(), static_cast<size_t>(across)));
  uint64_t have = UINT64_MAX;  // which row of scales was read
  for (uint64_t r = 0; r < n; ++r) {
    const uint64_t of = (first + r) / recipe.scale_rows;
    if (of != have)
      SLUICE_TRY(
          read_numbers(weights, scales, of * across, across, scratch.row.data(), scratch.bytes));
    have = of;
    for (uint64_t i = 0; i < columns; ++i)
      rows[r * columns + i] *= scratch.row[static_cast<size_t>(i / recipe.scale_columns)];
  }
  return {};
}

// Rows of a matrix whose rows are the source's columns: a few source rows at a time.
Status make_transposed(const Recipe& recipe, const HfWeights& weights, uint64_t begin, uint64_t n,
                       float* out, RowScratch& scratch) {
  constexpr uint64_t kTogether = 16;
  const SafeTensor& tensor = weights.tensors()[recipe.pieces[0].tensor];
  scratch.row.resize(static_cast<size_t>(kTogether * n));
  for (uint64_t c = 0; c < recipe.columns; c += kTogether) {
    const uint64_t several = std::min(kTogether, recipe.columns - c);
    for (uint64_t i = 0; i < several; ++i)
      SLUICE_TRY(read_numbers(weights, tensor, (c + i) * recipe.rows + begin, n,
                              scratch.row.data() + i * n, scratch.bytes));
    for (uint64_t r = 0; r < n; ++r)
      for (uint64_t i = 0; i < several; ++i)
        out[r * recipe.columns + c + i] = scratch.row[static_cast<size_t>(i * n + r)];
  }
  return {};
}

void reorder_columns(const std::vector<uint32_t>& order, uint64_t n, float* rows,
                     std::vector<float>& scratch) {
  const size_t columns = order.size();
  scratch.resize(columns);
  for (uint64_t r = 0; r < n; ++r) {
    float* row = rows + r * columns;
    std::copy_n(row, columns, scratch.begin());
    for (size_t i = 0; i < columns; ++i) row[i] = scratch[order[i]];
  }
}

}  // namespace

void to_f32(SafeType type, const uint8_t* bytes, uint64_t n, float* out) {
  switch (type) {
    case SafeType::f32:
      std::memcpy(out, bytes, static_cast<size_t>(n * sizeof(float)));
      break;
    case SafeType::f16:
      for (uint64_t i = 0; i < n; ++i) out[i] = f16_to_f32(load<uint16_t>(bytes, i));
      break;
    case SafeType::bf16:
      for (uint64_t i = 0; i < n; ++i) out[i] = bf16_to_f32(load<uint16_t>(bytes, i));
      break;
    case SafeType::f64:
      for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<float>(load<double>(bytes, i));
      break;
    case SafeType::f8_e4m3:
      for (uint64_t i = 0; i < n; ++i) out[i] = e4m3_to_f32(bytes[i]);
      break;
    default:  // a conversion takes no others
      for (uint64_t i = 0; i < n; ++i) out[i] = e5m2_to_f32(bytes[i]);
  }
}

Status make_rows(const Recipe& recipe, const HfWeights& weights, uint64_t begin, uint64_t n,
                 float* out, RowScratch& scratch) {
  const uint64_t columns = recipe.columns;
  if (recipe.pieces.empty()) {
    std::copy_n(recipe.values.begin() + static_cast<ptrdiff_t>(begin * columns), n * columns, out);
    return {};
  }
  if (recipe.transposed) return make_transposed(recipe, weights, begin, n, out, scratch);
  const auto source_row = [&](uint64_t row) {
    return recipe.row_order.empty() ? row : recipe.row_order[static_cast<size_t>(row)];
  };
  // Stretches of rows that lie one behind the other in the source.
  for (uint64_t row = begin; row < begin + n;) {
    const Piece& piece = recipe.pieces[static_cast<size_t>(row / recipe.rows)];
    const uint64_t in_piece = row % recipe.rows;
    const uint64_t most = std::min(begin + n - row, recipe.rows - in_piece);
    const uint64_t first = source_row(in_piece);
    uint64_t several = 1;
    while (several < most && source_row(in_piece + several) == first + several) ++several;
    float* const rows = out + (row - begin) * columns;
    SLUICE_TRY(read_numbers(weights, weights.tensors()[piece.tensor],
                            (piece.first_row + first) * columns, several * columns, rows,
                            scratch.bytes));
    if (piece.scale >= 0)
      SLUICE_TRY(scale_rows(recipe, weights, piece, first, several, rows, scratch));
    row += several;
  }
  if (!recipe.column_order.empty()) reorder_columns(recipe.column_order, n, out, scratch.row);
  const std::span<float> all(out, static_cast<size_t>(n * columns));
  if (recipe.change == ValueChange::plus_one)
    for (float& value : all) value += 1.0f;
  if (recipe.change == ValueChange::minus_exp)
    for (float& value : all) value = -static_cast<float>(exp_f64(value));
  return {};
}

}  // namespace sluice
