// The table for aarch64 with the I8MM instructions of ARMv8.6 (usdot, usmmla), which take unsigned
// codes: 4 rows a vector.
#include "kernels/neon_headers.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {
namespace {

constexpr int kVectorBytes = 16;

#include "kernels/vector.inl"

template <int kLane>
inline int32x4_t dot_lane(int32x4_t sum, I codes, I acts) {
  return vusdotq_laneq_s32(sum, as<uint8x16_t>(codes), as<int8x16_t>(acts), kLane);
}

#include "kernels/neon.inl"

// Adds 8 columns of two rows times two tokens. The lanes of the sum are (row 0, token 0), (row 0,
// token 1), (row 1, token 0) and (row 1, token 1).
inline int32x4_t multiply_2x2(int32x4_t sum, int32x4_t rows, int64x2_t tokens) {
  return vusmmlaq_s32(sum, as<uint8x16_t>(rows), as<int8x16_t>(tokens));
}

// A tile of several tokens zips two words to 8 columns of two rows, the activations to 8 columns of
// two tokens, and the sums of two tokens to the lanes of multiply_2x2. Rows are zipped once for all
// tokens, sums once for all columns of a group.
struct MatrixDot : LaneDot<false> {
  static constexpr bool kTokenPairs = true;
  template <int kSteps, int kTokens, int kVecs, typename Word>
  static void add_group(int32x4_t (&sum)[kTokens][kVecs], const Word& word, const int8_t* q,
                        int64_t stride) {
    constexpr int kHalves = kTokens / 2;
    int32x4_t pair[kHalves][kVecs][2];
    SLUICE_UNROLL
    for (int t = 0; t < kHalves; ++t) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        pair[t][v][0] = vzip1q_s32(sum[2 * t][v], sum[2 * t + 1][v]);
        pair[t][v][1] = vzip2q_s32(sum[2 * t][v], sum[2 * t + 1][v]);
      }
    }
    SLUICE_UNROLL
    for (int w = 0; w < kSteps; w += 2) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        const auto one = as<int32x4_t>(word(v, w)), two = as<int32x4_t>(word(v, w + 1));
        const int32x4_t rows[2] = {vzip1q_s32(one, two), vzip2q_s32(one, two)};
        SLUICE_UNROLL
        for (int t = 0; t < kHalves; ++t) {
          const int8_t* even = q + 2 * t * stride + w / 4 * 16;
          const auto a = load<int64x2_t>(even), b = load<int64x2_t>(even + stride);
          const int64x2_t tokens = w % 4 == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b);
          pair[t][v][0] = multiply_2x2(pair[t][v][0], rows[0], tokens);
          pair[t][v][1] = multiply_2x2(pair[t][v][1], rows[1], tokens);
        }
      }
    }
    SLUICE_UNROLL
    for (int t = 0; t < kHalves; ++t) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        sum[2 * t][v] = vuzp1q_s32(pair[t][v][0], pair[t][v][1]);
        sum[2 * t + 1][v] = vuzp2q_s32(pair[t][v][0], pair[t][v][1]);
      }
    }
  }
};

struct Dots {
  template <int kBits>
  using Dot = MatrixDot;
  static constexpr int kTokens = 8;
  static constexpr int kDirectTokens = 4;
  static constexpr int vectors(int tokens) { return tokens <= 2 ? 4 : 2; }
};

#include "kernels/body.inl"

bool supported() { return has_dotprod() && has_i8mm(); }

}  // namespace

extern const Kernels kI8mm;
constexpr Kernels kI8mm = make_table<Dots>("i8mm", supported);

}  // namespace sluice
