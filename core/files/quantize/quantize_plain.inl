// Types whose blocks have one scale (and min): F16, BF16, Q4_0 to Q8_0, MXFP4, TQ, Q1_0, Q2_0.

// Writes the low bits of 32 integers, as many as T has. (The loop over all 32 becomes instructions
// that pack two vectors. Conversions of one vector don't.)
constexpr int kRun = 32 / kLanes;  // vectors
template <typename T>
inline void write_run(const I* vectors, uint8_t* out) {
  int32_t values[32];
  memcpy(values, vectors, sizeof values);
  T narrow[32];
  for (int i = 0; i < 32; ++i) narrow[i] = static_cast<T>(values[i]);
  memcpy(out, narrow, sizeof narrow);
}

// Stores the low 16 bits of what convert(vector) returns for each value.
template <typename Convert>
inline void convert_to_16_bits(const QuantizeJob& job, Convert convert) {
  const int64_t count = job.n_rows * job.n;
  const auto run = [&](const float* values, uint8_t* out) {
    I vectors[kRun];
    for (int v = 0; v < kRun; ++v) vectors[v] = convert(load(values + v * kLanes));
    write_run<uint16_t>(vectors, out);
  };
  const int64_t whole = count / 32 * 32;
  for (int64_t i = 0; i < whole; i += 32) run(job.values + i, job.out + 2 * i);
  float rest[32] = {};
  uint8_t out[64];
  memcpy(rest, job.values + whole, 4 * static_cast<size_t>(count - whole));
  run(rest, out);
  memcpy(job.out + 2 * whole, out, 2 * static_cast<size_t>(count - whole));
}

