// A Dot for machines whose widest byte products are sums of pairs in 16 bits (pmaddubsw). Included
// after vector.inl and
//   H multiply_pairs(I codes, I acts)      sums of two products; codes unsigned, acts signed
//   I add_pairs<int16_t kFactor>(H sums)   sums of two lanes, times kFactor

template <int kBits>
struct PairDot {
  using Codes = I;
  using Acts = I;
  struct Sum {
    H part;
    I total;
  };
  static constexpr bool kDigits = false;
  static constexpr int kFlush = words_in_16_bits(kBits);

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* q, int column) { return splat_word(q + column); }
  static Sum start(I) { return {H{}, I{}}; }
  static void step(Sum& sum, Codes c, Acts a) {
    sum.part = sum.part + multiply_pairs(c, a);
    settle(sum.part);
  }
  static void flush(Sum& sum) {
    sum.total = sum.total + add_pairs<1>(sum.part);
    sum.part = H{};
  }
  static I total(Sum sum, I bias_sum) {
    flush(sum);
    return sum.total + bias_sum;
  }
};

// Two products of 8-bit codes and activations don't fit into 16 bits. An activation's digits are
// within -8..8, so that eight sums of pairs, 2 * 255 * 8 each, do.
template <>
struct PairDot<8> {
  using Codes = I;
  struct Acts {
    I high, low;
  };
  struct Sum {
    H high, low;
  };
  static constexpr bool kDigits = true;
  static constexpr int kFlush = 8;

  static Codes codes(I word) { return word; }
  static Acts acts(const int8_t* digits, int column) {
    return {splat_word(digits + column), splat_word(digits + 32 + column)};
  }
  static Sum start(I) { return {H{}, H{}}; }
  static void step(Sum& sum, Codes c, const Acts& a) {
    sum.high = sum.high + multiply_pairs(c, a.high);
    settle(sum.high);
    sum.low = sum.low + multiply_pairs(c, a.low);
    settle(sum.low);
  }
  static void flush(Sum&) {}
  static I total(const Sum& sum, I bias_sum) {
    return add_pairs<16>(sum.high) + add_pairs<1>(sum.low) + bias_sum;
  }
};
