// What both NEON tables share. Included after vector.inl and
//   int32x4_t dot_lane<kLane>(int32x4_t sum, I codes, I acts)    every row with acts of lane kLane

inline F load_f16(const uint8_t* p) {
  return as<F>(vcvt_f32_f16(as<float16x4_t>(load<uint64_t>(p))));
}
inline void store_f16(uint8_t* p, F x) { store(p, vcvt_f16_f32(as<float32x4_t>(x))); }

inline I load_i16(const uint8_t* p) { return as<I>(vmovl_s16(load<int16x4_t>(p))); }
inline I load_i8(const uint8_t* p) {
  const int8x8_t bytes = vcreate_s8(load<uint32_t>(p));
  return as<I>(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}
inline void store_i8(int8_t* p, const I (&x)[kVectors]) {
  const auto words = [](I a, I b) {
    return vcombine_s16(vmovn_s32(as<int32x4_t>(a)), vmovn_s32(as<int32x4_t>(b)));
  };
  store(p, vcombine_s8(vmovn_s16(words(x[0], x[1])), vmovn_s16(words(x[2], x[3]))));
}

inline U look_up(const uint8_t* table, U bytes) {
  return as<U>(vqtbl1q_u8(vld1q_u8(table), as<uint8x16_t>(bytes)));
}

// The cache's halves.
constexpr int kHalfVectors = 1;
constexpr float kHalfScale = 1.0f;
inline void load_halves(const uint8_t* p, F* out) { *out = load_f16(p); }
inline void store_halves(uint8_t* p, const F* x) { store_f16(p, *x); }

constexpr int kAttendQueries = 4;
constexpr int attend_vectors(int) { return 4; }

// The instruction takes its activations from any one lane, so acts() loads 16 columns at once.
// kSigned: 8-bit codes are made signed weights, which have no bias.
template <bool kSigned>
struct LaneDot {
  using Codes = I;
  struct Acts {
    I columns;
    int lane;
  };
  using Sum = int32x4_t;
  static constexpr bool kDigits = false;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return kSigned ? word ^ static_cast<int32_t>(0x80808080u) : word; }
  static Acts acts(const int8_t* q, int column) {
    return {load<I>(q + column / 16 * 16), column / 4 % 4};
  }
  static Sum start(I bias_sum) { return as<Sum>(kSigned ? I{} : bias_sum); }
  // Steps are unrolled, so a.lane is a constant and a step is one instruction.
  static void step(Sum& sum, Codes c, const Acts& a) {
    if (a.lane == 0) sum = dot_lane<0>(sum, c, a.columns);
    if (a.lane == 1) sum = dot_lane<1>(sum, c, a.columns);
    if (a.lane == 2) sum = dot_lane<2>(sum, c, a.columns);
    if (a.lane == 3) sum = dot_lane<3>(sum, c, a.columns);
  }
  static void flush(Sum&) {}
  static I total(Sum sum, I) { return as<I>(sum); }
};

// Whether the machine has a feature. macOS is asked by name; Linux has a bit in the auxiliary
// vector.
#if defined(__APPLE__)
inline bool has_feature(const char* name) {
  int32_t value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
inline bool has_dotprod() { return has_feature("hw.optional.arm.FEAT_DotProd"); }
inline bool has_i8mm() { return has_feature("hw.optional.arm.FEAT_I8MM"); }
#else
inline bool has_dotprod() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
inline bool has_i8mm() { return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }
#endif
