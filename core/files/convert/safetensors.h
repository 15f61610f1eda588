// Headers of safetensors files (https://github.com/huggingface/safetensors, README, Format):
//
//   u64 n | n bytes of JSON: {name: {"dtype", "shape", "data_offsets": [begin, end]}, ..} | data
//
// Offsets count from the end of the JSON. A tensor's rows are contiguous, the last dimension runs
// fastest. Little-endian. A tensor may begin at any byte, so its numbers are never read in place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/files.h"

namespace sluice {

enum class SafeType : uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e2m3,
  f6_e3m2,
  f4,
};
// "BF16"
std::string_view safe_type_name(SafeType type);
// Bits of an element.
uint32_t safe_type_bits(SafeType type);

struct SafeTensor {
  std::string name;
  SafeType type = SafeType::f32;
  std::vector<uint64_t> shape;  // the last one is the row length; empty: one number
  uint64_t at = 0;              // its first byte in the file
  uint64_t bytes = 0;
  uint32_t file = 0;  // which of several files (hf_weights.h)

  uint64_t elements() const;  // checked: no overflow
};

// The tensors of a file, in the order of its header. Fails with bad_file for all that the format's
// own library refuses (a header over 100 MB or beyond the file, no object of JSON, unknown types,
// ranges that overlap or leave a gap, sizes that don't fit the shapes, ..), for a name that comes
// twice, and for more tensors or dimensions than models have.
Result<std::vector<SafeTensor>> read_safetensors(ByteSource& source);

}  // namespace sluice
