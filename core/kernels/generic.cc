// The table for any machine: 16-byte vectors by the compilers' extension, without intrinsics.
#include <string.h>

#include "kernels/kernels.h"

#define SLUICE_UNROLL _Pragma("GCC unroll 16")

namespace sluice {
namespace {

constexpr int kVectorBytes = 16;

#include "kernels/vector.inl"

using B [[gnu::vector_size(16)]] = int8_t;
using UL [[gnu::vector_size(16)]] = uint64_t;

inline I load_i16(const uint8_t* p) {
  const H halves = as<H>(UL{load<uint64_t>(p), 0});
  return as<I>(__builtin_shufflevector(H{}, halves, 0, 8, 1, 9, 2, 10, 3, 11)) >> 16;
}
inline void store_u16(uint8_t* p, U x) {
  for (int i = 0; i < kLanes; ++i) store(p + 2 * i, static_cast<uint16_t>(x[i]));
}
inline I load_i8(const uint8_t* p) {
  const B bytes = as<B>(I{load<int32_t>(p), 0, 0, 0});
  const B pairs =
      __builtin_shufflevector(B{}, bytes, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return as<I>(__builtin_shufflevector(H{}, as<H>(pairs), 0, 8, 1, 9, 2, 10, 3, 11)) >> 24;
}
inline void store_i8(int8_t* p, const I (&x)[kVectors]) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(x[i / kLanes][i % kLanes]);
}

inline U look_up(const uint8_t* table, U bytes) {
  uint8_t each[16];
  store(each, bytes);
  for (uint8_t& byte : each) byte = table[byte];
  return load<U>(each);
}

inline I low_halves_8192(I x) { return as<I>(as<U>(x) << 16) >> 3; }

#include "kernels/portable.inl"

struct Dots {
  template <int kBits>
  using Dot = PortableDot<kBits>;
  static constexpr int kTokens = 2;
  static constexpr int kDirectTokens = 1;
  static constexpr int vectors(int tokens) { return tokens == 1 ? 2 : 1; }
};

constexpr int kAttendQueries = 1;
constexpr int attend_vectors(int) { return 4; }

#include "kernels/body.inl"

bool supported() { return true; }

}  // namespace

extern const Kernels kGeneric;
constexpr Kernels kGeneric = make_table<Dots>("generic", supported);

}  // namespace sluice
