// Storing keys and values, and attention over a chunk of them; a part of body.inl.

// Halves are finite: values beyond them become the largest (a NaN the lowest), on every table.
inline void store_finite_f16(uint8_t* p, F x) {
  const F limit = splat(65504.0f);
  store_f16(p, -larger(-limit, -larger(-limit, x)));
}

// K's elements lie 16 positions apart, V's side by side.
void store_k(KvType type, const float* x, int head_dim, int lane, uint8_t* k, float* k_scales) {
  if (type == KvType::f32) {
    for (int i = 0; i < head_dim; ++i) memcpy(k + (16 * i + lane) * 4, x + i, 4);
  } else if (type == KvType::f16) {
    for_lanes(head_dim, [&](int64_t i, auto part) {
      const Lanes values = part.load(x + i, 0.0f);
      uint8_t halves[32];
      for (int v = 0; v < kVectors; ++v) store_finite_f16(halves + 2 * v * kLanes, values.v[v]);
      for (int64_t j = 0; j < 16 && i + j < head_dim; ++j) {
        memcpy(k + (16 * (i + j) + lane) * 2, halves + 2 * j, 2);
      }
    });
  } else {
    for (int i = 0; i < head_dim; i += kKvScaleBlock) {
      const int count = head_dim - i < kKvScaleBlock ? head_dim - i : kKvScaleBlock;
      int8_t q[kKvScaleBlock];
      const Rounded rounded = round_block(x + i, count);
      for (int half = 0; half < 2; ++half) store_i8(q + 16 * half, rounded.q[half]);
      k_scales[i / kKvScaleBlock * 16 + lane] = rounded.d;
      for (int j = 0; j < count; ++j) memcpy(k + 16 * (i + j) + lane, q + j, 1);
    }
  }
}

void store_v(KvType type, const float* x, int head_dim, uint8_t* v, float* v_scales) {
  if (type == KvType::q8_0) {
    const int padded = (head_dim + 15) / 16 * 16;
    for (int i = 0; i < padded; i += kKvScaleBlock) {
      const int count = head_dim - i < kKvScaleBlock ? head_dim - i : kKvScaleBlock;
      int8_t q[kKvScaleBlock];
      const Rounded rounded = round_block(x + i, count);
      for (int half = 0; half < 2; ++half) store_i8(q + 16 * half, rounded.q[half]);
      v_scales[i / kKvScaleBlock] = rounded.d;
      memcpy(v + i, q,
             static_cast<size_t>(padded - i < kKvScaleBlock ? padded - i : kKvScaleBlock));
    }
    return;
  }
  for_lanes(head_dim, [&](int64_t i, auto part) {
    const Lanes values = part.load(x + i, 0.0f);
    for (int64_t j = 0; j < kVectors; ++j) {
      if (type == KvType::f32) {
        store(v + 4 * (i + j * kLanes), values.v[j]);
      } else {
        store_finite_f16(v + 2 * (i + j * kLanes), values.v[j]);
      }
    }
  });
}

// ---- Attention --------------------------------------------------------------------------------

template <KvType kType>
inline F load_element(const uint8_t* p) {
  if constexpr (kType == KvType::f32) return load<F>(p);
  if constexpr (kType == KvType::f16) return load_f16(p);
  if constexpr (kType == KvType::q8_0) return to_float(load_i8(p));
}
constexpr int element_bytes(KvType type) {
  return type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1;
}

inline int padded_dim(const Attend& a) { return (a.head_dim + 15) / 16 * 16; }
inline int scale_count(const Attend& a) { return (a.head_dim + kKvScaleBlock - 1) / kKvScaleBlock; }
inline float* scores_of(const Attend& a, int query) {
  return a.scratch + query * (kKvChunk + padded_dim(a));
}
inline const float* query_of(const Attend& a, int query) {
  return a.q + query / a.n_heads * a.q_stride + query % a.n_heads * a.head_dim;
}
inline int visible_to(const Attend& a, int query) {
  const int n = a.n_visible + query / a.n_heads;
  return n < 0 ? 0 : n < kKvChunk ? n : kKvChunk;
}

