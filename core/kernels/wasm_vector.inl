// What both wasm tables share. Included after vector.inl.

inline I load_i16(const uint8_t* p) { return as<I>(wasm_i32x4_load16x4(p)); }
inline void store_u16(uint8_t* p, U x) {
  const v128_t low = as<v128_t>(x & 0xffffu);
  wasm_v128_store64_lane(p, wasm_u16x8_narrow_i32x4(low, low), 0);
}
inline I load_i8(const uint8_t* p) {
  return as<I>(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p))));
}
inline void store_i8(int8_t* p, const I (&x)[kVectors]) {
  const v128_t first = wasm_i16x8_narrow_i32x4(as<v128_t>(x[0]), as<v128_t>(x[1]));
  const v128_t second = wasm_i16x8_narrow_i32x4(as<v128_t>(x[2]), as<v128_t>(x[3]));
  wasm_v128_store(p, wasm_i8x16_narrow_i16x8(first, second));
}
inline U look_up(const uint8_t* table, U bytes) {
  asm("" : "+r"(table));  // see kept()
#if defined(__wasm_relaxed_simd__)
  return as<U>(wasm_i8x16_relaxed_swizzle(wasm_v128_load(table), as<v128_t>(bytes)));
#else
  return as<U>(wasm_i8x16_swizzle(wasm_v128_load(table), as<v128_t>(bytes)));
#endif
}
inline I dot_i16(H a, H b) { return as<I>(wasm_i32x4_dot_i16x8(as<v128_t>(a), as<v128_t>(b))); }

inline I low_halves_8192(I x) { return dot_i16(as<H>(x), as<H>(kept<8192u>())); }

#include "kernels/portable.inl"

constexpr int kAttendQueries = 4;
constexpr int attend_vectors(int queries) { return queries == 4 ? 2 : 4; }
