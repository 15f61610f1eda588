// quantize_rows() for x86-64 with AVX-512.
#include <string.h>

#include "files/quantize/quantize_machines.h"

namespace sluice {
namespace {

constexpr int kLanes = 16;
#include "files/quantize/quantize_body.inl"

bool supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace

constexpr RowQuantizer kQuantizeAvx512 = {"avx512", supported, all_finite, quantize};

}  // namespace sluice
