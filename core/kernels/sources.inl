// Where products find a strip's codes, scales and mins: in a panel, or in packed blocks as they lie
// (quant/matrix.h), one class a packed type. A part of body.inl.
//
// A Source stands at a block of kOuter * kVariants * kInner groups of kGroup columns, in that
// order; the variants are what differs in code rather than in an address. For the vectors from v0
// on, v being counted from there, it gives
//   head(v)                what a block's groups have in common
//   codes(v, word, at)     4 columns' codes of kLanes rows, below 2^kBits
//   word_at(i)             the i-th word to take, so that what is loaded together is used together
//   kLoop                  so many words, from a multiple of it on, differ by an address alone
//   scale(v, at, head), min(v, at, head)
//   next()                 goes on to the next block
// Where there are no mins, the bias is half of what codes are below.

// A group's place in its block.
template <int kVariant_>
struct GroupAt {
  static constexpr int kVariant = kVariant_;
  int outer, inner;
  int group;  // counted through
};

template <typename Source>
constexpr int block_groups = Source::kOuter* Source::kVariants* Source::kInner;
template <typename Source>
constexpr int block_columns = block_groups<Source>* Source::kGroup;

template <typename Source, int kVariant = 0, typename Body>
[[gnu::always_inline]] inline void for_variants(int outer, const Body& body) {
  if constexpr (kVariant < Source::kVariants) {
    for (int inner = 0; inner < Source::kInner; ++inner) {
      body(GroupAt<kVariant>{outer, inner,
                             (outer * Source::kVariants + kVariant) * Source::kInner + inner});
    }
    for_variants<Source, kVariant + 1>(outer, body);
  }
}
template <typename Source, typename Body>
[[gnu::always_inline]] inline void for_groups(const Body& body) {
  for (int outer = 0; outer < Source::kOuter; ++outer) for_variants<Source>(outer, body);
}

struct InOrder {
  static constexpr int kLoop = 16;
  static constexpr int word_at(int i) { return i; }
};
struct NoHead {};
struct OneGroup {
  static constexpr int kOuter = 1, kVariants = 1, kInner = 1;
  using Head = NoHead;
};

template <int kBits_, int kGroup_, bool kMin_>
class FromPanel : public OneGroup, public InOrder {
 public:
  static constexpr int kBits = kBits_, kGroup = kGroup_;
  static constexpr bool kMin = kMin_;

  FromPanel(const Panel& panel, int v0)
      : codes_(panel.codes + v0 * kVectorBytes),
        scales_(panel.scales + v0 * kLanes),
        mins_(panel.mins + v0 * kLanes) {}
  NoHead head(int) const { return {}; }
  template <typename At>
  U codes(int v, int w, const At&) const {
    return load<U>(codes_ + 64 * w + v * kVectorBytes);
  }
  template <typename At>
  F scale(int v, const At&, NoHead) const {
    return load<F>(scales_ + v * kLanes);
  }
  template <typename At>
  F min(int v, const At&, NoHead) const {
    return load<F>(mins_ + v * kLanes);
  }
  void next() {
    codes_ += 16 * kGroup;
    scales_ += 16;
    if constexpr (kMin) mins_ += 16;
  }

 private:
  const uint8_t* codes_;
  const float* scales_;
  const float* mins_;
};

// What packed blocks have in common: halves[16] kHalves times, then words[16].
template <int kHalves, int kWords>
class PackedBlocks {
 public:
  static constexpr int kBlockBytes = 32 * kHalves + 64 * kWords;

  PackedBlocks(const uint8_t* strip, int v0)
      : halves_(strip + 2 * v0 * kLanes), words_(strip + 32 * kHalves + v0 * kVectorBytes) {}
  void next() {
    halves_ += kBlockBytes;
    words_ += kBlockBytes;
  }

 protected:
  F half(int v, int i) const { return load_f16(halves_ + 32 * i + 2 * v * kLanes); }
  U word(int v, int i) const { return load<U>(words_ + 64 * i + v * kVectorBytes); }

 private:
  const uint8_t* halves_;
  const uint8_t* words_;
};

// The low or the high nibble of each byte.
inline U nibble(U bytes, int high) {
  return (high != 0 ? bytes >> 4 : bytes) & kept<0x0f0f0f0fu>();
}

// Q4_0, Q4_1, Q5_0, Q5_1: a word of fifth bits, then 4 words of nibbles; columns 16.. are high.
template <bool kMin_, bool kFive>
class PackedNibbles : public PackedBlocks<kMin_ ? 2 : 1, kFive ? 5 : 4>, public OneGroup {
 public:
  using PackedBlocks<kMin_ ? 2 : 1, kFive ? 5 : 4>::PackedBlocks;
  static constexpr int kBits = kFive ? 5 : 4, kGroup = 32;
  static constexpr bool kMin = kMin_;
  static constexpr int word_at(int i) { return i % 2 * 4 + i / 2; }
  static constexpr int kLoop = kFive ? 1 : 4;

