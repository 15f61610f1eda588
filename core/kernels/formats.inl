// Block formats find the codes, scales and mins of a strip's blocks: PanelFormat in panels,
// PackedFormat in packed strips (quant/matrix.h), by the type's row in quant/types.inc. A part of
// body.inl.
//
// An object of a block format stands at one block. The block has kOuter * kVariants * kInner groups
// of kGroup columns, nested in that order. Every variant has its own code; groups of one variant
// share code and differ in addresses or in a shift. The constructor takes the first vector v0, and
// v counts from there.
//   head(v)                what the block's groups share
//   codes(v, word, at)     the codes of 4 columns and kLanes rows, each below 2^kBits
//   word_at(i)             which word to take i-th: words that share a load follow each other
//   kAlikeWords            so many words, from a multiple of it on, differ only in their addresses
//   scale(v, at, head), min(v, at, head)
//   next()                 moves on to the next block
// If kMin is false, there are no mins, and the bias is 2^(kBits - 1).

// A group's place in its block.
template <int kVariant_>
struct GroupAt {
  static constexpr int kVariant = kVariant_;
  int outer, inner;
  int group;  // its number in the block
};

template <typename Format>
constexpr int block_groups = Format::kOuter* Format::kVariants* Format::kInner;
template <typename Format>
constexpr int block_columns = block_groups<Format>* Format::kGroup;

template <typename Format, int kVariant = 0, typename Body>
[[gnu::always_inline]] inline void for_variants(int outer, const Body& body) {
  if constexpr (kVariant < Format::kVariants) {
    for (int inner = 0; inner < Format::kInner; ++inner) {
      body(GroupAt<kVariant>{outer, inner,
                             (outer * Format::kVariants + kVariant) * Format::kInner + inner});
    }
    for_variants<Format, kVariant + 1>(outer, body);
  }
}
template <typename Format, typename Body>
[[gnu::always_inline]] inline void for_groups(const Body& body) {
  for (int outer = 0; outer < Format::kOuter; ++outer) for_variants<Format>(outer, body);
}

struct InOrder {
  static constexpr int kAlikeWords = 16;
  static constexpr int word_at(int i) { return i; }
};
struct NoHead {};
struct OneGroup {
  static constexpr int kOuter = 1, kVariants = 1, kInner = 1;
  using Head = NoHead;
};

template <int kBits_, int kGroup_, bool kMin_>
class PanelFormat : public OneGroup, public InOrder {
 public:
  static constexpr int kBits = kBits_, kGroup = kGroup_;
  static constexpr bool kMin = kMin_;

  PanelFormat(const Panel& panel, int v0)
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

template <Type kType>
constexpr const TypeTraits& row_of = kTypes[static_cast<uint32_t>(kType)];

// Which word of a packed block has the block's byte `at`. Word 0 follows the halves.
consteval int packed_word(const TypeTraits& t, int at) {
  const int i = at - t.words_at;
  if (t.order.pieces[0] == t.order.pieces[1]) return i / 4;
  int piece = 0;
  while (t.order.pieces[piece] != i / 16) ++piece;
  return 4 * piece + i % 16 / 4;
}

// A packed block: its halves, [16] each, then its words, [16] each.
template <Type kType>
class PackedBlocks {
 public:
  PackedBlocks(const uint8_t* strip, int v0)
      : halves_(strip + 2 * v0 * kLanes), words_(strip + 32 * kRow.halves + v0 * kVectorBytes) {}
  void next() {
    halves_ += kBytes;
    words_ += kBytes;
    // A block of 2 KB or more is read in an order that the processor doesn't foresee. (In wasm
    // there is nothing to ask with.)
#ifndef __wasm__
    if constexpr (kBytes >= 1024)
      for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(halves_ + kBytes + i);
#endif
  }

 protected:
  static constexpr const TypeTraits& kRow = row_of<kType>;
  static constexpr int kBytes = 16 * static_cast<int>(kRow.block_bytes);  // of 16 rows

