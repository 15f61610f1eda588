// quantize_rows() for any machine: vectors of 128 bits.
#include <string.h>

#include "files/quantize/quantize_machines.h"

namespace sluice {
namespace {

constexpr int kLanes = 4;
#include "files/quantize/quantize_body.inl"

bool supported() { return true; }

}  // namespace

constexpr RowQuantizer kQuantizeBaseline = {"baseline", supported, all_finite, quantize};

}  // namespace sluice
