// The table for aarch64 with the dot products of ARMv8.2 (sdot): 4 rows a vector.
#include "kernels/neon_headers.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {
namespace {

constexpr int kVectorBytes = 16;

#include "kernels/vector.inl"

template <int kLane>
inline int32x4_t dot_lane(int32x4_t sum, I codes, I acts) {
  return vdotq_laneq_s32(sum, as<int8x16_t>(codes), as<int8x16_t>(acts), kLane);
}

#include "kernels/neon.inl"

struct Dots {
  template <int kBits>
  using Dot = LaneDot<kBits == 8>;
  static constexpr int kTokens = 4;
  static constexpr int kDirectTokens = 4;
  static constexpr int vectors(int tokens) { return tokens <= 2 ? 4 : 2; }
};

#include "kernels/body.inl"

bool supported() { return has_dotprod(); }

}  // namespace

extern const Kernels kNeon;
constexpr Kernels kNeon = make_table<Dots>("neon", supported);

}  // namespace sluice