  // The 16 bits at byte kAt of the block, in kLanes rows: as an f16, and as they are.
  template <int kAt>
  F half(int v) const {
    return load_f16(halves_ + 16 * (kAt - kRow.halves_at) + 2 * v * kLanes);
  }
  template <int kAt>
  U bits_of_half(int v) const {
    return as<U>(load_i16(halves_ + 16 * (kAt - kRow.halves_at) + 2 * v * kLanes));
  }
  U word(int v, int i) const { return load<U>(words_ + 64 * i + v * kVectorBytes); }

 private:
  const uint8_t* halves_;
  const uint8_t* words_;
};

// Scales::one
template <Type kType>
class OneScale : public PackedBlocks<kType> {
 public:
  using PackedBlocks<kType>::PackedBlocks;
  using Head = NoHead;

  NoHead head(int) const { return {}; }
  template <typename At>
  F scale(int v, const At&, NoHead) const {
    return this->template half<row_of<kType>.d>(v);
  }
  template <typename At>
  F min(int v, const At&, NoHead) const {
    return this->template half<row_of<kType>.min>(v);
  }
};

// Scales::fields
template <Type kType>
class FieldScales : public PackedBlocks<kType> {
  static constexpr const TypeTraits& kRow = row_of<kType>;
  static constexpr int kGroups = static_cast<int>(kRow.block) / kRow.group;

 public:
  using PackedBlocks<kType>::PackedBlocks;
  struct Head {
    F d;
  };

  Head head(int v) const { return {this->template half<kRow.d>(v)}; }
  template <typename At>
  F scale(int v, const At& at, const Head& head) const {
    return head.d * number(v, at.group);
  }
  template <typename At>
  F min(int v, const At& at, const Head&) const {
    return -(this->template half<kRow.min>(v) * number(v, kGroups + at.group));
  }

 private:
  F number(int v, int i) const {
    constexpr const Scales& kScales = kRow.scales;
    if constexpr (kScales.is_signed) {
      const U four = this->word(v, packed_word(kRow, kScales.low.at) + i / 4);
      return to_float(as<I>(four << (24 - 8 * (i % 4))) >> 24);
    } else {
      U bits = field<kScales.low>(v, i);
      if constexpr (kScales.high.bits != 0) {
        bits = bits | field<kScales.high>(v, i) << kScales.low.bits;
      }
      return to_float(as<I>(bits) - splat(int32_t{kScales.bias}));
    }
  }
  // Number i of a plane. The plane begins with a word or with a half.
  template <Plane kPlane>
  U field(int v, int i) const {
    constexpr int kSpan = 8 / kPlane.bits * kPlane.run;  // numbers in a run
    constexpr bool kInHalf =
        kPlane.at >= kRow.halves_at && kPlane.at < kRow.halves_at + 2 * kRow.halves;
    const int byte = i / kSpan * kPlane.run + i % kPlane.run;
    const int bit = i % kSpan / kPlane.run * kPlane.bits;
    U bits;
    if constexpr (kInHalf) {
      bits = this->template bits_of_half<kPlane.at>(v) >> (8 * byte + bit);
    } else {
      bits = this->word(v, packed_word(kRow, kPlane.at) + byte / 4) >> (8 * (byte % 4) + bit);
    }
    return bits & kept<(1u << kPlane.bits) - 1>();
  }
};

// Scales::sixes: three words of six-bit scales and mins.
template <Type kType>
class SixBitScales : public PackedBlocks<kType> {
  static constexpr const TypeTraits& kRow = row_of<kType>;

 public:
  using PackedBlocks<kType>::PackedBlocks;
  struct Head {
    F d, dmin;
    U scales[2], mins[2];  // a byte for each of four groups
  };

