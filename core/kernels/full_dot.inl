// Integer dots where one instruction adds four products to a sum of 32 bits, exactly. Included
// after
//   I dot_i8(I acts, I codes, I sum)    acts signed, codes below 128, or what a Dot says of 8 bits
// and vector.inl.

// 8-bit codes are unsigned to the instruction.
template <int kBits>
struct FullDot {
  using Codes = I;
  using Acts = I;
  using Sum = I;
  static constexpr bool kDigits = false;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* q) { return splat_word(q); }
  static Sum start(int32_t bias_sum) { return splat(bias_sum); }
  static void step(Sum& sum, Codes c, Acts a) { sum = dot_i8(a, c, sum); }
  static void flush(Sum&) {}
  static I total(Sum sum, int32_t) { return sum; }
};

// All operands are signed to the instruction: 8-bit codes become weights, without a bias.
template <int kBits>
struct SignedDot : FullDot<kBits> {};
template <>
struct SignedDot<8> : FullDot<8> {
  static Codes codes(I word) { return word ^ static_cast<int32_t>(0x80808080u); }
  static Sum start(int32_t) { return I{}; }
};
