// A Dot for machines with one instruction that adds four products to a 32-bit sum, exactly.
// Included after vector.inl and
//   I dot_i8(I acts, I codes, I sum)    signed activations, unsigned codes

template <int kBits>
struct FullDot {
  using Codes = I;
  using Acts = I;
  using Sum = I;
  static constexpr bool kDigits = false;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* q, int column) { return splat_word(q + column); }
  static Sum start(I bias_sum) { return bias_sum; }
  static void step(Sum& sum, Codes c, Acts a) {
    sum = dot_i8(a, c, sum);
    if constexpr (kWasm) settle(sum);
  }
  static void flush(Sum&) {}
  static I total(Sum sum, I) { return sum; }
};
