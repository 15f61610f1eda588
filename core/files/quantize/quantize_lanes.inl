// Vectors whose lanes are blocks: lane l of every vector belongs to the l-th of kLanes consecutive
// blocks. A lane does the operations of one block in that block's order, so its bits are those of a
// loop over one block, whatever kLanes is. Included by the file of each machine, in a namespace
// without name, after kLanes.

typedef float F __attribute__((vector_size(4 * kLanes)));
typedef int32_t I __attribute__((vector_size(4 * kLanes)));

inline F all(float value) { return value - F{}; }
inline I all_int(int32_t value) { return value - I{}; }
inline F load(const float* from) {
  F out;
  memcpy(&out, from, sizeof out);
  return out;
}
inline F to_float(I x) { return __builtin_convertvector(x, F); }
inline F absolute(F x) { return (F)((I)x & 0x7fffffff); }
inline F larger(F a, F b) { return a > b ? a : b; }
inline F smaller(F a, F b) { return a < b ? a : b; }
inline I smaller(I x, int32_t top) { return x > top ? all_int(top) : x; }
inline I clamp(I x, int32_t low, int32_t high) {
  x = x < low ? all_int(low) : x;
  return x > high ? all_int(high) : x;
}
inline F clamp(F x, float low, float high) { return smaller(larger(x, all(low)), all(high)); }

inline F square_root(F x) {
  F out;
  for (int l = 0; l < kLanes; ++l) out[l] = __builtin_sqrtf(x[l]);
  return out;
}

inline bool any(I mask) {
  I bits = mask;
  int32_t out = 0;
  for (int l = 0; l < kLanes; ++l) out |= bits[l];
  return out != 0;
}

// The nearest integer, ties to even, for |x| < 2^22. Beyond, the low 23 bits of the sum less 2^22:
// -2^22 for infinity, 0 for NaN.
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
inline I nearest(F x) { return ((I)(x + kMagic) & 0x7fffff) - 0x400000; }
// The same for |x| < 2^22 only.
inline F nearest_float(F x) { return (x + kMagic) - kMagic; }

// The integer part, and the nearest integer with ties away from 0. What isn't below 2^22 gives 0:
// that is only so where 1 / d is no finite number, and no lane may depend on how a machine converts
// that.
inline I integer_part(F x) { return __builtin_convertvector(absolute(x) < 0x1p22f ? x : F{}, I); }
inline I round_away(F x) {
  const I part = integer_part(x);
  const I sign = ((I)x >> 31) | 1;
  const I up = absolute(x - to_float(part)) >= 0.5f;
  return absolute(x) < 0x1p22f ? part + (up & sign) : I{};
}

// To f16, to the nearest, ties to even.
inline I to_half(F value) {
  const I sign = ((I)value >> 16) & 0x8000;
  const I magnitude = (I)value & 0x7fffffff;
  // In a subnormal the last bit of a sum with 0.5 is 2^-24, so the addition rounds.
  const I small = (I)((F)magnitude + 0.5f) - 0x3f000000;
  const I normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  I half = magnitude < 0x38800000 ? small : normal;
  half = magnitude >= 0x477ff000 ? all_int(0x7c00) : half;
  half = magnitude > 0x7f800000 ? all_int(0x7e00) : half;
  return half | sign;
}
inline F from_half(I half) {
  const I sign = (half & 0x8000) << 16;
  const I magnitude = half & 0x7fff;
  const I small = (I)(to_float(magnitude) * 0x1p-24f);
  I bits = magnitude < 0x400 ? small : (magnitude << 13) + 0x38000000;
  bits = magnitude >= 0x7c00 ? (0x7f800000 | (magnitude & 0x3ff) << 13) : bits;
  return (F)(bits | sign);
}

// kLanes blocks of kBlock values: x[i], and their columns' importance q[i].
template <int kBlock>
struct Tile {
  F x[kBlock];
  F q[kBlock];          // undefined if there is no importance
  int64_t row[kLanes];  // each block's row
};

// One lane after the other: lane l's values are at from[l].
inline void transpose(const float* const* from, int n, F* out) {
  float* to = reinterpret_cast<float*>(out);
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < n; ++i) to[i * kLanes + l] = from[l][i];
  }
}

// The bytes of kLanes blocks: bytes[i] has byte i of each, 0..255.
template <int kBytes>
struct BlockBytes {
  I bytes[kBytes];

  void set_half(int at, I half) {
    bytes[at] = half & 255;
    bytes[at + 1] = (half >> 8) & 255;
  }
  // Writes the first n blocks.
  void write(int n, uint8_t* out) const {
    constexpr int kWords = kBytes / 4;
    for (int w = 0; w < kWords; ++w) {
      const I* b = bytes + 4 * w;
      const I word = b[0] | b[1] << 8 | b[2] << 16 | b[3] << 24;
      for (int l = 0; l < n; ++l) {
        const int32_t value = word[l];
        memcpy(out + l * kBytes + 4 * w, &value, 4);
      }
    }
    for (int i = 4 * kWords; i < kBytes; ++i) {
      for (int l = 0; l < n; ++l) out[l * kBytes + i] = static_cast<uint8_t>(bytes[i][l]);
    }
  }
};

// Calls pack(tile, out) for all blocks of the rows, kLanes at a time. The lanes beyond the last
// block repeat it.
template <int kBlock, int kBytes, typename Pack>
inline void for_each_tile(const QuantizeJob& job, Pack pack) {
  const int64_t row_blocks = job.n / kBlock;
  const int64_t n_blocks = job.n_rows * row_blocks;
  Tile<kBlock> tile;
  BlockBytes<kBytes> out;
  for (int64_t first = 0; first < n_blocks; first += kLanes) {
    const float* x[kLanes];
    const float* q[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const int64_t b = first + l < n_blocks ? first + l : n_blocks - 1;
      x[l] = job.values + b * kBlock;
      tile.row[l] = b / row_blocks;
      if (job.importance != nullptr) q[l] = job.importance + b % row_blocks * kBlock;
    }
    transpose(x, kBlock, tile.x);
    if (job.importance != nullptr) transpose(q, kBlock, tile.q);
    pack(tile, out);
    const int64_t left = n_blocks - first;
    out.write(left < kLanes ? static_cast<int>(left) : kLanes, job.out + first * kBytes);
  }
}

// The sum of squares, in order.
inline F sum_of_squares(const F* x, int n) {
  F sum = {};
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}
