// quantize_rows() for each kind of machine: the same source (quantize_*.inl), compiled for vectors
// of several widths. All give the same bytes.
//
// Files for newer machines than the rest include this header, so it defines no functions.
#pragma once

#include <cstdint>

#include "quant/types.h"

namespace sluice {

// Rows to round: n_rows rows of n finite values, a multiple of the type's block.
struct QuantizeJob {
  const float* values;
  int64_t n_rows, n;
  const float* importance;  // [n] or null
  uint8_t* out;             // row after row
};

struct RowQuantizer {
  const char* name;
  bool (*supported)();  // by this machine
  bool (*all_finite)(const float* values, int64_t n);
  // False if rows can't be rounded to this type. Scales that the format can't hold become
  // infinities or NaN (MXFP4: 255).
  bool (*quantize)(Type type, const QuantizeJob& job);
};

// Each is defined in the file of its name. The last one runs everywhere.
#if defined(__x86_64__)
extern const RowQuantizer kQuantizeAvx2;
extern const RowQuantizer kQuantizeAvx512;
#endif
extern const RowQuantizer kQuantizeBaseline;

struct RowQuantizerList {
  const RowQuantizer* const* first;
  int count;
};
RowQuantizerList all_row_quantizers();  // the best first

}  // namespace sluice
