// quantize_rows() for x86-64 with AVX2. Without FMA, so that sums round as everywhere.
#include <string.h>

#include "files/quantize/quantize_machines.h"

namespace sluice {
namespace {

constexpr int kLanes = 8;
#include "files/quantize/quantize_body.inl"

bool supported() { return __builtin_cpu_supports("avx2"); }

}  // namespace

constexpr RowQuantizer kQuantizeAvx2 = {"avx2", supported, all_finite, quantize};

}  // namespace sluice
