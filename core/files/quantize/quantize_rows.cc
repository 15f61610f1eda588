#include "files/quantize/quantize_rows.h"

#include <cstring>
#include <iterator>

#include "base/format.h"
#include "files/quantize/quantize_machines.h"
#include "quant/quant.h"

namespace sluice {
namespace {

// A type that rows can be rounded to, and where its blocks have numbers that may not be infinite.
struct Target {
  Type type;
  int halves[2];          // byte offsets of f16; -1: none
  bool exponent = false;  // byte 0 is an exponent, and 255 is none
};
constexpr Target kTargets[] = {
    {Type::F32, {-1, -1}},   {Type::F16, {-1, -1}},   {Type::BF16, {-1, -1}},
    {Type::Q4_0, {0, -1}},   {Type::Q4_1, {0, 2}},    {Type::Q5_0, {0, -1}},
    {Type::Q5_1, {0, 2}},    {Type::Q8_0, {0, -1}},   {Type::Q2_K, {80, 82}},
    {Type::Q3_K, {108, -1}}, {Type::Q4_K, {0, 2}},    {Type::Q5_K, {0, 2}},
    {Type::Q6_K, {208, -1}}, {Type::IQ4_NL, {0, -1}}, {Type::IQ4_XS, {0, -1}},
    {Type::TQ1_0, {52, -1}}, {Type::TQ2_0, {64, -1}}, {Type::MXFP4, {-1, -1}, true},
    {Type::Q1_0, {0, -1}},   {Type::Q2_0, {0, -1}},
};

const Target* find_target(Type type) {
  for (const Target& target : kTargets) {
    if (target.type == type) return &target;
  }
  return nullptr;
}

// Whether all blocks hold finite numbers.
bool all_hold(const Target& target, uint64_t n_blocks, uint64_t block_bytes, const uint8_t* out) {
  bool bad = false;
  // An infinity or NaN has all bits of the exponent.
  const auto check = [&](const uint8_t* first, uint64_t step, int exponent) {
    for (uint64_t b = 0; b < n_blocks; ++b) {
      uint16_t bits;
      std::memcpy(&bits, first + b * step, 2);
      bad |= (bits & exponent) == exponent;
    }
  };
  if (target.type == Type::BF16) {
    check(out, 2, 0x7f80);
  } else if (target.type == Type::F16) {
    check(out, 2, 0x7c00);
  } else {
    for (const int at : target.halves) {
      if (at >= 0) check(out + at, block_bytes, 0x7c00);
    }
  }
  for (uint64_t b = 0; target.exponent && b < n_blocks; ++b) bad |= out[b * block_bytes] == 255;
  return !bad;
}

const RowQuantizer& choose_row_quantizer() {
  const RowQuantizerList list = all_row_quantizers();
  int i = 0;
  while (i + 1 < list.count && !list.first[i]->supported()) ++i;
  return *list.first[i];
}

}  // namespace

RowQuantizerList all_row_quantizers() {
  static const RowQuantizer* const kList[] = {
#if defined(__x86_64__)
    &kQuantizeAvx512,
    &kQuantizeAvx2,
#endif
    &kQuantizeBaseline,
  };
  return {kList, static_cast<int>(std::size(kList))};
}

bool can_quantize_to(Type type) { return find_target(type) != nullptr; }

Status quantize_rows(Type type, const float* values, int64_t n_rows, int64_t n,
                     const float* importance, uint8_t* out) {
  const Target* target = find_target(type);
  const FileType format = file_type(static_cast<uint32_t>(type));
  if (target == nullptr) {
    return fail(Code::unsupported_type, "rows can't be rounded to ", format.name,
                "; choose another type");
  }
  static const RowQuantizer& quantizer = choose_row_quantizer();
  if (!quantizer.all_finite(values, n_rows * n)) {
    return fail(Code::bad_file,
                "a weight is infinite or no number, which no type can hold; the "
                "file that it comes from is damaged");
  }
  quantizer.quantize(type, {values, n_rows, n, importance, out});
  const uint64_t n_blocks =
      static_cast<uint64_t>(n_rows) * (static_cast<uint64_t>(n) / format.block);
  if (!all_hold(*target, n_blocks, format.block_bytes, out)) {
    return fail(Code::bad_file, "a weight is too large or too small for ", format.name,
                "; choose another type");
  }
  return {};
}

}  // namespace sluice
