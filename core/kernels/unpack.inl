// Packed strips (quant/matrix.h) to panels; a part of body.inl.

inline void store_halves(const uint8_t* halves, float* out) {
  for (int v = 0; v < kVectors; ++v) store(out + v * kLanes, load_f16(halves + 2 * v * kLanes));
}
// Word `word` of vector v of 16 rows.
inline U load_word(const uint8_t* words, int word, int v) {
  return load<U>(words + 64 * word + v * kVectorBytes);
}
inline void store_codes(uint8_t* codes, int word, int v, U value) {
  store(codes + 64 * word + v * kVectorBytes, value);
}
// The lowest four bits, each into a byte of its own.
inline U spread_bits(U bits) { return ((bits & 15u) * 0x00204081u) & 0x01010101u; }

template <bool kMin, bool kFive>
inline void unpack_blocks_of_32(const uint8_t* strip, int64_t cols, Panel& panel) {
  for (int64_t b = 0; b < cols / 32; ++b) {
    store_halves(strip, panel.scales + 16 * b);
    strip += 32;
    if constexpr (kMin) {
      store_halves(strip, panel.mins + 16 * b);
      strip += 32;
    }
    const uint8_t* fifth = strip;
    if constexpr (kFive) strip += 64;
    uint8_t* codes = panel.codes + 512 * b;
    for (int v = 0; v < kVectors; ++v) {
      for (int w = 0; w < 4; ++w) {
        const U both = load_word(strip, w, v);
        U low = both & 0x0f0f0f0fu;
        U high = both >> 4 & 0x0f0f0f0fu;
        if constexpr (kFive) {
          const U fifths = load_word(fifth, 0, v);
          low |= spread_bits(fifths >> (4 * w)) << 4;
          high |= spread_bits(fifths >> (16 + 4 * w)) << 4;
        }
        store_codes(codes, w, v, low);
        store_codes(codes, 4 + w, v, high);
      }
    }
    strip += 256;
  }
}

inline void unpack_q8_0(const uint8_t* strip, int64_t cols, Panel& panel) {
  for (int64_t b = 0; b < cols / 32; ++b, strip += 544) {
    store_halves(strip, panel.scales + 16 * b);
    memcpy(panel.codes + 512 * b, strip + 32, 512);
  }
}

// Q4_K and Q5_K: three words of six-bit scales and mins, the fifth bits, the nibbles.
template <bool kFive>
inline void unpack_q45_k(const uint8_t* strip, int64_t cols, Panel& panel) {
  constexpr int kFifthWords = kFive ? 8 : 0;
  constexpr int kBlockBytes = 64 + 64 * (3 + kFifthWords + 32);
  for (int64_t b = 0; b < cols / 256; ++b, strip += kBlockBytes) {
    const uint8_t* words = strip + 64;
    float* scales = panel.scales + 128 * b;
    float* mins = panel.mins + 128 * b;
    uint8_t* codes = panel.codes + 4096 * b;
    for (int v = 0; v < kVectors; ++v) {
      const F d = load_f16(strip + 2 * v * kLanes);
      const F dmin = load_f16(strip + 32 + 2 * v * kLanes);
      // The first four groups' six bits lie together; the others' low four and high two apart.
      const U six[3] = {load_word(words, 0, v), load_word(words, 1, v), load_word(words, 2, v)};
      const U scale[2] = {six[0] & 0x3f3f3f3fu,
                          (six[2] & 0x0f0f0f0fu) | (six[0] >> 2 & 0x30303030u)};
      const U min[2] = {six[1] & 0x3f3f3f3fu,
                        (six[2] >> 4 & 0x0f0f0f0fu) | (six[1] >> 2 & 0x30303030u)};
      for (int g = 0; g < 8; ++g) {
        const int shift = 8 * (g % 4);
        const I s = as<I>(scale[g / 4] >> shift & 0xffu);
        const I m = as<I>(min[g / 4] >> shift & 0xffu);
        store(scales + 16 * g + v * kLanes, d * to_float(s));
        store(mins + 16 * g + v * kLanes, -(dmin * to_float(m)));
      }
      for (int w = 0; w < 8; ++w) {
        U fifths{};
        if constexpr (kFive) fifths = load_word(words, 3 + w, v);
        SLUICE_UNROLL
        for (int pair = 0; pair < 4; ++pair) {
          const U both = load_word(words, 3 + kFifthWords + 8 * pair + w, v);
          U low = both & 0x0f0f0f0fu;
          U high = both >> 4 & 0x0f0f0f0fu;
          if constexpr (kFive) {
            low |= (fifths >> (2 * pair) & 0x01010101u) << 4;
            high |= (fifths >> (2 * pair + 1) & 0x01010101u) << 4;
          }
          store_codes(codes, 16 * pair + w, v, low);
          store_codes(codes, 16 * pair + 8 + w, v, high);
        }
      }
    }
  }
}

// Two halves of 128 columns: 16 words of nibbles and 8 of bit pairs each; then four of scales.
inline void unpack_q6_k(const uint8_t* strip, int64_t cols, Panel& panel) {
  for (int64_t b = 0; b < cols / 256; ++b, strip += 16 * 210) {
    const uint8_t* words = strip + 32;
    float* scales = panel.scales + 256 * b;
    uint8_t* codes = panel.codes + 4096 * b;
    for (int v = 0; v < kVectors; ++v) {
      const F d = load_f16(strip + 2 * v * kLanes);
      for (int g = 0; g < 16; ++g) {
        const I four = as<I>(load_word(words, 48 + g / 4, v) << (24 - 8 * (g % 4)));
        store(scales + 16 * g + v * kLanes, d * to_float(four >> 24));
      }
      for (int half = 0; half < 2; ++half) {
        for (int w = 0; w < 8; ++w) {
          const U first = load_word(words, 16 * half + w, v);
          const U second = load_word(words, 16 * half + 8 + w, v);
          const U pairs = load_word(words, 32 + 8 * half + w, v);
          const int at = 32 * half + w;
          store_codes(codes, at, v, (first & 0x0f0f0f0fu) | (pairs << 4 & 0x30303030u));
          store_codes(codes, at + 8, v, (second & 0x0f0f0f0fu) | (pairs << 2 & 0x30303030u));
          store_codes(codes, at + 16, v, (first >> 4 & 0x0f0f0f0fu) | (pairs & 0x30303030u));
          store_codes(codes, at + 24, v, (second >> 4 & 0x0f0f0f0fu) | (pairs >> 2 & 0x30303030u));
        }
      }
    }
  }
}

void unpack(Type type, const uint8_t* strip, int64_t cols, Panel& panel) {
  describe_panel(type, panel);
  switch (type) {
    case Type::Q4_0:
      return unpack_blocks_of_32<false, false>(strip, cols, panel);
    case Type::Q4_1:
      return unpack_blocks_of_32<true, false>(strip, cols, panel);
    case Type::Q5_0:
      return unpack_blocks_of_32<false, true>(strip, cols, panel);
    case Type::Q5_1:
      return unpack_blocks_of_32<true, true>(strip, cols, panel);
    case Type::Q8_0:
      return unpack_q8_0(strip, cols, panel);
    case Type::Q4_K:
      return unpack_q45_k<false>(strip, cols, panel);
    case Type::Q5_K:
      return unpack_q45_k<true>(strip, cols, panel);
    case Type::Q6_K:
      return unpack_q6_k(strip, cols, panel);
    default:
      return;  // float types have no codes
  }
}
