// Q2_K to Q6_K: blocks of 256 values in groups of 16 or 32. A group's scale (and min) is an integer
// times the block's.

// The sum, in order.
inline F sum_of(const F* w, int n) {
  F sum = {};
  for (int i = 0; i < n; ++i) sum += w[i];
  return sum;
}

inline F largest_of(const F* values, int n) {
  F largest = {};
  for (int i = 0; i < n; ++i) largest = values[i] > largest ? values[i] : largest;
  return largest;
}

// How a type with mins is searched for.
struct OffsetType {
  int top;        // of codes
  int scale_top;  // of the groups' integers
  OffsetSteps steps;
  bool cut;  // with importance too, groups' integers above scale_top become that
};

// How the groups' integers lie in a block: 12 bytes with eight scales and eight mins of 6 bits, or
// 16 bytes with sixteen of 4 bits. An integer beyond that (search_bytes) changes its neighbours, so
// what counts is what is read back.
struct Sixes {
  static constexpr int kGroups = 8;
  static constexpr bool kCut = true;  // round_scales cuts what is above the largest
  I bytes[12];
  Sixes(const I* scales, const I* mins) {
    for (int g = 0; g < 4; ++g) {
      bytes[g] = (scales[g] | (scales[g + 4] >> 4) << 6) & 255;
      bytes[g + 4] = (mins[g] | (mins[g + 4] >> 4) << 6) & 255;
      bytes[g + 8] = (scales[g + 4] & 15) | (mins[g + 4] & 15) << 4;
    }
  }
  I scale(int g) const {
    return g < 4 ? bytes[g] & 63 : (bytes[g + 4] & 15) | (bytes[g - 4] >> 6) << 4;
  }
  I min(int g) const {
    return g < 4 ? bytes[g + 4] & 63 : bytes[g + 4] >> 4 | (bytes[g] >> 6) << 4;
  }
};
struct Nibbles {
  static constexpr int kGroups = 16;
  static constexpr bool kCut = false;
  I bytes[16];
  Nibbles(const I* scales, const I* mins) {
    for (int g = 0; g < 16; ++g) bytes[g] = (scales[g] | mins[g] << 4) & 255;
  }
  I scale(int g) const { return bytes[g] & 15; }
  I min(int g) const { return bytes[g] >> 4; }
};

// The block's scales as f16, and the codes of all values.
struct OffsetBlock {
  I d, min;
  I codes[256];
};

// d and the integers of the scales (or mins) of all groups.
template <typename Integers>
inline I round_scales(const F* values, int top, I* integers) {
  constexpr int kGroups = Integers::kGroups;
  const F largest = largest_of(values, kGroups);
  const float n_top = static_cast<float>(top);
  const F inverse = largest > 0.0f ? n_top / largest : F{};
  for (int g = 0; g < kGroups; ++g) {
    const I l = nearest(inverse * values[g]) & 255;
    integers[g] = Integers::kCut ? smaller(l, top) : l;
  }
  return to_half(largest > 0.0f ? largest / n_top : F{});
}

// kAbsolute: without importance weights are magnitudes, and so are errors.
template <typename Integers, bool kAbsolute>
inline Integers quantize_offset_block(const Tile<256>& tile, bool by_importance,
                                      const OffsetType& type, OffsetBlock& out) {
  constexpr int kGroups = Integers::kGroups;
  constexpr int kGroup = 256 / kGroups;
  OffsetScale found[kGroups];
  F scales[kGroups];
  F mins[kGroups];
  F sums[kGroups];
  F v = {};
  if (by_importance) v = (kAbsolute ? 1.0f : 2.0f) * sum_of_squares(tile.x, 256) / 256.0f;
  for (int g = 0; g < kGroups; ++g) {
    const F* x = tile.x + g * kGroup;
    F w[kGroup];
    if (by_importance) {
      importance_weights<kGroup>(x, tile.q + g * kGroup, v, w);
      sums[g] = sum_of(w, kGroup);
      found[g] = search_offset<kGroup, false, true>(x, w, type.top, kStepsByImportance);
    } else {
      const F mean =
          kAbsolute ? F{} : square_root(sum_of_squares(x, kGroup) / static_cast<float>(kGroup));
      for (int i = 0; i < kGroup; ++i) w[i] = kAbsolute ? absolute(x[i]) : mean + absolute(x[i]);
      found[g] = search_offset<kGroup, kAbsolute, false>(x, w, type.top, type.steps);
    }
    scales[g] = found[g].scale;
    mins[g] = found[g].below;
  }
  I scale_codes[kGroups];
  I min_codes[kGroups];
  if (by_importance) {
    out.d = to_half(search_bytes<kGroups>(scales, sums, type.scale_top, scale_codes));
    out.min = to_half(search_bytes<kGroups>(mins, sums, type.scale_top, min_codes));
    for (int g = 0; g < kGroups && type.cut; ++g) {
      scale_codes[g] = smaller(scale_codes[g], type.scale_top);
      min_codes[g] = smaller(min_codes[g], type.scale_top);
    }
  } else {
    out.d = round_scales<Integers>(scales, type.scale_top, scale_codes);
    out.min = round_scales<Integers>(mins, type.scale_top, min_codes);
  }
  const Integers integers(scale_codes, min_codes);
  for (int g = 0; g < kGroups; ++g) {
    const F d = from_half(out.d) * to_float(integers.scale(g));
    const F min = from_half(out.min) * to_float(integers.min(g));
    const I keep = d == 0.0f;
    for (int i = g * kGroup; i < (g + 1) * kGroup; ++i) {
      const I code = clamp(nearest((tile.x[i] + min) / d), 0, type.top);
      out.codes[i] = keep ? found[g].code(tile.x[i], type.top) : code;
    }
  }
  return integers;
}