  // The first four groups' six bits lie together. The others are split: four low bits, two high.
  Head head(int v) const {
    constexpr int kFirst = packed_word(kRow, kRow.scales.low.at);
    const U a = this->word(v, kFirst), b = this->word(v, kFirst + 1), c = this->word(v, kFirst + 2);
    const U six = kept<0x3f3f3f3fu>(), four = kept<0x0f0f0f0fu>(), two = kept<0x30303030u>();
    return {this->template half<kRow.d>(v),
            this->template half<kRow.min>(v),
            {a & six, (c & four) | (a >> 2 & two)},
            {b & six, (c >> 4 & four) | (b >> 2 & two)}};
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

template <Type kType, Scales::Kind kKind = row_of<kType>.scales.kind>
struct ScalesOf {
  using Class = OneScale<kType>;
};
template <Type kType>
struct ScalesOf<kType, Scales::fields> {
  using Class = FieldScales<kType>;
};
template <Type kType>
struct ScalesOf<kType, Scales::sixes> {
  using Class = SixBitScales<kType>;
};

// The packed blocks of a type.
template <Type kType>
class PackedFormat : public ScalesOf<kType>::Class {
  static constexpr const TypeTraits& kRow = row_of<kType>;
  static constexpr Plane kLow = kRow.low, kHigh = kRow.high;

  // A packed plane has runs of four where the file has runs of one byte (quant/runs.h).
  static consteval int run(Plane plane) { return plane.run < 4 ? 4 : plane.run; }
  // Columns in a run. The first kSegment of them differ only in their addresses.
  static consteval int span(Plane plane) { return 8 / plane.bits * run(plane); }
  static constexpr int kSegment =
      kHigh.bits != 0 && run(kHigh) < run(kLow) ? run(kHigh) : run(kLow);
  static constexpr int kBlock = static_cast<int>(kRow.block);
  // A segment has kBeside groups side by side. A run's bits have kAbove segments.
  static constexpr int kBeside = kSegment > kRow.group ? kSegment / kRow.group : 1;
  static constexpr int kAbove = kSegment < kRow.group ? 1 : span(kLow) / kSegment;
  // Each shift by a constant takes a copy of the code. In wasm, where code size counts, planes of
  // one or two bits are shifted by a variable instead.
  static constexpr bool kCounted = kWasm && kLow.bits <= 2 && kAbove > 1 && run(kLow) == kSegment &&
                                   (kHigh.bits == 0 || run(kHigh) == kSegment);

 public:
  using ScalesOf<kType>::Class::Class;
  static constexpr int kBits = kRow.bits, kGroup = kRow.group;
  static constexpr bool kMin = kRow.has_min;
  static constexpr int kInner = kCounted ? kAbove * kBeside : kBeside;
  static constexpr int kVariants = kCounted ? 1 : kAbove;
  static constexpr int kOuter = kBlock / (kVariants * kInner * kGroup);
  static constexpr int kAlikeWords = kSegment / 4;
  static constexpr int word_at(int i) {
    constexpr int kRun = run(kLow) / 4, kTurns = kGroup / 4 / kRun;
    return kTurns > 1 ? i % kTurns * kRun + i / kTurns : i;
  }

  template <typename At>
  U codes(int v, int w, const At& at) const {
    U codes = numbers<kLow, 0>(v, w, at);
    if constexpr (kHigh.bits != 0) codes = codes | numbers<kHigh, kLow.bits>(v, w, at);
    if constexpr (kRow.codebook != nullptr) codes = look_up(kCodes.bytes, codes);
    return codes;
  }

 private:
  struct alignas(16) Codes {
    uint8_t bytes[16];
  };
  static consteval Codes codes_of_book() {
    Codes codes = {};
    for (int i = 0; kRow.codebook != nullptr && i < 16; ++i) {
      codes.bytes[i] = static_cast<uint8_t>(kRow.codebook->values[i] + kRow.bias);
    }
    return codes;
  }
  static constexpr Codes kCodes = codes_of_book();

  // The numbers of 4 columns in a plane, shifted left by kUp.
  template <Plane kPlane, int kUp, typename At>
  U numbers(int v, int w, const At& at) const {
    constexpr int kRun = run(kPlane), kSpan = span(kPlane);
    constexpr int kColumns = kVariants * kInner * kGroup;  // columns with the same `outer`
    // The next `outer` is either the next run, or the next bits of the same run.
    constexpr bool kNextBits = kSpan > kColumns;
    static_assert(kNextBits ? kSpan == kBlock : kColumns % kSpan == 0);
    // The first word of this variant's first group, and the distances to those of other groups.
    constexpr int kColumn = At::kVariant * kSegment;
    constexpr int kAt = kPlane.at + kColumn / kSpan * kRun + kColumn % kRun;
    constexpr int kFirst = packed_word(kRow, kAt);
    constexpr int kNextInner = kBeside == 1 ? 0 : packed_word(kRow, kAt + kGroup) - kFirst;
    constexpr int kNextOuter =
        kOuter == 1 || kNextBits ? 0 : packed_word(kRow, kAt + kColumns / kSpan * kRun) - kFirst;
    const int beside = kCounted ? at.inner % kBeside : at.inner;
    int i = kFirst + beside * kNextInner + at.outer * kNextOuter;
    int down = kColumn % kSpan / kRun * kPlane.bits;
    if constexpr (kCounted) down += at.inner / kBeside * kPlane.bits;
    if constexpr (kRun >= kGroup) {
      i += w;
    } else if constexpr (kSpan >= kGroup) {
      i += w % (kRun / 4);
      // Comparisons and no division: from w's range (product_tile) the compiler knows the shift.
      SLUICE_UNROLL
      for (int turn = 1; turn < kGroup / kRun; ++turn) {
        if (w >= turn * (kRun / 4)) down += kPlane.bits;
      }
    } else {
      i += w / (kSpan / 4) * (kRun / 4) + w % (kRun / 4);
      down += w % (kSpan / 4) / (kRun / 4) * kPlane.bits;
    }
    const U word = this->word(v, i);
    if constexpr (kPlane.bits == 8) return word;
    constexpr uint32_t kMask = ((1u << kPlane.bits) - 1) * 0x01010101u;
    if constexpr (kNextBits) down += at.outer * (kColumns / kRun * kPlane.bits);
    if constexpr (kNextBits || kCounted) {
      return (word >> down & kept<kMask>()) << kUp;
    } else {
      return (down == kUp  ? word
              : down < kUp ? word << (kUp - down)
                           : word >> (down - kUp)) &
             kept<(kMask << kUp)>();
    }
  }
};

// Calls body<Format>() with the format of a type's packed blocks; float types have none.
template <typename Body>
inline void for_packed_type(Type type, const Body& body) {
  switch (type) {
#define TYPE(name, ...)                                            \
  case Type::name:                                                 \
    if constexpr (row_of<Type::name>.group != 0) {                 \
      return body.template operator()<PackedFormat<Type::name>>(); \
    } else {                                                       \
      return; /* it has no codes */                                \
    }
#include "quant/types.inc"
  }
}

// Whether no earlier type has panels of the same kind.
consteval bool has_new_panels(const TypeTraits& t) {
  for (const TypeTraits& other : kTypes) {
    if (other.type == t.type) return t.group != 0;
    if (other.bits == t.bits && other.group == t.group && other.has_min == t.has_min) return false;
  }
  return false;
}

// Calls body<Format>() with the format of a panel.
template <typename Body>
inline void for_panel(const Panel& panel, const Body& body) {
#define TYPE(name, ...)                                                                  \
  if constexpr (constexpr const TypeTraits& t = row_of<Type::name>; has_new_panels(t)) { \
    if (panel.bits == t.bits && panel.group == t.group && panel.has_min == t.has_min) {  \
      return body.template operator()<PanelFormat<t.bits, t.group, t.has_min>>();        \
    }                                                                                    \
  }
#include "quant/types.inc"
}