inline I to_bf16(F x) {
  typedef uint32_t U __attribute__((vector_size(4 * kLanes)));
  const U bits = (U)x;
  return (I)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline void quantize_q8_0(const QuantizeJob& job) {
  const int64_t n_blocks = job.n_rows * job.n / 32;
  for (int64_t b = 0; b < n_blocks; ++b) {
    const float* values = job.values + b * 32;
    // The largest magnitude: bits of floats >= 0 are in the order of the floats.
    I magnitudes = {};
    for (int v = 0; v < kRun; ++v) {
      const I bits = (I)absolute(load(values + v * kLanes));
      magnitudes = bits > magnitudes ? bits : magnitudes;
    }
    int32_t lanes[kLanes];
    memcpy(lanes, &magnitudes, sizeof lanes);
    int32_t most = 0;
    for (const int32_t each : lanes) most = each > most ? each : most;
    float largest;
    memcpy(&largest, &most, 4);
    const float d = largest / 127.0f;
    const float inverse = d != 0.0f ? 1.0f / d : 0.0f;
    const uint16_t half = static_cast<uint16_t>(to_half(all(d))[0]);
    I codes[kRun];
    for (int v = 0; v < kRun; ++v) codes[v] = round_away(load(values + v * kLanes) * inverse);
    memcpy(job.out + b * 34, &half, 2);
    write_run<int8_t>(codes, job.out + b * 34 + 2);
  }
}

// The mean square of each block's row.
class RowMeans {
 public:
  explicit RowMeans(const QuantizeJob& job) : job_(job) {}
  template <int kBlock>
  F of(const Tile<kBlock>& tile) {
    F out = {};
    for (int l = 0; l < kLanes; ++l) {
      if (tile.row[l] != row_) measure(tile.row[l]);
      out[l] = mean_;
    }
    return out;
  }

 private:
  void measure(int64_t row) {
    const float* x = job_.values + row * job_.n;
    float sum = 0.0f;
    for (int64_t i = 0; i < job_.n; ++i) sum += x[i] * x[i];
    row_ = row;
    mean_ = sum / static_cast<float>(job_.n);
  }

  const QuantizeJob& job_;
  int64_t row_ = -1;
  float mean_ = 0.0f;
};

// 32 codes of 4 bits, and the fifth bits in the four bytes at `high`, or none if that is null.
inline void set_codes(const I* codes, I* low, I* high) {
  for (int i = 0; i < 16; ++i) low[i] = (codes[i] & 15) | (codes[i + 16] & 15) << 4;
  for (int i = 0; high != nullptr && i < 4; ++i) {
    high[i] = I{};
    for (int bit = 0; bit < 8; ++bit) high[i] |= (codes[8 * i + bit] >> 4 & 1) << bit;
  }
}

// Q4_0 and Q5_0: codes 0..2 * kTop - 1, the value of largest magnitude gets 0.
template <int kBytes, int kTop>
inline void quantize_symmetric(const QuantizeJob& job) {
  RowMeans means(job);
  for_each_tile<32, kBytes>(job, [&](const Tile<32>& tile, BlockBytes<kBytes>& out) {
    F d;
    I codes[32];
    if (job.importance != nullptr) {
      const F v = means.of(tile);
      F w[32];
      importance_weights<32>(tile.x, tile.q, v, w);
      const SymmetricScale found = search_symmetric<32>(tile.x, w, kTop);
      d = found.scale;
      for (int i = 0; i < 32; ++i) codes[i] = found.code(tile.x[i], kTop);
    } else {
      F extreme;
      find_extreme(tile.x, 32, extreme);
      d = extreme / static_cast<float>(-kTop);
      const F inverse = d != 0.0f ? 1.0f / d : F{};
      for (int i = 0; i < 32; ++i) {
        const I l = integer_part(tile.x[i] * inverse + (static_cast<float>(kTop) + 0.5f));
        codes[i] = smaller(l, 2 * kTop - 1);
      }
    }
    out.set_half(0, to_half(d));
    set_codes(codes, out.bytes + kBytes - 16, kTop == 16 ? out.bytes + 2 : nullptr);
  });
}

// Q4_1 and Q5_1: codes 0..kTop from the least value on.
template <int kBytes, int kTop>
inline void quantize_offset(const QuantizeJob& job) {
  RowMeans means(job);
  for_each_tile<32, kBytes>(job, [&](const Tile<32>& tile, BlockBytes<kBytes>& out) {
    F d;
    F min;
    I codes[32];
    if (job.importance != nullptr) {
      const F v = means.of(tile);
      F w[32];
      importance_weights<32>(tile.x, tile.q, v, w);
      const OffsetScale found = search_offset<32, false, true>(tile.x, w, kTop, kStepsByImportance);
      d = found.scale;
      min = -found.below;
      for (int i = 0; i < 32; ++i) codes[i] = found.code(tile.x[i], kTop);
    } else {
      min = tile.x[0];
      F max = tile.x[0];
      for (int i = 1; i < 32; ++i) {
        min = tile.x[i] < min ? tile.x[i] : min;
        max = tile.x[i] > max ? tile.x[i] : max;
      }
      d = (max - min) / static_cast<float>(kTop);
      const F inverse = d != 0.0f ? 1.0f / d : F{};
      for (int i = 0; i < 32; ++i) {
        const I l = integer_part((tile.x[i] - min) * inverse + 0.5f);
        codes[i] = kTop == 15 ? smaller(l, kTop) : l;
      }
    }
    out.set_half(0, to_half(d));
    out.set_half(2, to_half(min));
    set_codes(codes, out.bytes + kBytes - 16, kTop == 31 ? out.bytes + 4 : nullptr);
  });
}

inline void quantize_q1_0(const QuantizeJob& job) {
  for_each_tile<128, 18>(job, [&](const Tile<128>& tile, BlockBytes<18>& out) {
    F sum = {};
    for (int i = 0; i < 128; ++i) sum += absolute(tile.x[i]);
    out.set_half(0, to_half(sum / 128.0f));
    for (int i = 0; i < 16; ++i) {
      I byte = {};
      for (int bit = 0; bit < 8; ++bit) byte |= (tile.x[8 * i + bit] >= 0.0f) & (1 << bit);
      out.bytes[2 + i] = byte;
    }
  });
}

// The digits of values that become -d, 0 or d: 0..2. d: the largest magnitude.
template <int kBlock>
inline F find_digits(const Tile<kBlock>& tile, I* digits) {
  F extreme;
  const F d = find_extreme(tile.x, kBlock, extreme);
  const F inverse = d != 0.0f ? 1.0f / d : F{};
  for (int i = 0; i < kBlock; ++i) digits[i] = round_away(tile.x[i] * inverse) + 1;
  return d;
}

inline void quantize_q2_0(const QuantizeJob& job) {
  for_each_tile<64, 18>(job, [&](const Tile<64>& tile, BlockBytes<18>& out) {
    I digits[64];
    const F d = find_digits(tile, digits);
    // Where 1 / d is infinite, llama-quantize takes the least integer and cuts it to 0.
    const I infinite = (d > 0.0f) & (1.0f / d == __builtin_inff());
    for (int i = 0; i < 64; ++i) digits[i] = infinite ? I{} : digits[i];
    out.set_half(0, to_half(d));
    for (int i = 0; i < 16; ++i) {
      const I* c = digits + 4 * i;
      out.bytes[2 + i] = c[0] | c[1] << 2 | c[2] << 4 | c[3] << 6;
    }
  });
}

inline void quantize_tq2_0(const QuantizeJob& job) {
  for_each_tile<256, 66>(job, [&](const Tile<256>& tile, BlockBytes<66>& out) {
    I digits[256];
    const F d = find_digits(tile, digits);
    for (int i = 0; i < 64; ++i) {
      const I* c = digits + i / 32 * 128 + i % 32;
      out.bytes[i] = c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6;
    }
    out.set_half(64, to_half(d));
  });
}

// n digits, `step` apart, as a number of five digits of base 3 in a byte.
inline I pack_digits(const I* digits, int n, int step) {
  I number = {};
  for (int i = 0; i < 5; ++i) number = number * 3 + (i < n ? digits[i * step] : I{});
  return (number * 256 + 242) / 243;
}

inline void quantize_tq1_0(const QuantizeJob& job) {
  for_each_tile<256, 54>(job, [&](const Tile<256>& tile, BlockBytes<54>& out) {
    I digits[256];
    const F d = find_digits(tile, digits);
    for (int i = 0; i < 32; ++i) out.bytes[i] = pack_digits(digits + i, 5, 32);
    for (int i = 0; i < 16; ++i) out.bytes[32 + i] = pack_digits(digits + 160 + i, 5, 16);
    for (int i = 0; i < 4; ++i) out.bytes[48 + i] = pack_digits(digits + 240 + i, 4, 4);
    out.set_half(52, to_half(d));
  });
}

// The integer part of log2(x) rounded to f32, x > 0. Right below a power of two the rounded
// logarithm is that of the power.
inline int32_t log2_of(float x) {
  const bool subnormal = x < 0x1p-126f;
  x = subnormal ? x * 0x1p24f : x;
  int32_t bits;
  memcpy(&bits, &x, 4);
  const int32_t below = (bits >> 23) - 127 - (subnormal ? 24 : 0);
  const int32_t power = below + 1;
  // log2(2^power (1 - gap 2^-24)) = power - 1.4427 gap 2^-24. It is rounded to the power if that is
  // at most half a step of f32 away. In units of 2^-24 the half step is the largest power of two
  // that isn't above |power|, and half of that just below a power of two.
  const int32_t gap = 0x800000 - (bits & 0x7fffff);
  float half_step = 0.0f;
  for (int32_t p = 1; p <= (power < 0 ? -power : power); p *= 2)
    half_step = static_cast<float>(p) * (p == power ? 0.5f : 1.0f);
  return static_cast<float>(gap) * 1.44269504f <= half_step ? power : below;
}

inline void quantize_mxfp4(const QuantizeJob& job) {
  constexpr float kE2M1[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                               -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  for_each_tile<32, 17>(job, [&](const Tile<32>& tile, BlockBytes<17>& out) {
    F extreme;
    const F magnitude = find_extreme(tile.x, 32, extreme);
    F unit = {};
    for (int l = 0; l < kLanes; ++l) {
      // An exponent below 0 wraps.
      const int32_t e = magnitude[l] > 0.0f ? (log2_of(magnitude[l]) + 125) & 255 : 0;
      out.bytes[0][l] = e;
      // 2^(e - 127)
      const int32_t bits = e > 0 ? e << 23 : 0x400000;
      float value;
      memcpy(&value, &bits, 4);
      unit[l] = value;
    }
    I codes[32];
    for (int i = 0; i < 32; ++i) {
      F least = absolute(tile.x[i]);
      codes[i] = I{};
      for (int k = 1; k < 16; ++k) {
        const F error = absolute(kE2M1[k] * unit - tile.x[i]);
        const I take = error < least;
        least = take ? error : least;
        codes[i] = take ? all_int(k) : codes[i];
      }
    }
    set_codes(codes, out.bytes + 1, nullptr);
  });
}