inline void quantize_q2_k(const QuantizeJob& job) {
  constexpr OffsetType kType = {3, 15, {-0.5f, 0.1f, 15}, false};
  for_each_tile<256, 84>(job, [&](const Tile<256>& tile, BlockBytes<84>& out) {
    OffsetBlock block;
    const auto integers =
        quantize_offset_block<Nibbles, true>(tile, job.importance != nullptr, kType, block);
    memcpy(out.bytes, integers.bytes, sizeof integers.bytes);
    for (int i = 0; i < 64; ++i) {
      const I* c = block.codes + i / 32 * 128 + i % 32;
      out.bytes[16 + i] = c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6;
    }
    out.set_half(80, block.d);
    out.set_half(82, block.min);
  });
}

inline void quantize_q4_k(const QuantizeJob& job) {
  constexpr OffsetType kType = {15, 63, {-1.0f, 0.1f, 20}, false};
  for_each_tile<256, 144>(job, [&](const Tile<256>& tile, BlockBytes<144>& out) {
    OffsetBlock block;
    const auto integers =
        quantize_offset_block<Sixes, false>(tile, job.importance != nullptr, kType, block);
    out.set_half(0, block.d);
    out.set_half(2, block.min);
    memcpy(out.bytes + 4, integers.bytes, sizeof integers.bytes);
    for (int i = 0; i < 128; ++i) {
      const I* c = block.codes + i / 32 * 64 + i % 32;
      out.bytes[16 + i] = c[0] | c[32] << 4;
    }
  });
}

inline void quantize_q5_k(const QuantizeJob& job) {
  constexpr OffsetType kType = {31, 63, {-0.5f, 0.1f, 15}, true};
  for_each_tile<256, 176>(job, [&](const Tile<256>& tile, BlockBytes<176>& out) {
    OffsetBlock block;
    const auto integers =
        quantize_offset_block<Sixes, false>(tile, job.importance != nullptr, kType, block);
    out.set_half(0, block.d);
    out.set_half(2, block.min);
    memcpy(out.bytes + 4, integers.bytes, sizeof integers.bytes);
    for (int i = 0; i < 32; ++i) {
      I high = {};
      for (int g = 0; g < 8; ++g) high |= (block.codes[32 * g + i] >> 4) << g;
      out.bytes[16 + i] = high;
    }
    for (int i = 0; i < 128; ++i) {
      const I* c = block.codes + i / 32 * 64 + i % 32;
      out.bytes[48 + i] = (c[0] & 15) | (c[32] & 15) << 4;
    }
  });
}

// The codes of 16 groups with scales d * scales[g]; of a group with scale 0 those that are there.
inline void refit_symmetric(const Tile<256>& tile, F d, const I* scales, int top, I* codes) {
  for (int g = 0; g < 16; ++g) {
    const F scale = d * to_float(scales[g]);
    const I keep = scale == 0.0f;
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      const I code = clamp(nearest(tile.x[i] / scale), -top, top - 1) + top;
      codes[i] = keep ? codes[i] : code;
    }
  }
}

