// Half floats and integer dots for machines without instructions for them. Included after
// vector.inl and
//   I load_i16(const uint8_t* p)           kLanes 16-bit values, widened with their sign
//   void store_u16(uint8_t* p, U x)        each lane's low 16 bits
//   I low_halves_8192(I x)                 each lane's low 16 bits with their sign, times 8192

// f16_to_f32 of base/half.h for finite halves; an infinity becomes 2^16. The shift brings sign,
// exponent and fraction to their places in a float. The factor 2^112 corrects the exponent's bias,
// also for subnormals.
inline F load_f16(const uint8_t* p) {
  return as<F>(as<U>(load_i16(p)) << 13 & kept<0x8fffe000u>()) * kept<0x1p112f>();
}

// The cache's halves lie in pairs in 32-bit words (half_place in kernels.h). load_halves leaves out
// the factor 2^112: the caller multiplies the other factor of a product by kHalfScale.
constexpr int kHalfVectors = 2;
constexpr float kHalfScale = 0x1p112f;
inline void load_halves(const uint8_t* p, F* out) {
  const I words = load<I>(p);
  const U fields = kept<0x8fffe000u>();
  out[0] = as<F>(as<U>(low_halves_8192(words)) & fields);
  out[1] = as<F>(as<U>(words >> 3) & fields);
}

// f32_to_f16 of base/half.h.
inline void store_f16(uint8_t* p, F x) {
  const U bits = as<U>(x);
  const U magnitude = bits & 0x7fffffffu;
  const U normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  const U subnormal = as<U>(as<F>(magnitude) + 0.5f) - 0x3f000000u;
  U half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? (magnitude & 0u) + 0x7c00u : half;
  half = magnitude > 0x7f800000u ? (magnitude & 0u) + 0x7e00u : half;
  store_u16(p, half | (bits >> 16 & 0x8000u));
}

inline void store_halves(uint8_t* p, const F* x) {
  uint8_t halves[16];
  store_f16(halves, x[0]);
  store_f16(halves + 8, x[1]);
  const H h = load<H>(halves);
  store(p, __builtin_shufflevector(h, h, 0, 4, 1, 5, 2, 6, 3, 7));
}

// Multiplies codes below 2^kBits in 16-bit lanes: the even columns of a word, and the odd ones.
template <int kBits>
struct PortableDot {
  struct Codes {
    H even, odd;
  };
  using Acts = Codes;
  struct Sum {
    H part;
    I total;
  };
  static constexpr bool kDigits = false;
  static constexpr int kFlush = words_in_16_bits(kBits);

  static Codes codes(I word) {
    return {as<H>(word) & as<H>(kept<0x00ff00ffu>()), as<H>(as<UH>(word) >> 8)};
  }
  static Acts acts(const int8_t* q, int column) {
    const H word = as<H>(splat_word(q + column));
    return {as<H>(as<UH>(word) << 8) >> 8, word >> 8};
  }
  static Sum start(I) { return {H{}, I{}}; }
  static void step(Sum& sum, const Codes& c, const Acts& a) {
    sum.part = sum.part + (c.even * a.even + c.odd * a.odd);
    if constexpr (kWasm) settle(sum.part);
  }
  static void flush(Sum& sum) {
    sum.total = sum.total + (as<I>(as<U>(sum.part) << 16) >> 16) + (as<I>(sum.part) >> 16);
    sum.part = H{};
  }
  static I total(Sum sum, I bias_sum) {
    flush(sum);
    return sum.total + bias_sum;
  }
};

// 8-bit codes are made signed weights, which have no bias. One word fits into a 16-bit sum:
// 2 * 128 * 127 is below 2^15 (no activation is -128, see quant.h).
template <>
struct PortableDot<8> : PortableDot<6> {
  static constexpr int kFlush = 1;
  static Codes codes(I word) {
    const Codes c = PortableDot<6>::codes(word);
    const H bias = as<H>(kept<0x00800080u>());
    return {c.even - bias, c.odd - bias};
  }
  static I total(Sum sum, I) { return PortableDot<6>::total(sum, I{}); }
};