// Scores of kQueries queries at the positions of kVecs vectors, from vector `first` of the chunk
// on.
template <KvType kType, int kQueries, int kVecs>
inline void score_tile(const Attend& a, int query, int first) {
  constexpr int kBytes = element_bytes(kType);
  const uint8_t* k[kVecs];
  const float* k_scales[kVecs] = {};
  for (int v = 0; v < kVecs; ++v) {
    const int group = (first + v) / kVectors;
    const int lane = (first + v) % kVectors * kLanes;
    k[v] = a.chunk.k + (group * a.head_dim * 16 + lane) * kBytes;
    if constexpr (kType == KvType::q8_0) {
      k_scales[v] = a.chunk.k_scales + group * scale_count(a) * 16 + lane;
    }
  }
  F acc[kQueries][kVecs] = {};
  const float* q[kQueries];
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) q[i] = query_of(a, query + i);
  for (int block = 0; block < a.head_dim; block += kKvScaleBlock) {
    const int end = block + kKvScaleBlock < a.head_dim ? block + kKvScaleBlock : a.head_dim;
    F scale[kVecs];
    if constexpr (kType == KvType::q8_0) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) scale[v] = load<F>(k_scales[v] + block / kKvScaleBlock * 16);
    }
    for (int d = block; d < end; ++d) {
      F key[kVecs];
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) {
        key[v] = load_element<kType>(k[v] + d * 16 * kBytes);
        if constexpr (kType == KvType::q8_0) key[v] = key[v] * scale[v];
      }
      SLUICE_UNROLL
      for (int i = 0; i < kQueries; ++i) {
        SLUICE_UNROLL
        for (int v = 0; v < kVecs; ++v) acc[i][v] = acc[i][v] + q[i][d] * key[v];
      }
    }
  }
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) {
    float* scores = scores_of(a, query + i) + first * kLanes;
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) store(scores + v * kLanes, a.scale * acc[i][v]);
  }
}

// Positions whose values are added up for all of a row before the next ones: V is then read in
// order, a few kilobytes at a time. What comes from memory, narrow, and in small pieces: fewer.
constexpr int value_positions(KvType type) { return kLanes == 4 && type != KvType::f32 ? 4 : 32; }

// Adds the positions [begin, end) to the weighted sums of kVecs vectors of V's elements, from
// vector `first` of a row on.
template <KvType kType, int kQueries, int kVecs>
inline void value_tile(const Attend& a, int query, int first, int begin, int end) {
  constexpr int kBytes = element_bytes(kType);
  const int64_t row_bytes = padded_dim(a) * kBytes;
  const float* e[kQueries];
  float* sums[kQueries];
  F acc[kQueries][kVecs] = {};
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) {
    e[i] = scores_of(a, query + i);
    sums[i] = scores_of(a, query + i) + kKvChunk + first * kLanes;
    if (begin == 0) continue;
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) acc[i][v] = load<F>(sums[i] + v * kLanes);
  }
  const uint8_t* row = a.chunk.v + begin * row_bytes + first * kLanes * kBytes;
  for (int p = begin; p < end; ++p, row += row_bytes) {
    F value[kVecs];
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) {
      value[v] = load_element<kType>(row + v * kLanes * kBytes);
      if constexpr (kType == KvType::q8_0) {
        value[v] =
            value[v] * a.chunk.v_scales[p * scale_count(a) + (first + v) * kLanes / kKvScaleBlock];
      }
    }
    SLUICE_UNROLL
    for (int i = 0; i < kQueries; ++i) {
      SLUICE_UNROLL
      for (int v = 0; v < kVecs; ++v) acc[i][v] = acc[i][v] + e[i][p] * value[v];
    }
  }
  SLUICE_UNROLL
  for (int i = 0; i < kQueries; ++i) {
    SLUICE_UNROLL
    for (int v = 0; v < kVecs; ++v) store(sums[i] + v * kLanes, acc[i][v]);
  }
}

// Adds a chunk's (maximum m, sum s, weighted values w) to the running softmax of a query.
inline void merge(const Attend& a, int query, float m, float s) {
  const int padded = padded_dim(a);
  const float* w = scores_of(a, query) + kKvChunk;
  float* values = a.values + query * padded;
  if (a.first) {
    a.max[query] = m;
    a.sum[query] = s;
    memcpy(values, w, static_cast<size_t>(padded) * sizeof(float));
    return;
  }
  const float both = larger(a.max[query], m);
  const float keep = exp(a.max[query] - both);
  const float gain = exp(m - both);
  a.max[query] = both;
  a.sum[query] = a.sum[query] * keep + s * gain;
  for (int i = 0; i < padded; i += kLanes) {
    store(values + i, load<F>(values + i) * keep + load<F>(w + i) * gain);
  }
}