  NoHead head(int) const { return {}; }
  template <typename At>
  U codes(int v, int w, const At&) const {
    const U low = nibble(this->word(v, (kFive ? 1 : 0) + w % 4), w / 4);
    if constexpr (!kFive) return low;
    const U bits = this->word(v, 0);  // that of column 4w + c at bit 8c + w
    return low | ((w <= 4 ? bits << (4 - w) : bits >> (w - 4)) & kept<0x10101010u>());
  }
  template <typename At>
  F scale(int v, const At&, NoHead) const {
    return this->half(v, 0);
  }
  template <typename At>
  F min(int v, const At&, NoHead) const {
    return this->half(v, 1);
  }
};

class PackedQ8 : public PackedBlocks<1, 8>, public OneGroup, public InOrder {
 public:
  using PackedBlocks<1, 8>::PackedBlocks;
  static constexpr int kBits = 8, kGroup = 32;
  static constexpr bool kMin = false;

  NoHead head(int) const { return {}; }
  template <typename At>
  U codes(int v, int w, const At&) const {
    return word(v, w);
  }
  template <typename At>
  F scale(int v, const At&, NoHead) const {
    return half(v, 0);
  }
};

// Q4_K and Q5_K: three words of six-bit scales and mins, the fifth bits, the nibbles. A pair of
// groups shares its words.
template <bool kFive>
class PackedQ45K : public PackedBlocks<2, kFive ? 43 : 35>, public InOrder {
 public:
  using PackedBlocks<2, kFive ? 43 : 35>::PackedBlocks;
  static constexpr int kBits = kFive ? 5 : 4, kGroup = 32;
  static constexpr int kOuter = 4, kVariants = 2, kInner = 1;
  static constexpr bool kMin = true;
  struct Head {
    F d, dmin;
    U scales[2], mins[2];  // a byte each, of four groups
  };

  // The first four groups' six bits lie together; the others' low four and high two apart.
  Head head(int v) const {
    const U a = this->word(v, 0), b = this->word(v, 1), c = this->word(v, 2);
    const U six = kept<0x3f3f3f3fu>(), four = kept<0x0f0f0f0fu>(), two = kept<0x30303030u>();
    return {this->half(v, 0),
            this->half(v, 1),
            {a & six, (c & four) | (a >> 2 & two)},
            {b & six, (c >> 4 & four) | (b >> 2 & two)}};
  }
  template <typename At>
  U codes(int v, int w, const At& at) const {
    const U low = nibble(this->word(v, (kFive ? 11 : 3) + 8 * at.outer + w), At::kVariant);
    if constexpr (!kFive) return low;
    return low | (this->word(v, 3 + w) >> at.group & kept<0x01010101u>()) << 4;
  }
  template <typename At>
  F scale(int, const At& at, const Head& head) const {
    return head.d * byte(head.scales, at.group);
  }
  template <typename At>
  F min(int, const At& at, const Head& head) const {
    return -(head.dmin * byte(head.mins, at.group));
  }

 private:
  static F byte(const U (&bytes)[2], int group) {
    const U four = group < 4 ? bytes[0] : bytes[1];
    return to_float(as<I>(four >> (8 * (group % 4)) & kept<0xffu>()));
  }
};

// Q6_K: 4 words of int8 scales, then for each half of the block twice 4 words of bit pairs and 4 of
// nibbles, and 8 more of nibbles.
class PackedQ6K : public PackedBlocks<1, 52>, public InOrder {
 public:
  using PackedBlocks<1, 52>::PackedBlocks;
  static constexpr int kBits = 6, kGroup = 16;
  static constexpr int kOuter = 2, kVariants = 4, kInner = 2;
  static constexpr bool kMin = false;
  using Head = F;

  F head(int v) const { return half(v, 0); }
  template <typename At>
  U codes(int v, int w, const At& at) const {
    constexpr int kVariant = At::kVariant;
    const int half = 4 + 24 * at.outer;
    const int turn = half + 8 * at.inner + w;
    const int nibbles = kVariant % 2 == 0 ? turn + 4 : half + 16 + 4 * at.inner + w;
    const U low = nibble(word(v, nibbles), kVariant / 2);
    const U pairs = word(v, turn);
    const U high = kVariant == 0   ? pairs << 4
                   : kVariant == 1 ? pairs << 2
                   : kVariant == 2 ? pairs
                                   : pairs >> 2;
    return low | (high & kept<0x30303030u>());
  }
  template <typename At>
  F scale(int v, const At& at, F d) const {
    const U four = word(v, at.group / 4);
    return d * to_float(as<I>(four << (24 - 8 * (at.group % 4))) >> 24);
  }
};

// body<Source>() with the class of an integer type.
template <typename Body>
inline void for_packed_type(Type type, const Body& body) {
  switch (type) {
    case Type::Q4_0:
      return body.template operator()<PackedNibbles<false, false>>();
    case Type::Q4_1:
      return body.template operator()<PackedNibbles<true, false>>();
    case Type::Q5_0:
      return body.template operator()<PackedNibbles<false, true>>();
    case Type::Q5_1:
      return body.template operator()<PackedNibbles<true, true>>();
    case Type::Q8_0:
      return body.template operator()<PackedQ8>();
    case Type::Q4_K:
      return body.template operator()<PackedQ45K<false>>();
    case Type::Q5_K:
      return body.template operator()<PackedQ45K<true>>();
    case Type::Q6_K:
      return body.template operator()<PackedQ6K>();
    default:
      return;  // float types have no codes
  }
}