inline void quantize_q6_k(const QuantizeJob& job) {
  for_each_tile<256, 210>(job, [&](const Tile<256>& tile, BlockBytes<210>& out) {
    F scales[16];
    I codes[256];
    for (int g = 0; g < 16; ++g) {
      const F* x = tile.x + 16 * g;
      const F* q = job.importance != nullptr ? tile.q + 16 * g : nullptr;
      const SymmetricScale found = search_symmetric<16>(x, q, 32);
      scales[g] = found.scale;
      for (int i = 0; i < 16; ++i) codes[16 * g + i] = found.code(x[i], 32);
    }
    F extreme;
    const I zero = find_extreme(scales, 16, extreme) < kNothing;
    const F inverse = -128.0f / extreme;
    const I d = zero ? I{} : to_half(1.0f / inverse);
    I integers[16];
    for (int g = 0; g < 16; ++g) {
      const I l = nearest(inverse * scales[g]);
      integers[g] = zero ? I{} : smaller(l, 127);
    }
    refit_symmetric(tile, from_half(d), integers, 32, codes);
    for (I& code : codes) code = zero ? I{} : code;
    for (int i = 0; i < 64; ++i) {
      const I* c = codes + i / 32 * 128 + i % 32;
      const int at = i / 32 * 64 + i % 32;
      out.bytes[at] = (c[0] & 15) | (c[64] & 15) << 4;
      out.bytes[at + 32] = (c[32] & 15) | (c[96] & 15) << 4;
      out.bytes[128 + i] = c[0] >> 4 | (c[32] >> 4) << 2 | (c[64] >> 4) << 4 | (c[96] >> 4) << 6;
    }
    for (int g = 0; g < 16; ++g) out.bytes[192 + g] = integers[g] & 255;
    out.set_half(208, d);
  });
}

inline void quantize_q3_k(const QuantizeJob& job) {
  for_each_tile<256, 110>(job, [&](const Tile<256>& tile, BlockBytes<110>& out) {
    F scales[16];
    I codes[256];
    I integers[16];  // 0..63
    I d;
    if (job.importance != nullptr) {
      const F v = 2.0f * sum_of_squares(tile.x, 256) / 256.0f;
      F sums[16];
      for (int g = 0; g < 16; ++g) {
        const F* x = tile.x + 16 * g;
        F w[16];
        importance_weights<16>(x, tile.q + 16 * g, v, w);
        sums[g] = sum_of(w, 16);
        const SymmetricScale found = search_symmetric<16>(x, w, 4);
        scales[g] = found.scale;
        for (int i = 0; i < 16; ++i) codes[16 * g + i] = found.code(x[i], 4);
      }
      const SymmetricScale found = search_symmetric<16, false>(scales, sums, 32);
      d = to_half(found.scale);
      for (int g = 0; g < 16; ++g) integers[g] = found.code(scales[g], 32);
    } else {
      for (int g = 0; g < 16; g += 4)
        search_by_changes<16, 4>(tile.x + 16 * g, 4, codes + 16 * g, scales + g);
      for (I& code : codes) code += 4;
      F extreme;
      find_extreme(scales, 16, extreme);
      const I zero = extreme == 0.0f;
      const F inverse = -32.0f / extreme;
      d = zero ? I{} : to_half(1.0f / inverse);
      for (int g = 0; g < 16; ++g) {
        const I l = clamp(nearest(inverse * scales[g]), -32, 31) + 32;
        integers[g] = zero ? I{} : l;
      }
    }
    I factors[16];
    for (int g = 0; g < 16; ++g) factors[g] = integers[g] - 32;
    refit_symmetric(tile, from_half(d), factors, 4, codes);
    for (int i = 0; i < 32; ++i) {
      I high = {};
      for (int g = 0; g < 8; ++g) high |= (codes[32 * g + i] >> 2) << g;
      out.bytes[i] = high;
    }
    for (int i = 0; i < 64; ++i) {
      const I* c = codes + i / 32 * 128 + i % 32;
      out.bytes[32 + i] = (c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6;
    }
    for (int g = 0; g < 8; ++g)
      out.bytes[96 + g] = (integers[g] & 15) | (integers[g + 8] & 15) << 4;
    for (int g = 0; g < 4; ++g) {
      out.bytes[104 + g] = integers[g] >> 4 | (integers[g + 4] >> 4) << 2 |
                           (integers[g + 8] >> 4) << 4 | (integers[g + 12] >> 4) << 6;
    }
    out.set_half(108, d);
  });
}