// All value vectors of a row, for the positions [begin, end).
template <KvType kType, int kQueries>
inline void add_values(const Attend& a, int query, int begin, int end) {
  constexpr int kVecs = attend_vectors(kQueries);
  constexpr int kPositions = value_positions(kType);
  const int n_vectors = padded_dim(a) / kLanes;
  for (int stop; begin < end; begin = stop) {
    stop = begin + kPositions < end ? begin + kPositions : end;
    int at = 0;
    for (; at + kVecs <= n_vectors; at += kVecs)
      value_tile<kType, kQueries, kVecs>(a, query, at, begin, stop);
    for (; at < n_vectors; ++at) value_tile<kType, kQueries, 1>(a, query, at, begin, stop);
  }
}

template <KvType kType, int kQueries>
[[gnu::noinline]] void attend_queries(const Attend& a, int query) {
  constexpr int kVecs = attend_vectors(kQueries);
  int n[kQueries];  // ascending
  for (int i = 0; i < kQueries; ++i) n[i] = visible_to(a, query + i);
  const int n_vectors = (n[kQueries - 1] + 15) / 16 * kVectors;
  int at = 0;
  for (; at + kVecs <= n_vectors; at += kVecs) score_tile<kType, kQueries, kVecs>(a, query, at);
  for (; at < n_vectors; ++at) score_tile<kType, kQueries, 1>(a, query, at);

  float m[kQueries];
  float s[kQueries];
  for (int i = 0; i < kQueries; ++i) {
    float* scores = scores_of(a, query + i);
    m[i] = max(scores, n[i]);
    s[i] = exp_and_sum<true>(scores, n[i], m[i], scores);
  }

  // What all of them see together, then what the later tokens see besides.
  add_values<kType, kQueries>(a, query, 0, n[0]);
  for (int i = 1; i < kQueries; ++i) add_values<kType, 1>(a, query + i, n[0], n[i]);
  for (int i = 0; i < kQueries; ++i) merge(a, query + i, m[i], s[i]);
}

template <KvType kType>
void attend_typed(const Attend& a) {
  // The first tokens may see nothing of this chunk.
  const int blind = a.n_visible > 0 ? 0 : 1 - a.n_visible;
  for_token_tiles<kAttendQueries>(
      blind * a.n_heads, a.n_tokens * a.n_heads,
      [&]<int kQueries>(int query) { attend_queries<kType, kQueries>(a, query); });
}

// The chunk's first n positions as f32, in its layout, in the scratch behind the queries' own.
template <KvType kType>
KvChunk widen(const Attend& a, int n) {
  constexpr int kBytes = element_bytes(kType);
  const KvChunk& chunk = a.chunk;
  const int padded = padded_dim(a);
  float* k = scores_of(a, a.n_tokens * a.n_heads);
  float* v = k + kKvChunk * a.head_dim;
  for (int64_t group = 0, row = 0; group < (n + 15) / 16; ++group) {
    for (int d = 0; d < a.head_dim; ++d, ++row) {
      for (int i = 0; i < 16; i += kLanes) {
        F value = load_element<kType>(chunk.k + (16 * row + i) * kBytes);
        if constexpr (kType == KvType::q8_0) {
          const int64_t scale = group * scale_count(a) + d / kKvScaleBlock;
          value = value * load<F>(chunk.k_scales + 16 * scale + i);
        }
        store(k + 16 * row + i, value);
      }
    }
  }
  for (int64_t p = 0; p < n; ++p) {
    for (int64_t i = 0; i < padded; i += kLanes) {
      F value = load_element<kType>(chunk.v + (p * padded + i) * kBytes);
      if constexpr (kType == KvType::q8_0) {
        value = value * chunk.v_scales[p * scale_count(a) + i / kKvScaleBlock];
      }
      store(v + p * padded + i, value);
    }
  }
  return {KvType::f32, reinterpret_cast<const uint8_t*>(k), nullptr,
          reinterpret_cast<const uint8_t*>(v), nullptr};
}

// Many queries pay for widening once what each few of them would widen for themselves.
template <KvType kType>
void attend_narrow(const Attend& a) {
  if (a.n_tokens < kWideTokens) return attend_typed<kType>(a);
  Attend wide = a;
  wide.chunk = widen<kType>(a, visible_to(a, a.n_tokens * a.n_heads - 1));
  attend_typed<KvType::f32>(wide);
}

void attend(const Attend& a) {
  if (a.chunk.type == KvType::f32) return attend_typed<KvType::f32>(a);
  if (a.chunk.type == KvType::f16) return attend_narrow<KvType::f16>(a);
  attend_narrow<KvType::q8_0>(a);
}
